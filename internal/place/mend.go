package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// Bounds of mending: how often a decision is made anew for pods that were left over, and how many pods may be decided about in all
// these rounds together. (One round is always made.)
const (
	maxMends = 6
	mendPods = 20_000
	// leaping is the round from which on pods that stay go ahead of important ones, too. (Nothing is kept that leaves more of these.)
	leaping = 4
)

// stayed lists the groups of which pods stay that could have a place as far as machines go. In the next attempt they go first among those
// of their priority, and others give way who can go elsewhere. The order in which pods are seated depends on size otherwise, and
// nobody who has a place looks out for those who come later.
func (d *decision) stayed() []string {
	left := map[model.PodKey]bool{}
	for _, l := range d.plan.Left {
		left[l.Pod] = l.Why == ""
	}
	var stay []string
	others, room := false, d.emptied()
	for _, g := range d.groups {
		switch {
		case g.why != "" || !slices.ContainsFunc(g.pods, func(p *model.Pod) bool { return left[p.Key()] }):
			others = others || g.why == ""
		case d.sold(g.form, g) || d.onceHad(room, g):
			stay = append(stay, g.key)
		}
	}
	if !others {
		return nil
	}
	return stay
}

// emptied lists what slots have once the pods that were seated there are taken off again.
func (d *decision) emptied() []vec.Vec {
	room := make([]vec.Vec, len(d.slots))
	for i, s := range d.slots {
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

// onceHad reports whether a slot that suits the group had room for one of its pods.
func (d *decision) onceHad(room []vec.Vec, g *group) bool {
	return slices.ContainsFunc(d.slotsOf(g.form), func(i int32) bool { return room[i].Times(g.size, 1) > 0 })
}

// compareLeft orders decisions by who stays: fewer pods, important ones first.
func (d *decision) compareLeft(o *decision) int {
	return slices.CompareFunc(d.leftByPriority(), o.leftByPriority(), func(a, b leftCount) int {
		// Who has somebody left of a higher priority is worse.
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.n, b.n))
	})
}

// leftCount says how many pods of one priority stay.
type leftCount struct {
	priority int32
	n        int
}

// leftByPriority counts the pods that stay, high priorities first; priorities of which nobody stays are not listed.
func (d *decision) leftByPriority() []leftCount {
	of := map[model.PodKey]int32{}
	for _, g := range d.groups {
		for _, p := range g.pods {
			of[p.Key()] = p.Priority
		}
	}
	n := map[int32]int{}
	for _, l := range d.plan.Left {
		n[of[l.Pod]]++
	}
	var out []leftCount
	for p, k := range n {
		out = append(out, leftCount{p, k})
	}
	slices.SortFunc(out, func(a, b leftCount) int { return cmp.Compare(b.priority, a.priority) })
	return out
}

// promote puts groups ahead of others.
func (d *decision) promote() {
	if len(d.ahead) == 0 {
		return
	}
	for _, g := range d.groups {
		if g.ahead = d.ahead[g.key]; d.leap {
			g.leap = g.ahead
		}
	}
	slices.SortStableFunc(d.groups, func(a, b *group) int { return a.turn(b) })
	for i, g := range d.groups {
		g.rank = i
	}
}

// turn orders groups by whose turn it is first, as far as priority and having stayed before go.
func (g *group) turn(o *group) int {
	return cmp.Or(cmp.Compare(o.leap, g.leap), cmp.Compare(o.priority, g.priority), cmp.Compare(o.ahead, g.ahead))
}
