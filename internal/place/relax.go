package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
)

// relax lifts the minValues of a tier for pods that still wait, and reports whether that changes anything.
func (d *purchasing) relax(tier []*nodePool) bool {
	if d.minValues != BestEffort || !slices.ContainsFunc(d.buying, func(g *group) bool { return g.waiting() > 0 }) {
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
func (d *purchasing) tighten() {
	for _, s := range d.pools {
		if len(s.choosy) < len(s.wanted) {
			s.choosy = s.wanted
			d.forget(s)
		}
	}
}

// forget drops what the pool answered to the groups that are bought for.
func (d *purchasing) forget(s *nodePool) {
	drop := func(f *nodeConstraint) {
		if len(f.allowed) > s.id {
			f.allowed[s.id] = nil
		}
	}
	for _, x := range d.buying {
		delete(x.given, s.id)
		drop(x.constraint)
		for _, m := range x.members {
			drop(m.g.constraint)
		}
	}
}

// lowered is own with minValues that the items can show, and whether any had to be lowered for that.
func (s seller) lowered(own require.Set, items []int) (require.Set, bool) {
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
