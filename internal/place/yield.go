package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// yielding decides again, when machines would be bought although others are on their way: pods with ties choose first among all that
// is paid for, and pods without keep what was planned for them only where that does not stand in the way; these can go anywhere. kube-scheduler binds pods to
// other nodes than planned, and a pod that must be in one zone may so lose its place to one that need not.
func yielding(in Input, pods []*model.Pod, plain *decision) (Input, *decision) {
	if len(plain.plan.Buy) == 0 || !slices.ContainsFunc(plain.slots, func(s *slot) bool { return len(s.planned) > 0 }) {
		return in, plain
	}
	in.yield = true
	if d := attempt(in, pods, noWishes, lessons{}); len(d.plan.Left) <= len(plain.plan.Left) && d.plan.Price < plain.plan.Price {
		return in, d
	}
	in.yield = false
	return in, plain
}
