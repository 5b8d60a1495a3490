package control

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

// behind are the pods that a plan for all was cut short for. They are planned for one part after the other before the next plan for all: that would be cut
// short for the same ones. A part that is too much itself is halved, down to pods that are alike; a plan for these may cost more and more, up to a bound. Parts
// take turns, and pods that come meanwhile do not wait for them. A restart forgets all this, and finds it again.
type behind struct {
	parts []part
	// seen are the pods, by UID, that were planned for since the plan for all, and for whom nothing was bought.
	seen map[string]bool
}

// part is pods, by UID, that are planned for together, and how many times the usual work a plan for them may cost.
type part struct {
	pods   map[string]bool
	effort int
}

// A plan for pods that are alike, which got nobody a place, is made again with more times the work, up to most.
const (
	moreEffort = 4
	mostEffort = 64
)

// split takes note of a plan for all that was cut short, and returns the pools in which somebody's turn did not come.
func (b *behind) split(w model.World, plan place.Plan) (pools []string) {
	short := short(w, plan)
	if len(short) == 0 {
		return nil
	}
	for _, l := range plan.Unscheduled {
		for _, r := range l.Refusals {
			if r.Why == model.WhyPlanCut {
				pools = append(pools, r.Pool)
			}
		}
	}
	b.seen = map[string]bool{}
	b.note(place.Waiting(w), plan)
	for _, list := range place.Parts(w, short) {
		b.add(list, 1)
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

// short lists the pods that a plan left and that more work might find a place for: their turn did not come, or they have ties, and the plan was cut short.
func short(w model.World, plan place.Plan) []model.Pod {
	left := map[model.PodKey]place.Unscheduled{}
	for _, l := range plan.Unscheduled {
		left[l.Pod] = l
	}
	return slices.DeleteFunc(place.Waiting(w), func(p model.Pod) bool {
		l, ok := left[p.Key()]
		cut := slices.ContainsFunc(l.Refusals, func(r place.Refusal) bool { return r.Why == model.WhyPlanCut })
		return !ok || !cut && (!plan.BudgetExceeded || l.Why != "" || place.Alone(p))
	})
}

// note remembers the pods that a plan did not buy anything for.
func (b *behind) note(pods []model.Pod, plan place.Plan) {
	bought := map[model.PodKey]bool{}
	for _, x := range plan.NewClaims {
		for _, k := range x.Pods {
			bought[k] = true
		}
	}
	for i := range pods {
		if !bought[pods[i].Key()] {
			b.seen[pods[i].UID] = true
		}
	}
}

func (b *behind) add(pods []model.Pod, effort int) {
	x := part{map[string]bool{}, effort}
	for i := range pods {
		x.pods[pods[i].UID] = true
	}
	b.parts = append(b.parts, x)
}

// next takes the pods that came since the plan for all, else the first part of which somebody still waits, together with the pods that machines were bought
// for: these hold their places. nil when there is none.
func (b *behind) next(w model.World) (pods []model.Pod, of part) {
	if len(b.parts) == 0 {
		return nil, part{}
	}
	planned := planned.All(&w, planned.Staying)
	waiting := place.Waiting(w)
	some := func(of part) bool {
		return slices.ContainsFunc(waiting, func(x model.Pod) bool { return of.pods[x.UID] })
	}
	of = part{map[string]bool{}, 1}
	for _, x := range waiting {
		if !b.seen[x.UID] && !planned[x.Key()] {
			of.pods[x.UID] = true
		}
	}
	for !some(of) {
		if len(b.parts) == 0 {
			return nil, part{}
		}
		of, b.parts = b.parts[0], b.parts[1:]
	}
	return slices.DeleteFunc(waiting, func(x model.Pod) bool { return !of.pods[x.UID] && !planned[x.Key()] }), of
}

// back puts a part that no plan was carried out for at the end of the queue.
func (b *behind) back(of part) {
	if of.pods != nil {
		b.parts = append(b.parts, of)
	}
}

// again takes note of a plan for a part. Where it was cut short, too, what it left is planned for in two halves, or once more when all that is left is alike and
// others of it got a place, or with more work. Where that would be too much, the plan says so.
func (b *behind) again(w model.World, of part, plan *place.Plan) {
	b.note(slices.DeleteFunc(place.Waiting(w), func(x model.Pod) bool { return !of.pods[x.UID] }), *plan)
	rest := slices.DeleteFunc(short(w, *plan), func(x model.Pod) bool { return !of.pods[x.UID] })
	switch halves := place.Halves(w, rest); {
	case len(rest) == 0:
	case len(halves) > 1:
		b.add(halves[0], of.effort)
		b.add(halves[1], of.effort)
	case len(rest) < len(of.pods):
		b.add(rest, of.effort)
	case of.effort < mostEffort:
		b.add(rest, of.effort*moreEffort)
	default:
		tooMuch(plan, of)
	}
}

// tooMuch has the plan say of the part's pods that even a plan for them alone was too much work.
func tooMuch(plan *place.Plan, of part) {
	for i := range plan.Unscheduled {
		l := &plan.Unscheduled[i]
		l.Refusals = slices.Clone(l.Refusals)
		for k := range l.Refusals {
			if r := &l.Refusals[k]; r.Why == model.WhyPlanCut {
				r.Detail = fmt.Sprintf("to find it a place takes more than %d times the work that a plan may take, even with nothing but pods like it and those that "+
					"machines are on their way for; it is tried again", of.effort)
			}
		}
	}
}
