package problem

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
)

// Allowed is what one pool can offer to pods of one constraint.
type Allowed struct {
	// OK are the available offerings that the constraint accepts; of which each holds the size that was asked about, if one was.
	OK bitset.Set
	// Terms are the alternatives of the constraint that agree with free.
	Terms []require.Set
	// Free narrows labels on which nodes of this pool may go either way; classes may share a machine only when they agree.
	Free require.Set
	// All are what each of several alternatives offers that cannot be promised together; nil when there is one only. In one cell another may
	// be the better one.
	All []Alternative
}

// Alternative is what one pool can offer to one alternative of a constraint.
type Alternative struct {
	OK   bitset.Set
	Free require.Set
}

// newLot asks one pool about one form, and, when the constraint has one, about its size. Why there is nothing, a ledger says.
func newLot(s *NodePool, g *NodeConstraint) *Allowed {
	l := &Allowed{}
	if s.Closed.Why != "" || !g.Tolerates(s.Pool.Taints) {
		return l
	}
	sold := s.Base.And(s.Offerings.Available)
	sold.Narrow(s.without(g.Conflicts))
	best, split := -1, len(g.Terms) > 1 && s.splits(g.Terms)
	for _, t := range g.Terms {
		if s.Conflict(t) != "" {
			continue
		}
		q := s.Own.And(t)
		match := s.Offerings.Filter(sold,
			q.Only(func(k string) bool { _, ok := t.Get(k); return ok }))
		if match.First() < 0 {
			continue
		}
		holds := match
		if g.size != nil {
			holds = s.holding(match, g.size)
		}
		free := q.Only(s.Open)
		if split && holds.First() >= 0 {
			l.All = append(l.All, Alternative{holds, free})
		}
		l.offer(s, holds, free, t, &best)
	}
	return l
}

// splits reports whether alternatives cannot be promised together: they leave open labels differently, or each of them has to show enough
// values by itself.
func (s *NodePool) splits(terms []require.Set) bool {
	if len(s.Wanted) > 0 {
		return true
	}
	narrows := func(t require.Set) bool { return slices.ContainsFunc(t.Keys(), s.Open) }
	if !slices.ContainsFunc(terms, narrows) {
		return false
	}
	first := terms[0].Only(s.Open).String()
	return slices.ContainsFunc(terms[1:], func(t require.Set) bool {
		return t.Only(s.Open).String() != first
	})
}

// offer adds one term's offerings. Terms that leave open labels differently cannot be mixed on one machine without a
// case distinction; the alternative with the cheapest offering wins, and its equals join it.
func (l *Allowed) offer(s *NodePool, ok bitset.Set, free require.Set, t require.Set, best *int) {
	first := ok.First()
	if first < 0 {
		return
	}
	if len(s.Choosy) > 0 {
		// minValues are judged on one term's offerings; a union of terms could promise more than the claim may ask for.
		varied := s.Varied(ok, nil)
		if *best >= 0 && (first >= *best || !varied) {
			return
		}
		*best, l.OK, l.Free, l.Terms = first, ok, free, []require.Set{t}
		if !varied {
			*best = len(s.Offerings.Items) // any other term is welcome
		}
		return
	}
	if *best >= 0 && free.String() == l.Free.String() {
		l.OK = slices.Clone(l.OK)
		l.OK.Or(ok)
		l.Terms = append(l.Terms, t)
		*best = min(*best, first)
		return
	}
	if *best < 0 || first < *best {
		*best, l.OK, l.Free, l.Terms = first, ok, free, []require.Set{t}
	}
}

// Affordable returns the offerings of l that the limits still allow.
func (s *NodePool) Affordable(l *Allowed) bitset.Set {
	if len(s.Limits) == 0 {
		return l.OK
	}
	return l.OK.Where(func(i int) bool { return s.Left.Covers(s.Cost[i]) })
}
