package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/model"
)

// drifted decides about nodes that are not what their pool and class ask for, those first that have
// not been for longest, and returns the others. What replaces them may cost anything.
func (s *picture) drifted(list []*candidate) (others []*candidate) {
	var old []*candidate
	for _, x := range list {
		if x.claim.Is(model.Drifted) {
			old = append(old, x)
		} else {
			others = append(others, x)
		}
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
	for _, x := range old {
		r := s.movable(x)
		if r.why == "" && x.claim.TerminationGracePeriod == nil {
			r = s.pods(x)
		}
		if r.why == "" {
			r = s.within(x, budget.Drifted)
		}
		if r.why == "" {
			r = s.replace(x)
		}
		if r.why != "" {
			s.keep(x, r.why, r.detail, r.after)
		}
	}
	return others
}

// within asks the budgets of the node's pool.
func (s *picture) within(x *candidate, why string) reason {
	if s.budgets.left(*x.pool, why) > 0 {
		return reason{}
	}
	return reason{model.WhyBudget, fmt.Sprintf("the budgets of NodePool %s let no more %s node leave now",
		x.pool.Name, strings.ToLower(why)), budgetPoll}
}

// replace moves a drifted node, or says why it stays.
func (s *picture) replace(x *candidate) reason {
	a, ok := s.whatIf().
		Try([]string{x.node.Name}, func(a place.Answer) bool { return s.unready(a) == "" })
	switch {
	case ok:
	case len(a.Left) > 0:
		return reason{why: model.WhyNoHome, detail: fmt.Sprintf(
			"%d of its pods would have no other place, such as %s", len(a.Left), a.Left[0])}
	case a.Later:
		return reason{why: model.WhyOtherMovesFirst}
	default:
		return reason{why: model.WhyOtherMovesFirst,
			detail: "its pods would go to " + s.unready(a) + ", which is not there yet"}
	}
	s.begin(model.WhyDrifted, []*candidate{x}, a, a.Buy)
	return reason{}
}

// movable looks at what keeps a node with pods, its pods aside.
func (s *picture) movable(x *candidate) reason {
	if s.receiving[x.node.Name] {
		return reason{
			why:    model.WhyReceiving,
			detail: "pods of nodes that leave, or that wait, are to come here",
		}
	}
	if s.replacing[x.claim.Name] {
		return reason{
			why:    model.WhyReceiving,
			detail: "it was bought for pods of nodes that are about to leave",
		}
	}
	r := s.protected(x)
	if r.why != "" {
		return r
	}
	k, ok := s.nominated[x.node.Name]
	if ok {
		return reason{
			why:    model.WhyNominated,
			detail: fmt.Sprintf("kube-scheduler keeps room here for %s", k),
		}
	}
	until := s.Held[x.claim.Name]
	if until.After(s.Now) {
		return reason{model.WhyHeldBack, "a move of it failed a short time ago", until.Sub(s.Now)}
	}
	return reason{}
}

// begin decides on a move.
func (s *picture) begin(why model.Why, members []*candidate, a place.Answer, buy []place.NewClaim) {
	m := Move{Why: why, Buy: buy, Fits: a.Fits, Record: Record{Why: why, Since: s.Now}}
	for _, x := range members {
		m.Claims, m.Nodes = append(m.Claims, x.claim.Name), append(m.Nodes, x.node.Name)
		m.Saves, m.Pods = m.Saves+x.price, m.Pods+x.there.Tenants
		s.done[x.claim.Name] = true
		s.budgets.take(x.pool.Name)
	}
	for i, b := range buy {
		m.Saves -= b.Options[0].Price
		name := offer.ClaimName(b, i, 0)
		for attempt := 1; s.names[name]; attempt++ { // at most one name per claim that there is is taken
			name = offer.ClaimName(b, i, attempt)
		}
		s.names[name] = true
		m.Record.Replacements = append(m.Record.Replacements, name)
	}
	m.Record.Claims, m.Record.Saves = slices.Sorted(slices.Values(m.Claims)), m.Saves.String()
	s.receive(a)
	s.out.Moves = append(s.out.Moves, m)
}
