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
	queue := slices.Clone(a.ties.said)
	slices.SortStableFunc(queue, func(x, y *unit) int {
		return cmp.Or(cmp.Compare(y.first.Priority, x.first.Priority), x.first.Created.Compare(y.first.Created))
	})
	queued = a.ties.loses(queue)
	dice := uint64(1)
	for range orders {
		shuffle(queue, &dice)
		if a.ties.loses(queue) {
			drawn++
		}
	}
	return queued, drawn
}

// loses reports whether somebody is left who comes in this order.
func (t *tallies) loses(queue []*unit) bool {
	return len(t.begin(make([]int, len(t.a.machines)), false).bindAll(queue)) > 0
}

// asSaid lists the units, each as often as it has pods, in the order that the plan says, and then those of which it says nothing.
func (t *tallies) asSaid() (out []*unit) {
	n := 0
	for _, u := range t.units {
		u.waits = u.pods
		n += u.pods
	}
	out = make([]*unit, 0, n)
	for _, k := range t.a.order {
		if s := t.a.named[k]; s != nil && s.unit != nil && s.unit.waits > 0 {
			out = append(out, s.unit)
			s.unit.waits--
		}
	}
	for _, u := range t.units {
		for range u.waits {
			out = append(out, u)
		}
	}
	return out
}

// queue is one of many orders: first as the plan says, then large pods first, then any. Where spreads of several apps count some of each
// other's pods, few orders get to the end, and the plan knows one.
func (t *tallies) queue(order int) (out []*unit) {
	if order == 0 {
		return t.said
	}
	list := slices.Clone(t.units)
	if dice := uint64(order); order > 1 {
		shuffle(list, &dice)
	} else {
		slices.SortStableFunc(list, func(x, y *unit) int { return cmp.Compare(y.kin.pod.Requests.CPU, x.kin.pod.Requests.CPU) })
	}
	for _, u := range list {
		out = append(out, slices.Repeat([]*unit{u}, u.pods)...)
	}
	return out
}

// shuffle puts a list into some order: by chance, but always the same.
func shuffle[T any](list []T, dice *uint64) {
	for i := len(list) - 1; i > 0; i-- {
		*dice = *dice*6364136223846793005 + 1442695040888963407
		j := int(*dice>>33) % (i + 1)
		list[i], list[j] = list[j], list[i]
	}
}
