package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// goOutside is a repair: pods were left over that are spread over zones, and were kept inside zones. In the next decision
// they may go outside them, too.
func goOutside(d *decision, next *choices) string {
	if d.outside || len(d.plan.Unscheduled) == 0 {
		return ""
	}
	left := make(map[model.PodKey]bool, len(d.plan.Unscheduled))
	for _, l := range d.plan.Unscheduled {
		left[l.Pod] = true
	}
	var who []string
	for _, g := range d.classes {
		if g.kept && slices.ContainsFunc(g.pods, func(p *model.Pod) bool { return left[p.Key()] }) {
			next.outside = true
			who = append(who, g.name())
		}
	}
	return listed(who)
}
