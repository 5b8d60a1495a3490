package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// Bounds of going ahead: how often classes that were left over go first, and how many pods may be decided about in all
// these rounds together. (One round is always made.)
const (
	maxAhead  = 6
	aheadPods = 20_000
	// leaping is the round from which on pods that stay go ahead of important ones, too. (Nothing is kept that leaves more
	// of these.)
	leaping = 4
)

// goAhead is a repair: classes of which pods were left over go first in the next decision, among those of their priority.
// Where not all could be bound, fewer go. Nobody who has a place looks out for those who come later. And nobody waits any
// more for domains that no machine is in.
func goAhead(d *decision, next *problem.Choices) string {
	if d.Granted {
		return "" // who is left over then has a place without wishes
	}
	var who []string
	round := d.Round()
	for _, g := range d.stayed() {
		problem.Remember(&next.Ahead, g.Key, round)
		who = append(who, g.Name())
	}
	for _, name := range fewerAgain(d, next) {
		who = append(who, "fewer of "+name)
	}
	next.Leap = round > leaping
	for _, a := range d.Missing {
		if !d.Absent[a] {
			who = append(who, "without "+a.Key+" "+a.Value)
		}
		problem.Remember(&next.Absent, a, true)
	}
	return listed(who)
}

// stayed lists the classes of which pods stay that could have a place as far as machines go. The order in which pods are
// seated depends on size otherwise.
func (d *decision) stayed() []*assign.Class {
	if len(d.Plan.Unscheduled) == 0 {
		return nil
	}
	left := map[model.PodKey]bool{}
	for _, l := range d.Plan.Unscheduled {
		left[l.Pod] = l.Why == ""
	}
	var stay []*assign.Class
	others, room := false, d.emptied()
	for _, g := range d.Classes {
		switch {
		case g.Why != "" || !slices.ContainsFunc(g.Pods, func(p *model.Pod) bool { return left[p.Key()] }):
			others = others || g.Why == ""
		case d.Sold(g.Constraint, &g.PodClass) || d.onceHad(room, g):
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
	room := make([]vec.Vec, len(d.Existing))
	for i, s := range d.Existing {
		room[i] = s.Free
	}
	for _, s := range d.Seats {
		if s.Slot >= 0 {
			room[s.Slot] = room[s.Slot].Clone()
			room[s.Slot].Take(s.Class.Size, -s.N)
		}
	}
	return room
}

// onceHad reports whether an existing node that suits the class had room for one of its pods.
func (d *decision) onceHad(room []vec.Vec, g *assign.Class) bool {
	return slices.ContainsFunc(d.ExistingFor(g.Constraint), func(i int32) bool { return room[i].Times(g.Size, 1) > 0 })
}
