package offer

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/require"
)

// relax lifts the minValues of a tier for pods that still wait, and reports whether that changes anything.
func (d *Purchasing) relax(tier []*problem.NodePool) bool {
	if d.MinValues != problem.BestEffort ||
		!slices.ContainsFunc(d.Buying, func(g *assign.Group) bool { return g.Waiting() > 0 }) {
		return false
	}
	lifted := false
	for _, s := range tier {
		if len(s.Choosy) > 0 {
			s.Choosy, lifted = nil, true
			d.forget(s)
		}
	}
	return lifted
}

// tighten takes relax back, for what-ifs that are asked again.
func (d *Purchasing) tighten() {
	for _, s := range d.Pools {
		if len(s.Choosy) < len(s.Wanted) {
			s.Choosy = s.Wanted
			d.forget(s)
		}
	}
}

// forget drops what the pool answered to the groups that are bought for.
func (d *Purchasing) forget(s *problem.NodePool) {
	drop := func(f *problem.NodeConstraint) {
		if len(f.Allowed) > s.ID {
			f.Allowed[s.ID] = nil
		}
	}
	for _, x := range d.Buying {
		delete(x.Given, s.ID)
		drop(x.Constraint)
		for _, m := range x.Members {
			drop(m.Class.Constraint)
		}
	}
}

// lowered is own with minValues that the items can show, and whether any had to be lowered for that.
func (s seller) lowered(own require.Set, items []int) (require.Set, bool) {
	relaxed := false
	if len(s.Wanted) == 0 {
		return own, false
	}
	t := s.Variety()
	for _, i := range items {
		t.Add(i)
	}
	for _, x := range t.Keys {
		if v, ok := own.Get(x.Key); ok && x.N < v.MinValues() {
			own, relaxed = own.WithMinValues(x.Key, x.N), true
		}
	}
	return own, relaxed
}
