package audit

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Lost binds the pods of a sound plan, each to its machine, again and again those that had to wait, and says whether somebody is never bound when they
// come as kube-scheduler takes them, by priority and age; and in how many of so many orders drawn by chance that is so. A plan is proven in one order. One that
// loses nobody in any holds whatever is bound first. Machines are taken as their first options are.
func Lost(w model.World, p place.Plan, orders int) (queued bool, drawn int) {
	a := newAudit(w)
	a.judge(p)
	if a.ties == nil || len(a.out) > 0 {
		return false, 0
	}
	var queue []*unit
	for _, u := range a.ties.units {
		queue = append(queue, slices.Repeat([]*unit{u}, len(u.pods))...)
	}
	slices.SortStableFunc(queue, func(x, y *unit) int {
		return cmp.Or(cmp.Compare(y.pods[0].Priority, x.pods[0].Priority), x.pods[0].Created.Compare(y.pods[0].Created))
	})
	queued = a.ties.loses(slices.Clone(queue))
	dice := uint64(1)
	for range orders {
		shuffle(queue, &dice)
		if a.ties.loses(slices.Clone(queue)) {
			drawn++
		}
	}
	return queued, drawn
}

// loses binds one pod after the other, and reports whether somebody is left.
func (t *tallies) loses(queue []*unit) bool {
	p := t.begin(make([]int, len(t.a.machines)), false)
	for bound := true; bound; {
		bound = false
		queue = slices.DeleteFunc(queue, func(u *unit) bool {
			if _, waits := p.blocked(u); waits {
				return false
			}
			p.bind(u)
			bound = true
			return true
		})
	}
	return len(queue) > 0
}

// inSteps looks for an order pod by pod: at each step the first unit of a list binds one that may be bound. Units that got stuck come
// to the head of the list and it starts again, so that they go as soon as they can; of the others, those last who stand in the way of most.
func (t *tallies) inSteps(pick []int, gone bool) bool {
	stuck := map[*unit]int{}
	dice := uint64(1)
	for order := range manySteps {
		p := t.begin(pick, gone)
		list := slices.Clone(t.units)
		shuffle(list, &dice)
		slices.SortStableFunc(list, func(x, y *unit) int { return cmp.Or(stuck[y]-stuck[x], x.stands(order)-y.stands(order)) })
		if order%2 == 1 {
			p.firsts(list)
		}
		for i := 0; i < len(list); i++ {
			u := list[i]
			if u.left == 0 {
				continue
			}
			if _, waits := p.blocked(u); !waits {
				u.left--
				p.bind(u)
				i = -1
			}
		}
		done := true
		for _, u := range list {
			if u.left > 0 {
				stuck[u]++
				done = false
			}
		}
		if done {
			return len(p.refused()) == 0
		}
	}
	return false
}

// inPasses looks for an order unit by unit: each binds what it may when it has its turn, again and again as long as that helps. Large pods come first, and
// then the units in any order. Where spreads of several apps count some of each other's pods, few orders get to the end: of fifty such pods, each on its
// own machine, one in seventy.
func (t *tallies) inPasses(pick []int, gone bool) bool {
	orders := fewOrders
	if len(t.units) <= fewUnits {
		orders = passesForUnit * len(t.units)
	}
	for order := range orders {
		p := t.begin(pick, gone)
		list := slices.Clone(t.units)
		if dice := uint64(order); order > 0 {
			shuffle(list, &dice)
		} else {
			slices.SortStableFunc(list, func(x, y *unit) int { return cmp.Compare(y.kin.pod.Requests.CPU, x.kin.pod.Requests.CPU) })
		}
		for p.pass(list) {
		}
		if len(p.refused()) == 0 && !slices.ContainsFunc(list, func(u *unit) bool { return u.left > 0 }) {
			return true
		}
	}
	return false
}

// pass has each unit bind what it may, and reports whether any did.
func (p *play) pass(list []*unit) (bound bool) {
	for _, u := range list {
		for u.left > 0 {
			if _, waits := p.blocked(u); waits {
				break
			}
			u.left--
			p.bind(u)
			bound = true
		}
	}
	return bound
}

// firsts binds one pod each where pods look for their own like and there is none: the first of it may go anywhere, the others have to follow.
func (p *play) firsts(list []*unit) {
	for _, u := range list {
		x := u.kin.looks
		if x == nil || p.states[x.id].total > 0 || !slices.Contains(u.kin.counted, x) {
			continue
		}
		if _, waits := p.blocked(u); !waits && u.left > 0 {
			u.left--
			p.bind(u)
		}
	}
}

// shuffle puts a list into some order: by chance, but always the same.
func shuffle[T any](list []T, dice *uint64) {
	for i := len(list) - 1; i > 0; i-- {
		*dice = *dice*6364136223846793005 + 1442695040888963407
		j := int(*dice>>33) % (i + 1)
		list[i], list[j] = list[j], list[i]
	}
}
