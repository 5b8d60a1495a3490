package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// Bounds of mending: how often a decision is made anew for pods that were left over, and how many pods may be decided about in all
// these rounds together. (One round is always made.)
const (
	maxMends = 4
	mendPods = 20_000
)

// mended decides, and, when pods are left over that could have had a place, decides again: pods that had to stay go first among
// those of their priority, and others give way who can go elsewhere. What places more pods wins. The order in which pods are seated
// depends on size otherwise, and nobody who has a place looks out for those who come later.
func mended(in Input, pods []*model.Pod, grant granting) *decision {
	best := attempt(in, pods, grant, nil)
	ahead := map[string]int{}
	last := best
	for round := range min(maxMends, 1+mendPods/len(pods)) {
		if !last.stayed(ahead, round+1) {
			break
		}
		if last = attempt(in, pods, grant, ahead); last.placesMore(best) {
			best = last
		}
	}
	return best
}

// stayed notes the groups of which pods stay that could have a place as far as machines go, and reports whether these go
// first from now on who did not before.
func (d *decision) stayed(ahead map[string]int, round int) bool {
	left := map[model.PodKey]bool{}
	for _, l := range d.plan.Left {
		left[l.Pod] = l.Why == ""
	}
	var stay []string
	others := false
	for _, g := range d.groups {
		switch {
		case g.why != "" || !slices.ContainsFunc(g.pods, func(p *model.Pod) bool { return left[p.Key()] }):
			others = others || g.why == ""
		case d.possible(g.form, g):
			stay = append(stay, g.key)
		}
	}
	if !others || len(stay) == 0 {
		return false
	}
	for _, k := range stay {
		ahead[k] = round
	}
	return true
}

// placesMore reports whether more pods have a place than in the other decision, important ones first.
func (d *decision) placesMore(o *decision) bool {
	mine, theirs := d.leftByPriority(), o.leftByPriority()
	return slices.CompareFunc(mine, theirs, func(a, b leftCount) int {
		if a.priority != b.priority {
			// Who has somebody left of a higher priority is worse.
			return cmp.Compare(a.priority, b.priority)
		}
		return cmp.Compare(a.n, b.n)
	}) < 0
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

// promote puts groups ahead of others of their priority.
func (d *decision) promote() {
	if len(d.ahead) == 0 {
		return
	}
	for _, g := range d.groups {
		g.ahead = d.ahead[g.key]
	}
	slices.SortStableFunc(d.groups, func(a, b *group) int { return a.turn(b) })
	for i, g := range d.groups {
		g.rank = i
	}
}

// turn orders groups by whose turn it is first, as far as priority and having stayed before go.
func (g *group) turn(o *group) int {
	return cmp.Or(cmp.Compare(o.priority, g.priority), cmp.Compare(o.ahead, g.ahead))
}
