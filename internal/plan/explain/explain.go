// Package explain answers: why does a pod go nowhere?
//
// Per pool, offerings are struck off constraint by constraint, and the one that removes the last is the reason.
package explain

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/verify"
	"github.com/karpenter-aks/karpenter/model"
)

// Explainer says why pods go nowhere.
type Explainer struct{ *verify.Verifier }

// Explain says of every pod without a place why each pool refused it, and puts the lists in order.
func (d Explainer) Explain() {
	slices.SortFunc(d.Plan.Existing, func(a, b answer.Nomination) int {
		return answer.CompareKeys(a.Pod, b.Pod)
	})
	for _, x := range d.Buying {
		d.explainPods(x, x.Of, x.Take(len(x.Pods)-x.Next))
	}
	for _, g := range d.Classes {
		d.explainPods(nil, g, g.Pods[g.Next+g.Asked:])
	}
	for _, o := range d.Over {
		d.explainPods(nil, o.Class, []*model.Pod{o.Pod})
	}
	slices.SortFunc(d.Plan.Unscheduled, func(a, b answer.Unscheduled) int {
		return answer.CompareKeys(a.Pod, b.Pod)
	})
}

// explainPods explains pods of g that go nowhere; x is the part of it that could not be bought for, nil when none was to be.
func (d Explainer) explainPods(x *assign.Group, g *assign.Class, pods []*model.Pod) {
	if len(pods) == 0 {
		return
	}
	l := answer.Unscheduled{Why: g.Why, Detail: g.Detail}
	if g.Why == "" {
		for _, s := range d.Pools {
			l.Refusals = append(l.Refusals, d.refusal(s, x, g))
		}
		if len(d.Pools) == 0 {
			l.Why, l.Detail = model.WhyNoPools, "there is no pool to buy from"
		}
	}
	for _, p := range pods {
		l.Pod = p.Key()
		d.Plan.Unscheduled = append(d.Plan.Unscheduled, l)
	}
}
