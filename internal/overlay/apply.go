package overlay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// Apply returns the catalogue as the pool sees it under the overlays in force, in Judge's order; with no pool, as
// everybody of the class sees it, overlays that ask about pools left out. What is not changed is shared with cat, and the
// epoch stays: who keeps the result says so by an epoch of its own. O(offerings × overlays).
func Apply(cat model.Catalog, pool *model.Pool, inForce []model.Overlay) model.Catalog {
	var rules []rule
	for _, o := range inForce {
		if r := compile(o); pool != nil || !r.byPool {
			rules = append(rules, r)
		}
	}
	s, own := newScene(cat, pool), false
	for i := range cat.Types {
		t, changed := s.change(&cat.Types[i], rules)
		if !changed {
			continue
		}
		if !own {
			cat.Types, own = slices.Clone(cat.Types), true
		}
		cat.Types[i] = t
	}
	return cat
}

// ByPool reports whether pools of one class may see different catalogues under these overlays: one of them asks for
// labels that pools give, or adds capacity, which depends on what a pool may buy.
func ByPool(inForce []model.Overlay) bool {
	return slices.ContainsFunc(inForce, func(o model.Overlay) bool { return len(o.Capacity) > 0 || compile(o).byPool })
}

// change returns the size under the rules, and whether anything about it changed.
func (s scene) change(t *model.InstanceType, rules []rule) (model.InstanceType, bool) {
	out, changed := *t, false
	offerings := slices.Clone(t.Offerings)
	for i, o := range t.Offerings {
		for _, r := range rules {
			if r.priced && s.picks(r, t, o) {
				offerings[i].Price = r.price(o.Price)
				changed = changed || offerings[i].Price != o.Price
				break
			}
		}
	}
	if changed {
		slices.SortFunc(offerings, func(a, b model.Offering) int {
			return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
		})
		out.Offerings = offerings
	}
	settled := map[string]bool{}
	for _, r := range rules {
		if len(r.o.Capacity) == 0 || !s.all(r, t) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(r.o.Capacity)) {
			n := r.o.Capacity[name]
			if settled[name] {
				continue
			}
			settled[name] = true
			if out.Capacity.Get(name) == n && out.Allocatable.Get(name) == n {
				continue
			}
			out.Capacity, out.Allocatable, changed = out.Capacity.With(name, n), out.Allocatable.With(name, n), true
		}
	}
	return out, changed
}

// Conditions returns what the overlay's status should show: ValidationSucceeded and, the same, Ready. Since is left zero.
func Conditions(o model.Overlay, problems []Problem) []model.Condition {
	valid := model.Condition{Type: model.ValidationSucceeded, Status: model.True, Reason: model.ValidationSucceeded, ObservedGeneration: o.Generation}
	ready := model.Condition{Type: model.Ready, Status: model.True, Reason: model.Ready, ObservedGeneration: o.Generation}
	for _, p := range problems {
		if p.Overlay != o.Name {
			continue
		}
		valid.Message = p.Detail
		if p.Reason != Partly {
			valid.Status, valid.Reason = model.False, string(p.Reason)
			ready.Status, ready.Reason, ready.Message = model.False, "UnhealthyDependents", model.ValidationSucceeded+"=False"
		}
	}
	return []model.Condition{valid, ready}
}
