package assign

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/model"
)

// reservation is a pod that an existing node was bought for. Until it is kept or broken, the existing node holds room for it.
type reservation struct {
	g    *Class
	slot int32
	pod  *model.Pod
}

// reserveRoom finds the pods of the classes that existing nodes were bought for, and holds room for them. Pods that only stand for room are asked when
// all others have their places: in-flight room goes to real pods first.
func (d *reserving) reserveRoom(groups []*Class) {
	if len(d.reserved) == 0 {
		return
	}
	of := map[model.PodKey]reservation{}
	for _, g := range groups {
		for _, p := range g.Pods {
			of[p.Key()] = reservation{g: g, pod: p}
		}
	}
	held := map[model.PodKey]bool{}
	for _, i := range d.reserved {
		s := d.Existing[i]
		for _, k := range s.Planned {
			x, known := of[k]
			if !known {
				continue
			}
			g := x.g
			delete(of, k)
			if s.Holds(&g.PodClass, 1) == 0 || !s.Takes(g.Constraint) {
				d.Broken = append(d.Broken, k)
				continue
			}
			x.slot, held[k] = i, true
			d.held = append(d.held, x)
			d.hold(x, 1)
		}
	}
	for _, g := range groups {
		if g.held > 0 {
			free := slices.DeleteFunc(slices.Clone(g.Pods[g.Next:]), func(p *model.Pod) bool {
				return held[p.Key()]
			})
			last := slices.DeleteFunc(slices.Clone(g.Pods[g.Next:]), func(p *model.Pod) bool {
				return !held[p.Key()]
			})
			g.Pods = slices.Concat(g.Pods[:g.Next], free, last)
		}
	}
	slices.SortStableFunc(d.held, func(a, b reservation) int {
		return cmp.Or(cmp.Compare(d.patience(a), d.patience(b)), cmp.Compare(a.g.Rank, b.g.Rank))
	})
}

// patience says when a planned pod is asked: those first that mind how many others are where, then those that look for
// others, then the rest, who may only stand in their way.
func (d *reserving) patience(x reservation) int {
	switch {
	case len(x.g.Spread) > 0:
		return 0
	case len(x.g.Near.Terms) > 0:
		return 1
	}
	return patient
}

// patient is the most patience that there is.
const patient = 2

// hold takes, or with -1 gives back, the room and the place among others that a planned pod is to have.
func (d *reserving) hold(x reservation, n int) {
	d.reserve(&x.g.PodClass, x.slot, n)
	x.g.held += n
	doms := d.Topo.Spots[d.Existing[x.slot].Spot].Doms
	for _, y := range x.g.Matches {
		if !y.Near && (y.Elig == nil || y.Elig.Spots[d.Existing[x.slot].Spot] != topology.Never) {
			y.Held.Add(doms[y.Key], int32(n))
		}
	}
	for _, y := range x.g.Anti {
		y.HeldOwners.Add(doms[y.Key], int32(n))
	}
	for _, y := range x.g.Near.Terms {
		y.Seekers.Add(doms[y.Key], int32(n))
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
			hasty := slices.ContainsFunc(d.held, func(x reservation) bool {
				return d.patience(x) < p
			})
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
	x.g.Domains(false) // what is bought is bought: only domains that are there count
	at := d.SiteOf(d.Existing[x.slot])
	at.What = topology.Reserved
	if !d.Allows(&x.g.Class, at.Doms, at.What) {
		return false
	}
	x.g.pull(x.pod)
	d.hold(x, -1)
	d.sitAt(x.g, x.slot, 1, at)
	return true
}

// dropReservations gives up the room that is still held; its pods go wherever there is a place. It reports whether there was any.
func (d *reserving) dropReservations() bool {
	for _, x := range d.held {
		d.hold(x, -1)
		d.Broken = append(d.Broken, x.pod.Key())
	}
	any := len(d.held) > 0
	d.held = nil
	return any
}

// pull makes a pod that room is held for the next of those that have no place yet. All that are held may be pulled, one by one: it looks at pointers, not at
// pods.
func (g *Class) pull(p *model.Pod) {
	first := len(g.Pods) - g.held
	at := first + slices.Index(g.Pods[first:], p)
	copy(g.Pods[g.Next+1:at+1], g.Pods[g.Next:at])
	g.Pods[g.Next] = p
}

// CountTwice counts pods to place that an existing node was bought for and that go to none.
func (d *reserving) CountTwice() {
	planned := map[model.PodKey]bool{}
	for _, i := range d.reserved {
		for _, k := range d.Existing[i].Planned {
			planned[k] = true
		}
	}
	if len(planned) == 0 {
		return
	}
	for _, g := range d.Classes {
		for _, p := range g.Pods {
			if planned[p.Key()] {
				d.Twice++
			}
		}
	}
	for _, f := range d.Plan.Existing {
		if planned[f.Pod] {
			d.Twice--
		}
	}
}
