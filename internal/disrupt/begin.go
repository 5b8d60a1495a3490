package disrupt

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	pod := s.late()
	if pod != nil {
		return reason{model.WhyOtherMovesFirst, fmt.Sprintf(
			"pod %s waits and has to be spread over machines: one that leaves counts as empty until it is gone",
			pod.Key()), pod.Created.Add(lateLimit).Sub(s.Now)}
	}
	until := s.Held[x.claim.Name]
	if until.After(s.Now) {
		return reason{model.WhyHeldBack, "a move of it failed a short time ago", until.Sub(s.Now)}
	}
	return reason{}
}

// lateLimit is how old a pod may be that holds up moves: longer than most drains take. Whatever else keeps an older one waiting, nodes do not stay
// for it for ever.
const lateLimit = 15 * time.Minute

// late returns a pod that waits for a place until machines that leave are gone (place.WhatIf.Late). Were further ones to leave, it would wait for these,
// too. nil when there is none. It is looked for once.
func (s *picture) late() *model.Pod {
	if !s.lateAsked {
		s.lateAsked = true
		if s.spreadWaits() {
			pod := s.whatIf().Late()
			if pod != nil && s.young(pod) {
				s.latePod = pod
			}
		}
	}
	return s.latePod
}

// spreadWaits reports whether any young pod waits that has to be spread over machines: only for such pods the picture need be arranged for questions.
func (s *picture) spreadWaits() bool {
	for p := range s.World.Index.Unbound().All() {
		if s.young(p) && p.Provisionable() && !p.Virtual && slices.ContainsFunc(p.Spread, func(x model.Spread) bool {
			return x.Hard && x.Key == model.LabelHostname
		}) {
			return true
		}
	}
	return false
}

func (s *picture) young(p *model.Pod) bool { return s.Now.Sub(p.Created) < lateLimit }

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
