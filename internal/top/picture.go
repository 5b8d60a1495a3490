package top

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Picture is what a world holds, added up: O(nodes + claims + pools + pods without a node) to make.
type Picture struct {
	Now time.Time // the moment that the world is looked at

	world    model.World
	machines []machine // by name
	pools    []pool    // by name; last, if there are such, the machines without a pool
	pending  []*model.Pod
	total    sum
	running  int
}

// sum is what machines have together.
type sum struct {
	machines, unready, leaving int
	used, allocatable          model.Resources
	capacity                   model.Resources
	pods                       int
	price                      model.Price
	unpriced                   int // machines of which no price is known
}

// machine is a node, or a NodeClaim that has none yet.
type machine struct {
	node  *model.Node
	claim *model.Claim

	id, name, pool     string
	typ, zone, buying  string
	used, allocatable  model.Resources
	pods, tenants      int
	price              model.Price
	priced             bool
	created            time.Time
	state              state
	capacity           model.Resources
	unready, isLeaving bool
}

// pool is a NodePool and what it holds.
type pool struct {
	pool *model.Pool // nil for the machines without one
	name string
	sum
	state state
}

// noPool is what the machines are called together that no NodePool bought.
const noPool = "(no pool)"

// New adds a world up. It keeps the world.
func New(w model.World, now time.Time) *Picture {
	w = w.Indexed()
	p := &Picture{Now: now, world: w}
	shelf := shelves{}
	named := unnamed(w)
	seen := map[*model.Claim]bool{}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		c := w.Index.ClaimOf(n)
		if c == nil && n.ProviderID == "" {
			c = named[strings.ToLower(n.Name)]
			seen[c] = true
		}
		p.machines = append(p.machines, p.machine(n, c, shelf))
	}
	for i := range w.Claims {
		c := &w.Claims[i]
		if w.Index.NodeBy(c.ProviderID) == nil && !seen[c] {
			p.machines = append(p.machines, p.machine(nil, c, shelf))
		}
	}
	slices.SortStableFunc(p.machines, func(a, b machine) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	p.addUp()
	for pod := range w.Index.Unbound().All() {
		if !pod.Terminal && !pod.Virtual {
			p.pending = append(p.pending, pod)
		}
	}
	p.running = w.Index.Running()
	return p
}

// unnamed are the claims without a node, by what their machine is called: a node begins without its provider ID, which the cloud's
// node manager writes a moment later, and is called like its machine. Nothing when every node has one. O(nodes + claims).
func unnamed(w model.World) map[string]*model.Claim {
	if !slices.ContainsFunc(w.Nodes, func(n model.Node) bool { return n.ProviderID == "" }) {
		return nil
	}
	out := map[string]*model.Claim{}
	for i := range w.Claims {
		c := &w.Claims[i]
		name := c.ProviderID[strings.LastIndexByte(c.ProviderID, '/')+1:]
		if name != "" && w.Index.NodeBy(c.ProviderID) == nil {
			out[strings.ToLower(name)] = c
		}
	}
	return out
}

// addUp sums the machines, per pool and all.
func (p *Picture) addUp() {
	at := map[string]int{}
	for i := range p.world.Pools {
		x := &p.world.Pools[i]
		at[x.Name] = len(p.pools)
		p.pools = append(p.pools, pool{pool: x, name: x.Name, state: ofPool(p.world, x)})
	}
	var others []pool // named by machines, and not there
	for i := range p.machines {
		m := &p.machines[i]
		p.total.add(m)
		if k, ok := at[m.pool]; ok {
			p.pools[k].add(m)
			continue
		}
		name := cmp.Or(m.pool, noPool)
		k := slices.IndexFunc(others, func(o pool) bool { return o.name == name })
		if k < 0 {
			k = len(others)
			others = append(others, pool{name: name})
			if m.pool != "" {
				others[k].state = state{"gone", "!", bad}
			}
		}
		others[k].add(m)
	}
	p.pools = append(p.pools, others...)
}

func (s *sum) add(m *machine) {
	s.machines++
	if m.unready {
		s.unready++
	}
	if m.isLeaving {
		s.leaving++
	}
	s.used, s.allocatable = s.used.Add(m.used), s.allocatable.Add(m.allocatable)
	s.capacity = s.capacity.Add(m.capacity)
	s.pods += m.pods
	s.price += m.price
	if !m.priced {
		s.unpriced++
	}
}

// machine looks at a node, a claim, or both.
func (p *Picture) machine(n *model.Node, c *model.Claim, shelf shelves) machine {
	m := machine{node: n, claim: c}
	var labels map[string]string
	if c != nil {
		m.id, m.name, m.pool, labels = "claim/"+c.Name, c.Name, c.Pool, c.Labels
		m.allocatable, m.capacity, m.created = c.Allocatable, c.Capacity, c.Created
	}
	if n != nil {
		on := p.world.Index.On(n.Name)
		m.name, m.pool, labels = n.Name, cmp.Or(m.pool, n.Labels[model.LabelPool]), n.Labels
		m.allocatable, m.capacity = n.Allocatable, n.Capacity
		m.used, m.pods, m.tenants = on.Used, len(on.Pods), on.Tenants
		if m.created.IsZero() {
			m.created = n.Created
		}
		m.id = cmp.Or(m.id, "node/"+n.Name)
	}
	m.typ, m.zone = labels[model.LabelInstanceType], labels[model.LabelZone]
	m.buying = labels[model.LabelCapacityType]
	m.price, m.priced = shelf.price(p.world, &m, labels)
	m.state = ofMachine(&m)
	return m
}

// labelAKSPriority says of nodes of AKS' agent pools how they were bought.
const labelAKSPriority = "kubernetes.azure.com/scalesetpriority"

// shelves are the types of a catalogue by name; they are looked up once per catalogue.
type shelves map[shelf]map[string]*model.InstanceType

type shelf struct {
	pool  string
	class model.ClassRef
}

// of returns the types that a pool may buy.
func (s shelves) of(w model.World, at shelf) map[string]*model.InstanceType {
	types, known := s[at]
	if !known {
		types = map[string]*model.InstanceType{}
		list := w.Catalog(at.pool, at.class).Types
		for i := range list {
			types[list[i].Name] = &list[i]
		}
		s[at] = types
	}
	return types
}

// price is what a machine costs by the catalogue of its pool. One that no pool bought is priced by any catalogue that has its
// type, on demand unless it says otherwise. ok is false when nobody knows.
func (s shelves) price(w model.World, m *machine, labels map[string]string) (model.Price, bool) {
	key := model.OfferingKey{Type: m.typ, Zone: m.zone, CapacityType: m.buying}
	for i := range w.Pools {
		p := &w.Pools[i]
		if m.pool != "" && p.Name != m.pool {
			continue
		}
		t := s.of(w, shelf{p.Name, p.Class})[m.typ]
		if t == nil {
			continue
		}
		if m.pool == "" && key.CapacityType == "" {
			key.CapacityType = model.OnDemand
			if labels[labelAKSPriority] == "spot" {
				key.CapacityType = model.Spot
			}
		}
		var elsewhere *model.Offering
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if o.Key() == key {
				return o.Price, true
			}
			if o.CapacityType == key.CapacityType && elsewhere == nil {
				elsewhere = o
			}
		}
		if m.pool == "" && elsewhere != nil { // a region has one price for a size
			return elsewhere.Price, true
		}
	}
	return 0, false
}
