package place

import (
	"cmp"

	"github.com/karpenter-aks/karpenter/model"
)

// Decide says where the pods should go. It first uses what is paid for, then asks pools from heavy to light; pools of equal
// weight compete on price. With no pods given it places every waiting pod and, so that their places exist before they
// need them, the pods of nodes that are leaving. Cost: about O(pods log pods + running pods + pools × offerings × node constraints + search), the
// search bounded by Input.Limit.
func Decide(in Input) Plan {
	in.World = in.World.Indexed()
	list := pointers(in.Pods)
	if len(list) == 0 {
		list = waiting(&in.World)
	}
	if len(list) == 0 {
		return Plan{}
	}
	if in.spent == nil {
		in.spent = new(int)
	}
	return decide(in, list)
}

// decide decides about the pods, with and without their preferences.
func decide(in Input, list []*model.Pod) Plan {
	plain := search(in, list, false, choices{})
	if in.Preferences == Ignore || !anyPrefers(in.World, list) || in.exhausted() || plain.accepted() {
		return plain.steered()
	}
	in.Accept = 0
	known := plain.choices.clone()
	known.caps = nil // with preferences granted others find other places
	if d := search(in, list, true, known); d.worthIt(plain) {
		return d.tell(plain, "preferences are granted").steered()
	}
	return plain.steered()
}

// decision is one run of Decide.
type decision struct {
	in Input
	verifier
}

// newDecision is a decision that is yet to be made.
func newDecision(in Input, granted bool, with choices) *decision {
	d := &decision{in: in}
	d.world, d.minValues, d.choices, d.granted, d.without = in.World, in.MinValues, with, granted, in.Without
	d.steps, d.allowed, d.most = in.limit(), in.limit(), cmp.Or(in.MaxOptions, DefaultMaxOptions)
	return d
}

// run makes one attempt.
func (d *decision) run(pods []*model.Pod) {
	d.arrange(pods)
	d.undo = &undo{d: &d.problem, light: true}
	d.seatAll()
	d.buying = d.purchaseGroups()
	d.buy()
	d.allowed = d.work + d.in.limit() // for proving
	d.stuck = d.prove()
	d.retract()
	d.countTwice()
	if d.in.spent != nil {
		*d.in.spent += d.work + d.in.limit() - d.steps + d.setup()
	}
	d.allowed = unlimited // to explain is no search
	explainer{&d.verifier}.explain()
	d.plan.BudgetExceeded = d.exceeded
}

// arrange turns pods into classes, and the world into existing nodes, pools and counts.
func (d *decision) arrange(pods []*model.Pod) {
	classes := d.build(pods)
	d.takeStock()
	d.arrangeSeats(d.bind(classes))
}
