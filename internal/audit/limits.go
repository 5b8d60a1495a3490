package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// limits adds up everything that each pool has, on its way, and would buy at most.
func (a *audit) limits() {
	for _, pool := range a.w.Pools {
		for _, name := range slices.Sorted(maps.Keys(pool.Limits)) {
			limit := pool.Limits[name]
			bought := int64(0)
			for _, f := range a.bought {
				if f.claim.Pool != pool.Name {
					continue
				}
				most := int64(0)
				for _, o := range f.claim.Options {
					x, _ := a.offering(pool.Name, f.claim.Class, o.Key)
					most = max(most, of(x.t.Capacity, name))
				}
				bought += most * f.times
			}
			if bought == 0 {
				continue
			}
			if total := a.inUse(pool.Name, name); total+bought > limit {
				a.bad(Limits, "pool %s: %s would be %d, the limit is %d", pool.Name, name, total+bought, limit)
			}
		}
	}
}

// supplies adds up, for each offering of which the cloud keeps only so many, the machines that may be bought as it: purchases of the
// plan, and claims that are not launched yet.
func (a *audit) supplies() {
	for _, ref := range slices.SortedFunc(maps.Keys(a.w.Catalogs), func(x, y model.ClassRef) int { return strings.Compare(x.String(), y.String()) }) {
		types := a.w.Catalogs[ref].Types
		for i := range types {
			t := &types[i]
			for j := range t.Offerings {
				if o := &t.Offerings[j]; o.Supply != nil {
					a.supply(ref, t, o)
				}
			}
		}
	}
}

// supply does so for one of them.
func (a *audit) supply(ref model.ClassRef, t *model.InstanceType, o *model.Offering) {
	key, n := o.Key(), int64(0)
	for _, f := range a.bought {
		if f.claim.Class == ref && slices.ContainsFunc(f.claim.Options, func(x place.Option) bool { return x.Key == key }) {
			n += f.times
		}
	}
	if n == 0 {
		return
	}
	for i := range a.w.Claims {
		if c := &a.w.Claims[i]; c.Class == ref && c.ProviderID == "" && c.Requests.FitsIn(t.Allocatable) && a.mayBecome(claimAsks(c), ref, offer{*t, *o}) {
			n++
		}
	}
	if n > *o.Supply {
		a.bad(Supply, "%s: promised to %d machines, the cloud keeps %d", key, n, *o.Supply)
	}
}

func of(r model.Resources, name string) int64 {
	if name == model.ResourceNodes {
		return 1
	}
	return r.Get(name)
}

// inUse is what the pool's nodes and claims have of one resource; a claim of unknown size counts as the largest machine
// that it could become.
func (a *audit) inUse(pool, name string) int64 {
	total := int64(0)
	for i := range a.w.Nodes {
		n := &a.w.Nodes[i]
		c := a.w.Index.ClaimOf(n)
		if n.Labels[model.LabelPool] != pool || n.Deleting() || c != nil && c.Deleting() {
			continue
		}
		have := of(n.Capacity, name)
		if c != nil {
			have = max(have, of(c.Capacity, name))
		}
		total += have
	}
	for i := range a.w.Claims {
		c := &a.w.Claims[i]
		if c.Pool != pool || c.Deleting() || a.w.Index.NodeBy(c.ProviderID) != nil {
			continue
		}
		have := of(c.Capacity, name)
		if c.Capacity.IsZero() {
			for _, f := range a.claimFaces(c) {
				have = max(have, of(f.typ.Capacity, name))
			}
		}
		total += have
	}
	return total
}

// weights checks that no purchase was made from a pool although each of its pods could have had a machine of its own from
// a heavier one. Only clear cases count: heavier pools with limits, minValues or taints that merely discourage, pods with wishes, with
// neighbours to think of or who are thought of by others, and plans cut short are not judged.
func (a *audit) weights(p place.Plan, bought [][]*subject) {
	if p.BudgetExceeded {
		return
	}
	for i := range p.NewClaims {
		b := &p.NewClaims[i]
		pool := a.pool(b.Pool)
		if pool == nil || len(bought[i]) < len(b.Pods) {
			continue
		}
		for j := range a.w.Pools {
			heavy := &a.w.Pools[j]
			if heavy.Weight > pool.Weight && a.plainPool(heavy) && !slices.ContainsFunc(bought[i], func(s *subject) bool { return !a.couldBuy(heavy, s) }) {
				a.bad(Weights, "purchase %d for pool %s: pool %s is heavier and sells machines for each of its pods", i, b.Pool, heavy.Name)
			}
		}
	}
}

func (a *audit) plainPool(p *model.Pool) bool {
	class, ok := find(a.w.Classes, func(c model.Class) bool { return c.Ref == p.Class })
	return ok && class.Ready() && open(*p) && len(p.Limits) == 0 &&
		!slices.ContainsFunc(p.Requirements, func(r model.Requirement) bool { return r.MinValues > 0 }) &&
		!slices.ContainsFunc(p.Taints, func(t model.Taint) bool { return t.Effect == model.PreferNoSchedule })
}

// couldBuy reports whether the pool has something on sale that holds the pod by itself, as plain as pool and pod may be.
func (a *audit) couldBuy(pool *model.Pool, p *subject) bool {
	if a.ties != nil && len(a.ties.picking(p.Pod)) > 0 || len(p.Prefers)+len(p.PodAffinity)+len(p.PodAntiAffinity)+len(p.Spread)+len(p.HostPorts)+len(p.Volumes) > 0 ||
		len(untolerated(pool.Taints, p.Pod)) > 0 {
		return false
	}
	r := p.Requests
	key := alone{pool: pool.Name, kind: p.kind, cpu: r.CPU, memory: r.Memory, disk: r.Ephemeral, pods: r.Pods}
	if len(r.Extended) > 0 || len(p.Tolerations) > 0 {
		key.rest = fmt.Sprint(r.Extended, p.Tolerations)
	}
	ok, known := a.sells[key]
	if !known {
		ok = a.sellsFor(pool, p)
		a.sells[key] = ok
	}
	return ok
}

// alone tells apart what couldBuy is asked.
type alone struct {
	pool, rest              string
	kind                    *kind
	cpu, memory, disk, pods int64
}

func (a *audit) sellsFor(pool *model.Pool, p *subject) bool {
	asks := "alone " + requirementText(pool.Requirements)
	for _, t := range a.w.Catalog(pool.Name, pool.Class).Types {
		if !p.Requests.FitsIn(t.Allocatable) {
			continue
		}
		for _, o := range t.Offerings {
			if !o.Available || o.Supply != nil {
				continue
			}
			f := a.face(pool, pool.Requirements, asks, offer{t, o})
			broken := slices.ContainsFunc(pool.Requirements, func(r model.Requirement) bool { return !f.holds(r) })
			if !broken && f.accepts(p) && p.Requests.Add(f.daemons).FitsIn(t.Allocatable) {
				return true
			}
		}
	}
	return false
}
