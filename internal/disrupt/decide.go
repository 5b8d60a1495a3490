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
// those that have drifted, oldest first, then those whose pods cost less elsewhere. Each is judged
// on top of those before. O(pods + nodes log nodes), and with Sweep one what-if per node.
func Decide(in Input) Decision {
	s := survey(in)
	s.goOn()
	with := s.empties()
	if in.Sweep {
		with = s.drifted(with)
		with = s.underutilized(with)
	}
	for _, x := range with {
		s.keep(x, x.why, x.detail, x.after)
	}
	d := &s.out
	slices.SortFunc(d.Moves, func(a, b Move) int { return cmp.Compare(a.Claims[0], b.Claims[0]) })
	slices.SortFunc(d.Undo, func(a, b Undo) int { return cmp.Compare(a.Claims[0], b.Claims[0]) })
	slices.Sort(d.Unmark)
	slices.SortFunc(d.Kept, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Node, b.Node))
	})
	return s.out
}

// empties decides about nodes without pods that need another place, and returns the other candidates,
// with what would keep them if they were not looked at further.
func (s *picture) empties() (others []*candidate) {
	empty := map[string][]*candidate{} // by pool
	for _, x := range s.candidates {
		if s.done[x.claim.Name] {
			continue
		}
		why, detail, after := s.stays(x)
		switch {
		case !x.marked() && (why == model.WhyNotEmpty || s.Sweep && x.drifts(why)):
			x.why, x.detail, x.after = why, detail, after
			others = append(others, x)
		case why != "":
			s.keep(x, why, detail, after)
			if x.marked() {
				s.out.Unmark = append(s.out.Unmark, x.node.Name)
			}
		case x.marked(): // its budget was asked when it was marked, and counts it since
			s.out.Moves = append(s.out.Moves, x.move())
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
			s.out.Moves = append(s.out.Moves, x.move())
			s.budgets.take(p.Name)
		}
		for _, x := range list[n:] {
			s.keep(x, model.WhyBudget, fmt.Sprintf(
				"the budgets of NodePool %s allow %d of %d empty nodes to leave now",
				p.Name,
				n,
				len(list),
			), budgetPoll)
		}
	}
	return others
}

// drifts reports whether an empty node is to be looked at as one that has drifted, although for being
// empty it could leave or has to wait.
func (x *candidate) drifts(why model.Why) bool {
	switch why {
	case "", model.WhyConsolidateAfter, model.WhyConsolidateNever:
		return x.claim.Is(model.Drifted)
	}
	return false
}

func (s *picture) keep(x *candidate, why model.Why, detail string, after time.Duration) {
	d := &s.out
	d.Kept = append(d.Kept, Kept{Claim: x.claim.Name, Node: x.node.Name, Why: why, Detail: detail})
	if after > 0 && (d.After == 0 || after < d.After) {
		d.After = after
	}
}
