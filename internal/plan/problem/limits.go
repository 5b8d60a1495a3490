package problem

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// meter fills limits, cost, left and tabs. What nodes and claims of the pool have counts until they are deleted: as in upstream's scheduler, which is
// given the nodes that are not marked for deletion only. What follows pods that are being drained could otherwise wait for room that is free
// when it runs itself, where a disruption budget lets nobody go before.
func (s *NodePool) meter(w *model.World) {
	s.Limits = slices.Sorted(maps.Keys(s.Pool.Limits))
	s.bounds()
	s.Left = make(vec.Vec, len(s.Limits))
	for i, n := range s.Limits {
		s.Left[i] = s.Pool.Limits[n] // of scarce offerings, see TakeStock
	}
	s.Cost = make([]vec.Vec, len(s.Offerings.Items))
	flat := make(vec.Vec, len(s.Offerings.Items)*len(s.Limits))
	for i, it := range s.Offerings.Items {
		s.Cost[i] = flat[i*len(s.Limits) : (i+1)*len(s.Limits) : (i+1)*len(s.Limits)]
		for j, n := range s.Limits {
			s.Cost[i][j] = amount(it.Type.Capacity, n)
		}
	}
	for at, i := range s.Bounded {
		s.Cost[i][at] = 1
	}
	if len(s.Pool.Limits) > 0 {
		s.count(w)
	}
}

// count takes from the limits what is there.
func (s *NodePool) count(w *model.World) {
	s.Tabs = map[string]vec.Vec{}
	counted := map[*model.Node]bool{}
	for i := range w.Claims {
		c := &w.Claims[i]
		if c.Pool != s.Pool.Name {
			continue
		}
		n := w.Index.NodeBy(c.ProviderID)
		if n != nil {
			counted[n] = true
		}
		if c.Deleting() || n != nil && n.Deleting() {
			continue
		}
		tab := s.charge(s.claimCapacity(c, n))
		if n != nil {
			s.Tabs[n.Name] = tab
		}
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Labels[model.LabelPool] == s.Pool.Name && !counted[n] && !n.Deleting() {
			s.Tabs[n.Name] = s.charge(n.Capacity)
		}
	}
}

func amount(r model.Resources, name string) int64 {
	if name == model.ResourceNodes {
		return 1
	}
	return r.Get(
		name,
	) // nothing of a scarce offering: who has one is no longer in the cloud's count
}

// charge takes a machine from the limits, and returns how much that was.
func (s *NodePool) charge(r model.Resources) vec.Vec {
	tab := make(vec.Vec, len(s.Limits))
	for i, n := range s.Limits {
		tab[i] = amount(r, n)
	}
	s.Left.Take(tab, 1)
	return tab
}

// claimCapacity is what a claim has, or, before anyone knows, the most that it may get. n is its node, nil before it joined.
func (s *NodePool) claimCapacity(c *model.Claim, n *model.Node) model.Resources {
	got := c.Capacity
	if n != nil {
		got = got.Max(n.Capacity)
	}
	if got.IsZero() {
		got = c.Requests
		ClaimItems(s.Offerings,
			*c).Each(func(i int) { got = got.Max(s.Offerings.Items[i].Type.Capacity) })
	}
	return got
}

// SupplyPrefix begins the names of limits that stand for offerings of which the cloud keeps only so many. To its pool such a bound
// is a limit like its own: a machine that may be bought as the offering takes one.
const SupplyPrefix = "supply "

// Source names an offering whatever pool is sold it.
type Source struct {
	Class model.ClassRef
	Key   model.OfferingKey
}

// Source names the offering at i.
func (s *NodePool) Source(i int) Source {
	return Source{s.Pool.Class, s.Offerings.Items[i].Offering.Key()}
}

// bounds adds the limits of scarce offerings to those of the pool.
func (s *NodePool) bounds() {
	s.Bounded = map[int]int{}
	s.Base.And(s.Offerings.Available).Each(func(i int) {
		if s.Offerings.Items[i].Offering.Supply != nil {
			s.Bounded[len(s.Limits)] = i
			s.Limits = append(s.Limits, SupplyPrefix+s.Offerings.Items[i].Offering.Key().String())
		}
	})
}

// IsSupply reports whether a limit stands for a scarce offering.
func IsSupply(limit string) bool { return strings.HasPrefix(limit, SupplyPrefix) }
