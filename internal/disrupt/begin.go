package disrupt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/model"
)

// movable looks at what keeps a node with pods, its pods aside.
func (s *picture) movable(x *candidate) reason {
	if s.receiving[x.node.Name] {
		return reason{why: model.WhyReceiving,
			detail: "pods of nodes that leave, or that wait, are to come here"}
	}
	if s.replacing[x.claim.Name] {
		return boughtForMove()
	}
	r := s.protected(x)
	if r.why != "" {
		return r
	}
	r = s.keptFree(x)
	if r.why != "" {
		return r
	}
	until := s.Held[x.claim.Name]
	if until.After(s.Now) {
		return reason{model.WhyHeldBack, "a move of it failed a short time ago", until.Sub(s.Now)}
	}
	return reason{}
}

// within asks whether people hold the node's pool back, and its budgets.
func (s *picture) within(x *candidate, why string) reason {
	held := s.paused(x, why)
	if held.why != "" {
		return held
	}
	if s.budgets.left(*x.pool, why) > 0 {
		return reason{}
	}
	return reason{model.WhyBudget, fmt.Sprintf("the budgets of NodePool %s let no more %s node leave now",
		x.pool.Name, strings.ToLower(why)), budgetPoll}
}

// begin decides on a move.
func (s *picture) begin(why reason, members []*candidate, a place.Answer, buy []place.NewClaim) {
	m := Move{Why: why.why, Detail: why.detail, Buy: buy, Fits: a.Fits,
		Record: Record{Why: why.why, Since: s.Now}}
	for _, x := range members {
		m.Claims, m.Nodes = append(m.Claims, x.claim.Name), append(m.Nodes, x.node.Name)
		m.Saves, m.Pods = m.Saves+x.price, m.Pods+x.there.Tenants
		s.done[x.claim.Name] = true
		s.budgets.take(x.pool.Name)
		if why.why == model.WhyDrifted {
			s.rollout(x).moving++
		}
	}
	for i, b := range buy {
		m.Saves -= b.Options[0].Price
		m.Record.Replacements = append(m.Record.Replacements, offer.FreeName(b, i, s.names))
	}
	m.Record.Claims, m.Record.Saves = slices.Sorted(slices.Values(m.Claims)), m.Saves.String()
	s.receive(a)
	s.leave(m)
}
