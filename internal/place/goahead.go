package place

import (
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
func (d *decision) stayed() []*seatClass {
	left := map[model.PodKey]bool{}
	for _, l := range d.plan.Unscheduled {
		left[l.Pod] = l.Why == ""
	}
	var stay []*seatClass
	others, room := false, d.emptied()
	for _, g := range d.classes {
		switch {
		case g.why != "" || !slices.ContainsFunc(g.pods, func(p *model.Pod) bool { return left[p.Key()] }):
			others = others || g.why == ""
		case d.sold(g.constraint, &g.podClass) || d.onceHad(room, g):
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
func (d *decision) onceHad(room []vec.Vec, g *seatClass) bool {
	return slices.ContainsFunc(d.existingFor(g.constraint), func(i int32) bool { return room[i].Times(g.size, 1) > 0 })
}
