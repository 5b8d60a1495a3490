package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
)

// MinValues says whether the choice that a pool asks for with minValues is a must (Input.MinValues).
type MinValues string

// The ways to treat minValues.
const (
	// Strict leaves pods over rather than buy a machine for them that shows fewer distinct values than its pool asks for.
	Strict MinValues = "Strict"
	// BestEffort buys with less choice for pods that found no place under Strict, in the same pool, before a lighter pool is asked. Such a
	// new claim says so (New claim.Relaxed), and asks for as many values as its options show.
	BestEffort MinValues = "BestEffort"
)

// relax lifts the minValues of a tier for pods that still wait, and reports whether that changes anything.
func (d *decision) relax(tier []*nodePool) bool {
	if d.in.MinValues != BestEffort || !slices.ContainsFunc(d.buying, func(g *podClass) bool { return g.waiting() > 0 }) {
		return false
	}
	lifted := false
	for _, s := range tier {
		if len(s.choosy) > 0 {
			s.choosy, lifted = nil, true
			d.forget(s)
		}
	}
	return lifted
}

// tighten takes relax back, for what-ifs that are asked again.
func (d *decision) tighten() {
	for _, s := range d.pools {
		if len(s.choosy) < len(s.wanted) {
			s.choosy = s.wanted
			d.forget(s)
		}
	}
}

// forget drops what the pool answered to the groups that are bought for.
func (d *decision) forget(s *nodePool) {
	drop := func(g *podClass) {
		delete(g.given, s.id)
		if len(g.constraint.allowed) > s.id {
			g.constraint.allowed[s.id] = nil
		}
	}
	for _, x := range d.buying {
		drop(x)
		for _, m := range x.members {
			drop(m.g)
		}
	}
}

// lowered is own with minValues that the items can show, and whether any had to be lowered for that.
func (s *nodePool) lowered(own require.Set, items []int) (require.Set, bool) {
	relaxed := false
	if len(s.wanted) == 0 {
		return own, false
	}
	t := s.variety()
	for _, i := range items {
		t.add(i)
	}
	for _, x := range t.keys {
		if v, ok := own.Get(x.key); ok && x.n < v.MinValues() {
			own, relaxed = own.WithMinValues(x.key, x.n), true
		}
	}
	return own, relaxed
}
