package meter

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/model"
)

// always are the resources that are told of NodePools although there is none: that a pool has no
// nodes is news as well.
func always() []string {
	return []string{model.ResourceCPU, model.ResourceMemory, model.ResourceEphemeral,
		model.ResourcePods}
}

func (v *view) pools() {
	const p = "karpenter_nodepools_"
	cost, sold := map[string]model.Price{}, shelves{}
	for i := range v.w.Claims {
		c := &v.w.Claims[i]
		cost[c.Pool] += sold.price(v.w, c)
	}
	counts := v.counts()
	for i := range v.w.Pools {
		pool := &v.w.Pools[i]
		for _, r := range slices.Sorted(maps.Keys(pool.Limits)) {
			v.tell(p+"limit", amount(r, pool.Limits[r]), pool.Name, resourceLabel(r))
		}
		used := pool.StatusResources
		names := slices.Concat(always(), used.Names())
		slices.Sort(names)
		for _, r := range slices.Compact(names) {
			v.tell(p+"usage", amount(r, used.Get(r)), pool.Name, resourceLabel(r))
		}
		v.tell(p+"usage", float64(pool.StatusNodes), pool.Name, model.ResourceNodes)
		v.tell(p+"cost_total", cost[pool.Name].Float(), pool.Name)
		v.budgets(pool, counts[pool.Name])
	}
	v.eligible()
}

// shelves are catalogues by name of type.
type shelves map[shelf]map[string]*model.InstanceType

type shelf struct {
	pool  string
	class model.ClassRef
}

// price is what a claim's machine costs as it is offered now; zero when it is not sold any more.
func (s shelves) price(w *model.World, c *model.Claim) model.Price {
	at := shelf{c.Pool, c.Class}
	types, known := s[at]
	if !known {
		types = map[string]*model.InstanceType{}
		list := w.Catalog(c.Pool, c.Class).Types
		for i := range list {
			types[list[i].Name] = &list[i]
		}
		s[at] = types
	}
	t := types[c.Labels[model.LabelInstanceType]]
	if t == nil {
		return 0
	}
	for i := range t.Offerings {
		if t.Offerings[i].Key() == c.Offering() {
			return t.Offerings[i].Price
		}
	}
	return 0
}

// count is how many nodes of a pool count for its budgets, and against them.
type count struct{ total, leaving int }

// counts counts nodes as budgets do: initialized ones, and of these the ones that leave or are not
// ready.
func (v *view) counts() map[string]count {
	out := map[string]count{}
	for i := range v.w.Claims {
		c := &v.w.Claims[i]
		n := v.w.Index.NodeBy(c.ProviderID)
		if n == nil || !c.Is(model.Initialized) || c.Is(model.InstanceTerminating) {
			continue
		}
		x := out[c.Pool]
		x.total++
		if c.Deleting() || n.Deleting() || n.HasTaint(model.TaintDisrupted) ||
			c.Annotations[model.AnnotationMove] != "" || n.Ready != model.True {
			x.leaving++
		}
		out[c.Pool] = x
	}
	return out
}

func (v *view) budgets(p *model.Pool, x count) {
	for _, reason := range []string{budget.Empty, budget.Drifted, budget.Underutilized} {
		most := float64(budget.Allowed(*p, reason, x.total, 0, v.now))
		v.tell("karpenter_nodepools_allowed_disruptions", most, p.Name, reason)
		v.tell("karpenter_nodepools_nodes_consuming_budgets", float64(x.leaving), p.Name, reason)
	}
}

// eligible counts the nodes that conditions of their claims offer for a reason.
func (v *view) eligible() {
	n := map[string]int{"empty": 0, "underutilized": 0, "drifted": 0}
	for i := range v.w.Claims {
		c := &v.w.Claims[i]
		if c.Deleting() || !c.Is(model.Initialized) {
			continue
		}
		switch {
		case c.Is(model.Drifted):
			n["drifted"]++
		case !c.Is(model.Consolidatable):
		case v.w.Index.On(c.NodeName).Tenants == 0:
			n["empty"]++
		default:
			n["underutilized"]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(n)) {
		v.tell("karpenter_voluntary_disruption_eligible_nodes", float64(n[reason]), reason)
	}
}

// prices tells prices of the types in use, in full those of all types. What several classes sell is
// told once: a price does not depend on the class.
func (v *view) prices() {
	used := map[string]bool{}
	for i := range v.w.Claims {
		used[v.w.Claims[i].Labels[model.LabelInstanceType]] = true
	}
	said := map[string]bool{}
	refs := slices.Collect(maps.Keys(v.w.Catalogs))
	slices.SortFunc(refs, func(a, b model.ClassRef) int {
		return cmp.Compare(a.String(), b.String())
	})
	for _, ref := range refs {
		types := v.w.Catalogs[ref].Types
		for i := range types {
			name := types[i].Name
			if said[name] || v.set.Profile() < Full && !used[name] {
				continue
			}
			said[name] = true
			v.sold(&types[i])
		}
	}
}

func (v *view) sold(t *model.InstanceType) {
	const p = "karpenter_cloudprovider_instance_type_"
	v.tell(p+"cpu_cores", amount(model.ResourceCPU, t.Capacity.CPU), t.Name)
	v.tell(p+"memory_bytes", float64(t.Capacity.Memory), t.Name)
	said := map[model.OfferingKey]bool{}
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if said[o.Key()] {
			continue
		}
		said[o.Key()] = true
		free := 0.0
		if o.Available {
			free = 1
		}
		v.tell(p+"offering_price_estimate", o.Price.Float(), t.Name, o.CapacityType, o.Zone)
		v.tell(p+"offering_available", free, t.Name, o.CapacityType, o.Zone)
	}
}
