package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// reservation is a pod that an existing node was bought for. Until it is kept or broken, the existing node holds room for it.
type reservation struct {
	g    *seatClass
	slot int32
	pod  model.PodKey
}

// reserveRoom finds the pods of the groups that existing nodes were bought for, and holds room for them. Pods that only stand for room are asked when
// all others have their places: in-flight room goes to real pods first.
func (d *reserving) reserveRoom(groups []*seatClass) {
	if len(d.reserved) == 0 {
		return
	}
	of := map[model.PodKey]*seatClass{}
	for _, g := range groups {
		for _, p := range g.pods {
			of[p.Key()] = g
		}
	}
	held := map[model.PodKey]bool{}
	for _, i := range d.reserved {
		s := d.existing[i]
		for _, k := range s.planned {
			g := of[k]
			if g == nil {
				continue
			}
			delete(of, k)
			if s.holds(&g.podClass, 1) == 0 || !s.takes(g.constraint) {
				d.broken = append(d.broken, k)
				continue
			}
			d.held = append(d.held, reservation{g, i, k})
			held[k] = true
			d.hold(d.held[len(d.held)-1], 1)
		}
	}
	for _, g := range groups {
		if g.held > 0 {
			free := slices.DeleteFunc(slices.Clone(g.pods[g.next:]), func(p *model.Pod) bool { return held[p.Key()] })
			last := slices.DeleteFunc(slices.Clone(g.pods[g.next:]), func(p *model.Pod) bool { return !held[p.Key()] })
			g.pods = slices.Concat(g.pods[:g.next], free, last)
		}
	}
	slices.SortStableFunc(d.held, func(a, b reservation) int {
		return cmp.Or(cmp.Compare(d.patience(a), d.patience(b)), cmp.Compare(a.g.rank, b.g.rank))
	})
}

// patience says when a planned pod is asked: those first that mind how many others are where, then those that look for
// others, then the rest, who may only stand in their way.
func (d *reserving) patience(x reservation) int {
	switch {
	case len(x.g.spread) > 0:
		return 0
	case len(x.g.near.terms) > 0:
		return 1
	}
	return patient
}

// patient is the most patience that there is.
const patient = 2

// hold takes, or with -1 gives back, the room and the place among others that a planned pod is to have.
func (d *reserving) hold(x reservation, n int) {
	d.reserve(&x.g.podClass, x.slot, n)
	x.g.held += n
	doms := d.topo.spots[d.existing[x.slot].spot].doms
	for _, y := range x.g.matches {
		if !y.near && (y.elig == nil || y.elig.spots[d.existing[x.slot].spot] != never) {
			y.held.add(doms[y.key], int32(n))
		}
	}
	for _, y := range x.g.anti {
		y.heldOwners.add(doms[y.key], int32(n))
	}
	for _, y := range x.g.near.terms {
		y.seekers.add(doms[y.key], int32(n))
	}
}

// honourReservations seats the pods that existing nodes hold room for, as far as their ties let them in now, and reports whether it seated any. One may
// make room for another, so they are asked until none comes forward; as soon as one has come, those are asked again who have less
// patience. While there are any of these, the patient are asked only when others are done: urge says so.
func (d *reserving) honourReservations(urge bool) bool {
	kept := false
	for more := true; more; {
		more = false
		for p := range patient + 1 {
			hasty := slices.ContainsFunc(d.held, func(x reservation) bool { return d.patience(x) < p })
			if p > 0 && hasty && !urge {
				break
			}
			came := false
			d.held = slices.DeleteFunc(d.held, func(x reservation) bool {
				if came && hasty || d.patience(x) != p || !d.keep(x) {
					return false
				}
				came = true
				return true
			})
			if came {
				kept, more = true, true
				break
			}
		}
	}
	return kept
}

// keep seats one pod where it was planned, if its ties allow that now.
func (d *reserving) keep(x reservation) bool {
	x.g.domains(false) // what is bought is bought: only domains that are there count
	d.keeping = true
	defer func() { d.keeping = false }()
	if !d.stands(&x.g.tiedClass, d.topo.spots[d.existing[x.slot].spot].doms, false) {
		return false
	}
	x.g.pull(x.pod)
	d.hold(x, -1)
	d.sit(x.g, x.slot, 1)
	return true
}

// dropReservations gives up the room that is still held; its pods go wherever there is a place. It reports whether there was any.
func (d *reserving) dropReservations() bool {
	for _, x := range d.held {
		d.hold(x, -1)
		d.broken = append(d.broken, x.pod)
	}
	any := len(d.held) > 0
	d.held = nil
	return any
}

// pull makes a pod that room is held for the next of those that have no place yet.
func (g *seatClass) pull(k model.PodKey) {
	first := len(g.pods) - g.held
	at := first + slices.IndexFunc(g.pods[first:], func(p *model.Pod) bool { return p.Key() == k })
	p := g.pods[at]
	copy(g.pods[g.next+1:at+1], g.pods[g.next:at])
	g.pods[g.next] = p
}

// countTwice counts pods to place that an existing node was bought for and that go to none.
func (d *reserving) countTwice() {
	planned := map[model.PodKey]bool{}
	for _, i := range d.reserved {
		for _, k := range d.existing[i].planned {
			planned[k] = true
		}
	}
	if len(planned) == 0 {
		return
	}
	for _, g := range d.classes {
		for _, p := range g.pods {
			if planned[p.Key()] {
				d.twice++
			}
		}
	}
	for _, f := range d.plan.Existing {
		if planned[f.Pod] {
			d.twice--
		}
	}
}
