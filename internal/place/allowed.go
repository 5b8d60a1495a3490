package place

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
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

func (s *nodePool) conflictText(k string, t require.Set) string {
	want, _ := t.Get(k)
	have, defined := s.own.Get(k)
	switch {
	case k == model.LabelHostname:
		return fmt.Sprintf("label %s: a new node's name is not known yet, pod wants %s", k, want)
	case defined:
		return fmt.Sprintf("label %s: pool allows %s, pod wants %s", k, have, want)
	}
	return fmt.Sprintf("label %s: pool does not define it, pod wants %s", k, want)
}

// machineText names the first label that alone leaves no offering, or says that the combination does.
func (s *nodePool) machineText(t require.Set) string {
	for _, k := range t.Keys() {
		if !s.offerings.machine(k) {
			continue
		}
		want, _ := t.Get(k)
		have, defined := s.own.Get(k)
		if s.base.And(s.offerings.match(k, want.And(have))).First() < 0 {
			if defined {
				return fmt.Sprintf("label %s: pool allows %s, pod wants %s, which no offering has", k, have, want)
			}
			return fmt.Sprintf("label %s: no offering of the pool has what the pod wants: %s", k, want)
		}
	}
	return fmt.Sprintf("no offering of the pool has all that the pod wants: %s", t)
}

// sizeText names the resource of which even the roomiest offering has too little.
func (s *nodePool) sizeText(from bitset.Set, size vec.Vec) string {
	most := make(vec.Vec, len(size))
	from.Each(func(i int) {
		for j, v := range s.room[i] {
			most[j] = max(most[j], v)
		}
	})
	for j, n := range s.names {
		if size[j] > most[j] {
			if driver, ok := strings.CutPrefix(n, attachPrefix); ok {
				return fmt.Sprintf("attaches %d volumes of %s but no offering can attach more than %d", size[j], driver, most[j])
			}
			q := model.FormatQuantities(n, size[j], max(0, most[j]))
			return fmt.Sprintf("needs %s %s but the largest offering leaves %s beside its daemons", n, q[0], q[1])
		}
	}
	return fmt.Sprintf("needs %s, and no single offering has that much of everything beside its daemons", s.names.resources(size))
}

// maxNamed bounds how many offerings a text names.
const maxNamed = 3

func (s *nodePool) soldOutText(from bitset.Set) string {
	var names []string
	from.Each(func(i int) {
		if len(names) < maxNamed {
			name := s.offerings.items[i].o.Key().String()
			if why := s.offerings.items[i].o.Unavailable; why != "" {
				name += ": " + why
			}
			names = append(names, name)
		}
	})
	if n := from.Count() - len(names); n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return "everything that would fit is unavailable for now: " + strings.Join(names, "; ")
}

// limitText says which limit stands in the way of the smallest machine that would fit.
func (s *nodePool) limitText(from bitset.Set) string {
	if len(s.limits) == 0 {
		return ""
	}
	for j, n := range s.limits {
		least := int64(unlimited)
		from.Each(func(i int) { least = min(least, s.cost[i][j]) })
		if least > s.left[j] && isSupply(n) {
			return "of " + strings.TrimPrefix(n, supplyPrefix) + " the cloud keeps no more, or others hold them already"
		}
		if least > s.left[j] {
			limit := s.pool.Limits[n]
			q := model.FormatQuantities(n, limit, limit-s.left[j], least)
			return fmt.Sprintf("limits.%s %s: %s in use or planned, the smallest machine that fits adds %s", n, q[0], q[1], q[2])
		}
	}
	return "the pool's limits together leave no machine that fits"
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
