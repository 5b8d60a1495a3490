package place

import (
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

// A repair changes what failed in a decision: it notes in next what to do otherwise, and says for whom; "" for nobody.
type repair struct {
	name Mechanism
	do   func(d *decision, next *problem.Choices) string
	// most bounds how often it is made, by the number of pods; nil for as often as there are decisions.
	most func(pods int) int
	// last is made only when no other repair has anything to try.
	last bool
}

func repairs() []repair {
	return []repair{
		{name: "guests of who they look for", do: invite},
		{name: "who was left goes first", do: goAhead, most: func(pods int) int { return min(maxAhead, 1+aheadPods/pods) }},
		{name: "outside zones", do: goOutside, last: true},
	}
}

// A saving lists decisions that differ in one thing and may be cheaper, those that reservation most first.
type saving struct {
	name Mechanism
	list func(d *decision) []proposal
}

// proposal is choices to decide with. What is changed is put into words for those that are accepted, which are few.
type proposal struct {
	choices problem.Choices
	what    func() string
}

func savings() []saving {
	return []saving{
		{"fewer in one place", fewerThere},
		{"leave pools to lighter ones", leaveToLighter},
		{"another goes first", anotherFirst},
	}
}

// Bounds of the search.
const (
	// maxDecisions bounds how often a decision is made anew because of what failed in the one before.
	maxDecisions = 10
	// savingWork bounds the search for cheaper decisions: so many pods, nodes and offerings, each counted once per decision
	// made anew. Small worlds are looked at from many sides, large ones, where a seat more or less says little, from none.
	savingWork = 1_500
	// minTries is how many decisions are to be looked at, if any: fewer find nothing, and are half the time of a plan for
	// some hundred pods.
	minTries = 6
	// offeringsAsOne is how many offerings are as much work as one pod.
	offeringsAsOne = 8
)

// search decides, with preferences granted or not, and keeps the best decision. A decision seats class after class and looks
// back at none. Where that goes wrong, the next knows better: repairs come first, as long as any has something to try;
// then savings, one change at a time, as long as one makes it cheaper. Each decision is sound by itself.
func search(in Input, pods []*model.Pod, wishes bool, start problem.Choices) *decision {
	best := mended(in, pods, wishes, start)
	// Where preferences are granted, or some pods only stand for room, the price is not all that counts.
	virtual := func(p *model.Pod) bool { return p.Virtual }
	if len(best.Plan.NewClaims) == 0 || wishes || slices.ContainsFunc(pods, virtual) {
		return best
	}
	tries := savingWork / best.scale(len(pods))
	if tries < minTries {
		return best
	}
	for cheaper := true; cheaper && tries > 0 && !best.accepted(); {
		best, cheaper = best.cheapest(pods, &tries)
	}
	return best
}

// mended is the best of a decision and those that repair it.
func mended(in Input, pods []*model.Pod, wishes bool, start problem.Choices) *decision {
	var best *decision
	done := map[Mechanism]int{}
	with := start
	change := ""
	for range maxDecisions {
		if best != nil && in.exhausted() {
			best.Plan.BudgetExceeded = true
			return best
		}
		d := newDecision(in, wishes, with)
		d.run(pods)
		if best == nil || d.compare(best) < 0 {
			best = d.tell(best, change)
		}
		if best.accepted() {
			break
		}
		if with, change = d.repaired(pods, done); change == "" {
			break
		}
	}
	return best
}

// repaired returns the choices with every repair made that has something to try, and says what they are.
func (d *decision) repaired(pods []*model.Pod, done map[Mechanism]int) (next problem.Choices, change string) {
	next = d.Choices.Clone()
	var all []string
	for _, r := range repairs() {
		if !d.in.uses(r.name) || r.last && len(all) > 0 || r.most != nil && done[r.name] >= r.most(len(pods)) {
			continue
		}
		if who := r.do(d, &next); who != "" {
			done[r.name]++
			all = append(all, string(r.name)+": "+who)
		}
	}
	return next, strings.Join(all, ", ")
}

// cheapest returns the first decision that differs in one thing and is cheaper, and whether there is one; else d itself.
func (d *decision) cheapest(pods []*model.Pod, tries *int) (best *decision, cheaper bool) {
	for _, s := range savings() {
		if !d.in.uses(s.name) {
			continue
		}
		for _, x := range s.list(d) {
			if *tries <= 0 || d.in.exhausted() {
				return d, false
			}
			*tries--
			o := newDecision(d.in, d.Granted, x.choices)
			o.run(pods)
			if o.cheaper(d) {
				return o.tell(d, string(s.name)+": "+x.what()), true
			}
		}
	}
	return d, false
}

// scale is how much work it is to decide once.
func (d *decision) scale(pods int) int {
	w := &d.World
	n := 1 + pods + w.Index.All().Len() + len(w.Nodes) + len(w.Claims)
	for _, s := range d.Pools {
		n += len(s.Offerings.Items) / offeringsAsOne
	}
	return n
}

// tell adds the change by which the decision came from another to its trace.
func (d *decision) tell(from *decision, change string) *decision {
	if from != nil {
		d.Plan.Trace = slices.Clone(from.Plan.Trace)
	}
	d.Plan.Trace = append(d.Plan.Trace, answer.Accepted{Change: change, Price: d.Plan.Price, Machines: len(d.Plan.NewClaims), Unscheduled: len(d.Plan.Unscheduled)})
	return d
}

// accepted reports whether as many decisions were accepted as the caller wants.
func (d *decision) accepted() bool { return d.in.Accept > 0 && len(d.Plan.Trace) >= d.in.Accept }
