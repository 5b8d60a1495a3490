package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// Bounds of going ahead: how often groups that were left over go first, and how many pods may be decided about in all
// these rounds together. (One round is always made.)
const (
	maxAhead  = 6
	aheadPods = 20_000
	// leaping is the round from which on pods that stay go ahead of important ones, too. (Nothing is kept that leaves more
	// of these.)
	leaping = 4
)

// goAhead is a repair: groups of which pods were left over go first in the next decision, among those of their priority.
// Nobody who has a place looks out for those who come later. And nobody waits any more for domains that no machine is in.
func goAhead(d *decision, next *choices) string {
	if d.granted {
		return "" // who is left over then has a place without wishes
	}
	var who []string
	round := d.round()
	for _, g := range d.stayed() {
		remember(&next.ahead, g.key, round)
		who = append(who, g.name())
	}
	next.leap = round > leaping
	for _, a := range d.missing {
		if !d.absent[a] {
			who = append(who, "without "+a.key+" "+a.value)
		}
		remember(&next.absent, a, true)
	}
	return listed(who)
}

// stayed lists the groups of which pods stay that could have a place as far as machines go. The order in which pods are
// seated depends on size otherwise.
func (d *decision) stayed() []*podClass {
	left := map[model.PodKey]bool{}
	for _, l := range d.plan.Unscheduled {
		left[l.Pod] = l.Why == ""
	}
	var stay []*podClass
	others, room := false, d.emptied()
	for _, g := range d.classes {
		switch {
		case g.why != "" || !slices.ContainsFunc(g.pods, func(p *model.Pod) bool { return left[p.Key()] }):
			others = others || g.why == ""
		case d.sold(g.constraint, g) || d.onceHad(room, g):
			stay = append(stay, g)
		}
	}
	if !others {
		return nil
	}
	return stay
}

// emptied lists what existing nodes have once the pods that were seated there are taken off again.
func (d *decision) emptied() []vec.Vec {
	room := make([]vec.Vec, len(d.existing))
	for i, s := range d.existing {
		room[i] = s.free
	}
	for _, s := range d.seats {
		if s.slot >= 0 {
			room[s.slot] = room[s.slot].Clone()
			room[s.slot].Take(s.g.size, -s.n)
		}
	}
	return room
}

// onceHad reports whether an existing node that suits the group had room for one of its pods.
func (d *decision) onceHad(room []vec.Vec, g *podClass) bool {
	return slices.ContainsFunc(d.existingFor(g.constraint), func(i int32) bool { return room[i].Times(g.size, 1) > 0 })
}

// promote puts groups ahead of others.
func (d *decision) promote() {
	if len(d.ahead) == 0 {
		return
	}
	for _, g := range d.classes {
		if g.ahead = d.ahead[g.key]; d.leap {
			g.leap = g.ahead
		}
	}
	slices.SortStableFunc(d.classes, func(a, b *podClass) int { return a.turn(b) })
	for i, g := range d.classes {
		g.rank = i
	}
}

// turn orders groups by whose turn it is first, as far as priority and having stayed before go.
func (g *podClass) turn(o *podClass) int {
	return cmp.Or(cmp.Compare(o.leap, g.leap), cmp.Compare(o.priority, g.priority), cmp.Compare(o.ahead, g.ahead))
}

// noteMissing notes the domains that pods were left over for, as the emptiest, and that no machine is in after all.
func (d *decision) noteMissing() {
	t := d.topo
	for _, g := range d.classes {
		if g.why != "" || g.unseated() == 0 {
			continue
		}
		for i, r := range g.spread {
			e := r.term.elig
			if r.term.key == host || i >= len(g.among) {
				continue
			}
			for _, dom := range g.among[i] {
				if !e.anyIn(t, r.term.key, dom) {
					d.missing = append(d.missing, absence{e.text, t.keys[r.term.key], t.names[r.term.key][dom]})
				}
			}
		}
	}
}

// anyIn reports whether a machine that may count is in the domain, or may turn out to be.
func (e *eligible) anyIn(t *topology, key int, dom int32) bool {
	for i, s := range t.spots {
		if e.spots[i] != never && s.mayBe(t, key, dom) {
			return true
		}
	}
	return false
}

// mayBe reports whether the machine is in the domain, or may turn out to be.
func (s *spot) mayBe(t *topology, key int, dom int32) bool {
	return s.doms[key] == dom || s.doms[key] == either && slices.Contains(s.may[t.keys[key]], t.names[key][dom])
}
