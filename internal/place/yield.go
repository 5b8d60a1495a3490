package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// yielding decides again, when machines would be bought although others are on their way: pods with ties choose first among all that
// is paid for, and pods without keep what was planned for them only where that does not stand in the way; these can go anywhere. kube-scheduler binds pods to
// other nodes than planned, and a pod that must be in one zone may so lose its place to one that need not.
func yielding(in Input, pods []*model.Pod, plain *decision) (Input, *decision) {
	if len(plain.plan.Buy) == 0 || in.exhausted() || !in.uses(yieldRoom) || !slices.ContainsFunc(plain.slots, func(s *slot) bool { return len(s.planned) > 0 }) {
		return in, plain
	}
	in.yield = true
	d := attempt(in, pods, noWishes, lessons{})
	if len(d.plan.Left) <= len(plain.plan.Left) && d.plan.Price < plain.plan.Price && d.twice <= plain.twice {
		return in, d
	}
	in.yield = false
	return in, plain
}

// countTwice counts pods to place that a slot was bought for and that go to none, and notes whether some could have had their place.
func (d *decision) countTwice() {
	planned := map[model.PodKey]bool{}
	for _, i := range d.promising {
		for _, k := range d.slots[i].planned {
			planned[k] = true
		}
	}
	if len(planned) == 0 {
		return
	}
	for _, g := range d.groups {
		for _, p := range g.pods {
			if planned[p.Key()] {
				d.twice++
			}
		}
	}
	for _, f := range d.plan.Fits {
		if planned[f.Pod] {
			d.twice--
		}
	}
	d.robbed = len(d.denied) > 0 || slices.ContainsFunc(d.over, func(o over) bool { return planned[o.pod.Key()] })
}
