package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/model"
)

// budgetPoll is when a node that only a budget keeps looks again: budgets open and close by the minute.
const budgetPoll = time.Minute

// Decide says which nodes leave now, as many at once as the budgets of their pools allow, and why
// every other node stays. First come moves that were begun, then empty nodes, dearest first, then
// those that have drifted, oldest first, those that expire soon, then those whose pods cost less elsewhere. Each is judged
// on top of those before; nodes that are only observed come last, so that no other decision counts
// on what they would do. O(pods + nodes log nodes), and with Sweep one what-if per node.
func Decide(in Input) Decision {
	s := survey(in)
	s.goOn()
	act, watch := s.parted()
	s.judge(act)
	s.watching = true
	s.judge(watch)
	d := &s.out
	for _, list := range [][]Move{d.Moves, d.Observed} {
		slices.SortFunc(list, func(a, b Move) int { return cmp.Compare(a.Claims[0], b.Claims[0]) })
	}
	slices.SortFunc(d.Undo, func(a, b Undo) int { return cmp.Compare(a.Claims[0], b.Claims[0]) })
	slices.Sort(d.Unmark)
	slices.SortFunc(d.Kept, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Node, b.Node))
	})
	return s.out
}

// judge decides about candidates.
func (s *picture) judge(list []*candidate) {
	list = s.empties(list)
	if s.Sweep {
		list = s.drifted(list)
		list = s.expiring(list)
		list = s.underutilized(list)
	}
	for _, x := range list {
		s.keep(x, x.keeps)
	}
}

// empties decides about nodes without pods that need another place, and returns the other candidates,
// with what would keep them if they were not looked at further.
func (s *picture) empties(list []*candidate) (others []*candidate) {
	empty := map[string][]*candidate{} // by pool
	for _, x := range list {
		r := s.stays(x)
		switch {
		case !x.marked() && (r.why == model.WhyNotEmpty || s.Sweep && s.drifts(x, r.why)):
			x.keeps = r
			others = append(others, x)
		case r.why != "":
			s.keep(x, r)
			if x.marked() {
				s.out.Unmark = append(s.out.Unmark, x.node.Name)
			}
		case x.marked(): // its budget was asked when it was marked, and counts it since
			s.leave(x.move())
		default:
			empty[x.pool.Name] = append(empty[x.pool.Name], x)
		}
	}
	for _, p := range s.World.Pools {
		list := empty[p.Name]
		slices.SortFunc(list, func(a, b *candidate) int {
			return cmp.Or(cmp.Compare(b.price, a.price), cmp.Compare(a.claim.Name, b.claim.Name))
		})
		n := min(s.budgets.left(p, budget.Empty), len(list))
		for _, x := range list[:n] {
			s.leave(x.move())
			s.budgets.take(p.Name)
		}
		for _, x := range list[n:] {
			s.keep(x, reason{model.WhyBudget, fmt.Sprintf(
				"the budgets of NodePool %s allow %d of %d empty nodes to leave now",
				p.Name, n, len(list)), budgetPoll})
		}
	}
	return others
}

// drifts reports whether an empty node is to be looked at as one that has drifted, or that expires,
// although for being empty it could leave or has to wait.
func (s *picture) drifts(x *candidate, why model.Why) bool {
	switch why {
	case "":
		return s.driftsNow(x)
	case model.WhyStaticPool:
		return s.Static && (s.driftsNow(x) || s.expires(x) && s.paused(x, budget.Expired).why == "")
	case model.WhyConsolidateAfter, model.WhyConsolidateNever:
		return s.driftsNow(x) || s.expires(x) && s.paused(x, budget.Expired).why == ""
	}
	return false
}

func (s *picture) driftsNow(x *candidate) bool {
	return x.claim.Is(model.Drifted) && s.paused(x, budget.Drifted).why == "" &&
		s.tooYoung(x).why == "" && s.inTurn(x).why == ""
}

func (s *picture) keep(x *candidate, r reason) {
	d := &s.out
	d.Kept = append(d.Kept,
		Kept{Claim: x.claim.Name, Node: x.node.Name, Why: r.why, Detail: r.detail})
	if r.after > 0 && (d.After == 0 || r.after < d.After) {
		d.After = r.after
	}
}
