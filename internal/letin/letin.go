// Package letin answers: which one change would let this pod in, and on which machine for how much?
//
// It takes one constraint of the pod, or one rule of one NodePool, and asks the engine again with
// nothing else changed. It guesses nothing: what it names was planned, for all pods that wait, and
// audited. It looks for no pair of changes, changes nothing, and knows no cluster.
package letin

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// MostQuestions bounds how often the engine is asked, so that an answer costs at most as much as
	// so many plans. A pod has a handful of constraints and a pool a handful of rules: ten pools
	// are gone through.
	MostQuestions = 80
	// mostWays is how many ways in are told, and tried with all pods that wait.
	mostWays = 3
	// effort bounds the search of a question: whether the pod gets in takes little of it, and how
	// well the others are packed is not asked.
	effort = 100_000
)

// Input is what is asked about.
type Input struct {
	// Place is what the engine was asked. Pods must be empty: all that wait.
	Place place.Input
	// Plan is what it answered.
	Plan place.Plan
	// Pod is one that the plan has no place for.
	Pod model.PodKey
}

// Change is one thing that a person may do otherwise.
type Change struct {
	// Object is what is to be changed, "pod shop/web" or "NodePool gpu".
	Object string
	// Field says where in it, as a path of the API; keys of lists and maps stand in brackets.
	Field string
	// From and To are what stands there and what should, None for nothing.
	From, To string
}

// None is nothing, as From and To have it.
const None = "none"

// Way is a change that lets the pod in, and where it would be.
type Way struct {
	Change
	// Node or Claim is what is there already and takes the pod; otherwise Pool buys Offering at Price.
	Node, Claim string
	Pool        string
	Offering    model.OfferingKey
	Price       model.Price
	// With is how many other pods get the same new machine.
	With int
	// Also is how many other pods get a place by the change that had none.
	Also int
	// More is by how much the whole plan is dearer; below zero when it is cheaper.
	More model.Price

	steps int
}

// Answer is what was found.
type Answer struct {
	// Ways let the pod in, the cheapest first: by how much the plan costs more for each pod that gets
	// in by it. Of those that cost the same the smallest change is first: one of the pod before one
	// of a pool, then the one of fewest steps.
	Ways []Way
	// Tried is how many changes were tried, Questions how often the engine was asked.
	Tried, Questions int
	// Cut is set when there were more changes to try than MostQuestions allow.
	Cut bool
}

// Find asks. Cost: at most MostQuestions + mostWays plans, each of little search.
func Find(in Input) Answer {
	in.Place.World = in.Place.World.Indexed()
	in.Place.Accept = 0
	s := &seeker{in: in}
	i := slices.IndexFunc(in.Plan.Unscheduled, func(u place.Unscheduled) bool {
		return u.Pod == in.Pod
	})
	if i < 0 {
		return s.out
	}
	s.waiting = alike.Waiting(&s.in.Place.World)
	at := slices.IndexFunc(s.waiting, func(p *model.Pod) bool { return p.Key() == in.Pod })
	if at < 0 {
		return s.out
	}
	s.pod, s.refused = s.waiting[at], in.Plan.Unscheduled[i]
	s.crowd = !place.Alone(*s.pod)
	if !s.crowd {
		_, s.crowd = s.ask(trial{}) // by itself it has a place: others take it away
	}
	s.try(s.ofPod())
	for _, r := range s.refused.Refusals {
		s.try(s.ofPool(r))
	}
	s.confirm()
	return s.out
}

// seeker is one search.
type seeker struct {
	in      Input
	pod     *model.Pod
	refused place.Unscheduled
	waiting []*model.Pod
	// crowd is set when it matters which other pods wait: they are asked about, too.
	crowd bool
	found []found
	out   Answer
}

// trial is a change, and what is otherwise by it.
type trial struct {
	Change
	// steps is how much is changed, to be compared within one kind of object.
	steps int
	pod   *model.Pod  // nil = as it is
	pool  *model.Pool // nil = as it is
	// closer are smaller changes of the same field, the smallest first, of which one may do as well;
	// got is what the engine would buy by this one.
	closer func(got place.Plan) []trial
}

// found is a trial that lets the pod in.
type found struct {
	trial
	price model.Price // of the machine; 0 when it is there
}

