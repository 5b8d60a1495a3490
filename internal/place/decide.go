package place

import (
	"cmp"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/explain"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/internal/plan/verify"
	"github.com/karpenter-aks/karpenter/model"
)

// Decide says where the pods should go. It first uses what is paid for, then asks pools from heavy to light; pools of equal
// weight compete on price. With no pods given it places every waiting pod and, so that their places exist before they
// need them, the pods of nodes that are leaving. Cost: about O(pods log pods + running pods + pools × offerings × node constraints + search), the
// search bounded by Input.Limit.
func Decide(in Input) answer.Plan {
	in.World = in.World.Indexed()
	list := pointers(in.Pods)
	if len(list) == 0 {
		list = alike.Waiting(&in.World)
	}
	if len(list) == 0 {
		return answer.Plan{}
	}
	if in.spent == nil {
		in.spent = new(int)
	}
	return decide(in, list)
}

// decide decides about the pods, with and without their preferences.
func decide(in Input, list []*model.Pod) answer.Plan {
	plain := search(in, list, false, problem.Choices{})
	if in.Preferences == Ignore || !anyPrefers(in.World, list) || in.exhausted() || plain.accepted() {
		return plain.steered()
	}
	in.Accept = 0
	known := plain.Choices.Clone()
	known.Caps = nil // with preferences granted others find other places
	if d := search(in, list, true, known); d.worthIt(plain) {
		return d.tell(plain, "preferences are granted").steered()
	}
	return plain.steered()
}

// decision is one run of Decide.
type decision struct {
	in Input
	verify.Verifier
}

// newDecision is a decision that is yet to be made.
func newDecision(in Input, granted bool, with problem.Choices) *decision {
	d := &decision{in: in}
	d.World, d.MinValues, d.Choices, d.Granted, d.Without = in.World, in.MinValues, with, granted, in.Without
	d.Steps, d.Allowed, d.Most = in.limit(), in.limit(), cmp.Or(in.MaxOptions, DefaultMaxOptions)
	return d
}

// run makes one attempt.
func (d *decision) run(pods []*model.Pod) {
	d.arrange(pods)
	d.vacate()
	d.Journal = &topology.Journal{Problem: &d.Problem, Light: true}
	d.SeatAll()
	d.Buying = d.PurchaseGroups()
	d.Buy()
	d.Allowed = d.Work + d.in.limit() // for proving
	d.Stuck = d.Prove()
	d.Retract()
	d.CountTwice()
	if d.in.spent != nil {
		*d.in.spent += d.Work + d.in.limit() - d.Steps + d.Setup()
	}
	d.Allowed = problem.Unlimited // to explain is no search
	explain.Explainer{Verifier: &d.Verifier}.Explain()
	d.Plan.BudgetExceeded = d.Exceeded
}

// arrange turns pods into classes, and the world into existing nodes, pools and counts.
func (d *decision) arrange(pods []*model.Pod) {
	classes := d.Build(pods)
	d.TakeStock()
	d.ArrangeSeats(d.Tie(classes))
}
