package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// explainer says why pods go nowhere.
type explainer struct{ *verifier }

// explain says of every pod without a place why each pool refused it, and puts the lists in order.
func (d explainer) explain() {
	slices.SortFunc(d.plan.Existing, func(a, b Nomination) int { return compareKeys(a.Pod, b.Pod) })
	for _, x := range d.buying {
		d.explainPods(x, x.of, x.take(len(x.pods)-x.next))
	}
	for _, g := range d.classes {
		d.explainPods(nil, g, g.pods[g.next+g.asked:])
	}
	for _, o := range d.over {
		d.explainPods(nil, o.g, []*model.Pod{o.pod})
	}
	slices.SortFunc(d.plan.Unscheduled, func(a, b Unscheduled) int { return compareKeys(a.Pod, b.Pod) })
}

// explainPods explains pods of g that go nowhere; x is the part of it that could not be bought for, nil when none was to be.
func (d explainer) explainPods(x *group, g *seatClass, pods []*model.Pod) {
	if len(pods) == 0 {
		return
	}
	l := Unscheduled{Why: g.why, Detail: g.detail}
	if g.why == "" {
		for _, s := range d.pools {
			l.Refusals = append(l.Refusals, d.refusal(s, x, g))
		}
		if len(d.pools) == 0 {
			l.Why, l.Detail = model.WhyNoPools, "there is no pool to buy from"
		}
	}
	for _, p := range pods {
		l.Pod = p.Key()
		d.plan.Unscheduled = append(d.plan.Unscheduled, l)
	}
}
