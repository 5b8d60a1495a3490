package place

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// meter fills limits, cost, left and tabs. What nodes and claims of the pool have counts until they are gone.
func (s *nodePool) meter(w *model.World) {
	s.limits = slices.Sorted(maps.Keys(s.pool.Limits))
	s.bounds()
	s.left = make(vec.Vec, len(s.limits))
	for i, n := range s.limits {
		s.left[i] = s.pool.Limits[n] // of scarce offerings, see takeStock
	}
	s.cost = make([]vec.Vec, len(s.offerings.items))
	flat := make(vec.Vec, len(s.offerings.items)*len(s.limits))
	for i, it := range s.offerings.items {
		s.cost[i] = flat[i*len(s.limits) : (i+1)*len(s.limits) : (i+1)*len(s.limits)]
		for j, n := range s.limits {
			s.cost[i][j] = amount(it.t.Capacity, n)
		}
	}
	for at, i := range s.bounded {
		s.cost[i][at] = 1
	}
	if len(s.pool.Limits) > 0 {
		s.count(w)
	}
}

// count takes from the limits what is there.
func (s *nodePool) count(w *model.World) {
	s.tabs = map[string]vec.Vec{}
	counted := map[*model.Node]bool{}
	for i := range w.Claims {
		c := &w.Claims[i]
		if c.Pool != s.pool.Name {
			continue
		}
		n := w.Index.NodeBy(c.ProviderID)
		tab := s.charge(s.claimCapacity(c, n))
		if n != nil {
			counted[n] = true
			s.tabs[n.Name] = tab
		}
	}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Labels[model.LabelPool] == s.pool.Name && !counted[n] {
			s.tabs[n.Name] = s.charge(n.Capacity)
		}
	}
}

func amount(r model.Resources, name string) int64 {
	if name == model.ResourceNodes {
		return 1
	}
	return r.Get(name) // nothing of a scarce offering: who has one is no longer in the cloud's count
}

// charge takes a machine from the limits, and returns how much that was.
func (s *nodePool) charge(r model.Resources) vec.Vec {
	tab := make(vec.Vec, len(s.limits))
	for i, n := range s.limits {
		tab[i] = amount(r, n)
	}
	s.left.Take(tab, 1)
	return tab
}

// claimCapacity is what a claim has, or, before anyone knows, the most that it may get. n is its node, nil before it joined.
func (s *nodePool) claimCapacity(c *model.Claim, n *model.Node) model.Resources {
	got := c.Capacity
	if n != nil {
		got = got.Max(n.Capacity)
	}
	if got.IsZero() {
		got = c.Requests
		claimItems(s.offerings, *c).Each(func(i int) { got = got.Max(s.offerings.items[i].t.Capacity) })
	}
	return got
}

// supplyPrefix begins the names of limits that stand for offerings of which the cloud keeps only so many. To its pool such a bound
// is a limit like its own: a machine that may be bought as the offering takes one.
const supplyPrefix = "supply "

// source names an offering whatever pool is sold it.
type source struct {
	class model.ClassRef
	key   model.OfferingKey
}

func (s *nodePool) source(i int) source { return source{s.pool.Class, s.offerings.items[i].o.Key()} }

// bounds adds the limits of scarce offerings to those of the pool.
func (s *nodePool) bounds() {
	s.bounded = map[int]int{}
	s.base.And(s.offerings.available).Each(func(i int) {
		if s.offerings.items[i].o.Supply != nil {
			s.bounded[len(s.limits)] = i
			s.limits = append(s.limits, supplyPrefix+s.offerings.items[i].o.Key().String())
		}
	})
}

// isSupply reports whether a limit stands for a scarce offering.
func isSupply(limit string) bool { return strings.HasPrefix(limit, supplyPrefix) }
