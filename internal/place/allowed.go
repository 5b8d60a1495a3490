package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
)

// allowed is what one pool can offer to pods of one form.
type allowed struct {
	// ok are the available offerings that the form accepts; of which each holds the size that was asked about, if one was.
	ok bitset.Set
	// terms are the alternatives of the form that agree with free.
	terms []require.Set
	// free narrows labels on which nodes of this pool may go either way; groups may share a machine only when they agree.
	free require.Set
	// all are what each of several alternatives offers that cannot be promised together; nil when there is one only. In one cell another may
	// be the better one.
	all []alternative
}

// alternative is what one pool can offer to one alternative of a form.
type alternative struct {
	ok   bitset.Set
	free require.Set
}

// newLot asks one pool about one form, and, when the form has one, about its size. Why there is nothing, a ledger says.
func newLot(s *nodePool, g *nodeConstraint) *allowed {
	l := &allowed{}
	if s.closed.Why != "" || !g.tolerates(s.pool.Taints) {
		return l
	}
	sold := s.base.And(s.offerings.available)
	sold.Narrow(s.without(g.conflicts))
	best, split := -1, len(g.terms) > 1 && s.splits(g.terms)
	for _, t := range g.terms {
		if s.conflict(t) != "" {
			continue
		}
		q := s.own.And(t)
		match := s.offerings.filter(sold, q.Only(func(k string) bool { _, ok := t.Get(k); return ok }))
		if match.First() < 0 {
			continue
		}
		holds := match
		if g.size != nil {
			holds = bitset.New(len(s.offerings.items))
			match.Each(func(i int) {
				if s.room[i].Covers(g.size) {
					holds.Add(i)
				}
			})
		}
		free := q.Only(s.open)
		if split && holds.First() >= 0 {
			l.all = append(l.all, alternative{holds, free})
		}
		l.offer(s, holds, free, t, &best)
	}
	return l
}

// splits reports whether alternatives cannot be promised together: they leave open labels differently, or each of them has to show enough
// values by itself.
func (s *nodePool) splits(terms []require.Set) bool {
	if len(s.wanted) > 0 {
		return true
	}
	narrows := func(t require.Set) bool { return slices.ContainsFunc(t.Keys(), s.open) }
	if !slices.ContainsFunc(terms, narrows) {
		return false
	}
	first := terms[0].Only(s.open).String()
	return slices.ContainsFunc(terms[1:], func(t require.Set) bool { return t.Only(s.open).String() != first })
}

// offer adds one term's offerings. Terms that leave open labels differently cannot be mixed on one machine without a
// case distinction; the alternative with the cheapest offering wins, and its equals join it.
func (l *allowed) offer(s *nodePool, ok bitset.Set, free require.Set, t require.Set, best *int) {
	first := ok.First()
	if first < 0 {
		return
	}
	if len(s.choosy) > 0 {
		// minValues are judged on one term's offerings; a union of terms could promise more than the claim may ask for.
		varied := s.varied(ok, nil)
		if *best >= 0 && (first >= *best || !varied) {
			return
		}
		*best, l.ok, l.free, l.terms = first, ok, free, []require.Set{t}
		if !varied {
			*best = len(s.offerings.items) // any other term is welcome
		}
		return
	}
	if *best >= 0 && free.String() == l.free.String() {
		l.ok = slicesOr(l.ok, ok)
		l.terms = append(l.terms, t)
		*best = min(*best, first)
		return
	}
	if *best < 0 || first < *best {
		*best, l.ok, l.free, l.terms = first, ok, free, []require.Set{t}
	}
}

func slicesOr(a, b bitset.Set) bitset.Set {
	out := append(bitset.Set(nil), a...)
	out.Or(b)
	return out
}

// affordable returns the offerings of l that the limits still allow.
func (s *nodePool) affordable(l *allowed) bitset.Set {
	if len(s.limits) == 0 {
		return l.ok
	}
	out := bitset.New(len(s.offerings.items))
	l.ok.Each(func(i int) {
		if s.left.Covers(s.cost[i]) {
			out.Add(i)
		}
	})
	return out
}
