package disrupt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// drifted decides about nodes that are not what their pool and class ask for, those first that have
// not been for longest, and returns the others. What replaces them may cost anything.
func (s *picture) drifted(list []*candidate) (others []*candidate) {
	var old []*candidate
	for _, x := range list {
		if !x.claim.Is(model.Drifted) {
			others = append(others, x)
			continue
		}
		held := s.paused(x, budget.Drifted)
		if held.why == "" {
			held = s.tooYoung(x)
		}
		if held.why == "" {
			old = append(old, x)
			continue
		}
		x.keeps = held
		others = append(others, x) // its pods may cost less elsewhere all the same
	}
	since := func(x *candidate) model.Condition {
		c, _ := model.FindCondition(x.claim.Conditions, model.Drifted)
		return c
	}
	slices.SortFunc(old, func(a, b *candidate) int {
		return cmp.Or(
			since(a).Since.Compare(since(b).Since),
			cmp.Compare(a.claim.Name, b.claim.Name),
		)
	})
	s.rollTogether(old, func(x *candidate) reason { return driftOf(since(x)) })
	for _, x := range old {
		if s.done[x.claim.Name] {
			continue
		}
		r := s.movable(x)
		if r.why == "" && x.claim.TerminationGracePeriod == nil {
			r = s.pods(x)
		}
		if r.why == "" {
			r = s.within(x, budget.Drifted)
		}
		if r.why == "" {
			r = s.inTurn(x)
		}
		if r.why == "" {
			r = s.replace(x, driftOf(since(x)))
		}
		if r.why != "" {
			s.keep(x, r)
		}
	}
	return others
}

// driftOf is why a node leaves that has drifted.
func driftOf(c model.Condition) reason {
	return reason{why: model.WhyDrifted, detail: c.Said()}
}

// replace moves a node whatever that costs, or says why it stays.
func (s *picture) replace(x *candidate, why reason) reason {
	if x.pool.Replicas != nil {
		return s.relieve(x, why)
	}
	tight := false
	a, ok := s.whatIf().Try([]string{x.node.Name}, func(a place.Answer) bool {
		tight = why.why == model.WhyDrifted && s.under(x.pool.Name) && !place.Spare(s.whatIf())
		return s.unready(a) == "" && !tight
	})
	switch {
	case ok:
	case tight:
		return reason{why: model.WhyOtherMovesFirst, detail: "limits leave no machine for a pod " +
			"that finds its place taken, so drifted nodes leave one after the other"}
	case len(a.Left) > 0:
		return reason{why: model.WhyNoHome, detail: fmt.Sprintf(
			"%d of its pods would have no other place, such as %s", len(a.Left), a.Left[0])}
	case a.Later:
		return reason{why: model.WhyOtherMovesFirst}
	default:
		return reason{why: model.WhyOtherMovesFirst,
			detail: "its pods would go to " + s.unready(a) + ", which is not there yet"}
	}
	s.begin(why, []*candidate{x}, a, a.Buy)
	return reason{}
}

// under reports whether a node with pods of the pool is on its way out, or about to be: its pods
// may go where those of the next are planned.
func (s *picture) under(pool string) bool {
	for _, x := range s.candidates {
		goes := x.moves || x.leaves() || x.marked() || s.done[x.claim.Name]
		if goes && x.claim.Pool == pool && x.there.Tenants > 0 {
			return true
		}
	}
	return false
}
