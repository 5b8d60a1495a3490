package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

// goOutside is a repair: pods were left over that are spread over zones, and were kept inside zones. In the next decision
// they may go outside them, too.
func goOutside(d *decision, next *problem.Choices) string {
	if d.Outside || len(d.Plan.Unscheduled) == 0 {
		return ""
	}
	left := make(map[model.PodKey]bool, len(d.Plan.Unscheduled))
	for _, l := range d.Plan.Unscheduled {
		left[l.Pod] = true
	}
	var who []string
	for _, g := range d.Classes {
		if g.Kept && slices.ContainsFunc(g.Pods, func(p *model.Pod) bool { return left[p.Key()] }) {
			next.Outside = true
			who = append(who, g.Name())
		}
	}
	return listed(who)
}