// try asks about each trial, and where it does about closer ones.
func (s *seeker) try(list []trial) {
	for _, t := range list {
		if s.spent() {
			return
		}
		s.out.Tried++
		got, ok := s.ask(t)
		if !ok {
			continue
		}
		if t.closer != nil {
			for _, c := range t.closer(got) {
				if s.spent() {
					return
				}
				if less, ok := s.ask(c); ok {
					t, got = c, less
					break
				}
			}
		}
		if t.To == t.From {
			continue
		}
		s.found = append(s.found, found{t, s.way(t, got).Price})
	}
}

func (s *seeker) spent() bool {
	if s.out.Questions < MostQuestions {
		return false
	}
	s.out.Cut = true
	return true
}

// ask asks the engine about the pod with one thing otherwise, and whether it gets in.
func (s *seeker) ask(t trial) (place.Plan, bool) {
	s.out.Questions++
	in := s.in.Place
	in.Limit = effort
	in.World.Pools = t.pools(in.World.Pools)
	pods := s.waiting
	if !s.crowd {
		pods = []*model.Pod{s.pod}
	}
	in.Pods = make([]model.Pod, len(pods))
	for i, p := range pods {
		in.Pods[i] = *p
		if p == s.pod && t.pod != nil {
			in.Pods[i] = *t.pod
		}
	}
	plan := place.Decide(in)
	return plan, !left(plan)[s.in.Pod]
}

// world is the picture changed throughout.
func (t trial) world(w model.World, who model.PodKey) model.World {
	flat := w.Flat()
	flat.Pools = t.pools(flat.Pools)
	if t.pod == nil {
		return flat
	}
	pods := slices.Clone(flat.Pods)
	for i := range pods {
		if pods[i].Key() == who {
			pods[i] = *t.pod
		}
	}
	flat.Pods = pods
	return flat
}

func (t trial) pools(list []model.Pool) []model.Pool {
	if t.pool == nil {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		if list[i].Name == t.pool.Name {
			list[i] = *t.pool
		}
	}
	return list
}

// left are the pods that a plan has no place for.
func left(plan place.Plan) map[model.PodKey]bool {
	out := map[model.PodKey]bool{}
	for _, u := range plan.Unscheduled {
		out[u.Pod] = true
	}
	return out
}

// way reads out of a plan where the pod is.
func (s *seeker) way(t trial, plan place.Plan) Way {
	w := Way{Change: t.Change, steps: t.steps}
	for _, n := range plan.Existing {
		if n.Pod == s.in.Pod {
			w.Node, w.Claim = n.Node, n.Claim
		}
	}
	for _, c := range plan.NewClaims {
		if slices.Contains(c.Pods, s.in.Pod) {
			w.Pool, w.With = c.Pool, len(c.Pods)-1
			w.Offering, w.Price = c.Options[0].Key, c.Options[0].Price
		}
	}
	return w
}

// confirm asks about the best of what was found once more: now in a picture that is changed
// throughout, for all pods that wait, of which none may lose its place, and with an audit.
func (s *seeker) confirm() {
	slices.SortStableFunc(s.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.price, b.price), smaller(a.Change, b.Change, a.steps, b.steps))
	})
	before := left(s.in.Plan)
	for i, f := range s.found {
		if len(s.out.Ways) == mostWays || i == 2*mostWays {
			break
		}
		s.out.Questions++
		in := s.in.Place
		in.World = f.world(in.World, s.in.Pod)
		plan := place.Decide(in)
		after := left(plan)
		if after[s.in.Pod] || !within(after, before) || len(audit.Check(in.World, plan)) > 0 {
			continue
		}
		w := s.way(f.trial, plan)
		w.Also, w.More = max(0, len(before)-len(after)-1), plan.Price-s.in.Plan.Price
		s.out.Ways = append(s.out.Ways, w)
	}
	slices.SortStableFunc(s.out.Ways, func(a, b Way) int {
		each := func(x, y Way) model.Price { return x.More * model.Price(y.Also+1) }
		return cmp.Or(cmp.Compare(each(a, b), each(b, a)),
			smaller(a.Change, b.Change, a.steps, b.steps))
	})
}

func within(a, b map[model.PodKey]bool) bool {
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

// smaller orders changes that cost the same: those of pods first, which concern nobody else.
func smaller(a, b Change, stepsA, stepsB int) int {
	ofPool := func(c Change) int {
		if isPool(c) {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(ofPool(a), ofPool(b)), cmp.Compare(stepsA, stepsB),
		cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field), cmp.Compare(a.To, b.To))
}
