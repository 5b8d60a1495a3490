package problem

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// ExistingNode is capacity that is paid for: a node, or a claim that has no node yet.
type ExistingNode struct {
	*Body
	Free vec.Vec
	Spot int32 // in topology
	// Volumes are how many pods use each that is attached to the node, by ID.
	Volumes map[string]int
}

// Body is what an existing node is, whatever runs on it. It is only read.
type Body struct {
	Node, Claim string
	Rank        int // 0 initialized node, 1 node on its way, 2 claim
	Taints      []model.Taint
	// Labels of a node; for a claim, own and items say what may come.
	Labels    map[string]string
	Own       require.Set
	Offerings *offerings.Index
	Items     bitset.Set
	Planned   []model.PodKey
	Aboard    bitset.Set // daemons that run or may run there, by position in the daemons
}

// newExisting lists capacity that waiting pods may use: ready nodes first, then nodes on their way, then claims; each by name. The world has an index.
func newExisting(w model.World, crew daemons, d dims) []*ExistingNode {
	volumes, drivers := attached(w, d)
	ground := GroundOf(&w, crew)
	out := make([]*ExistingNode, 0, len(ground.order))
	flat, free := make([]ExistingNode, len(ground.order)), ground.free(&w, d)
	for at, i := range ground.order {
		s := &flat[at]
		s.Body, s.Spot, s.Free = ground.Slots[i].Body, i, free[int(i)*len(d):][:len(d):len(d)]
		if len(drivers) > 0 {
			s.Volumes = volumes[s.Node]
			d.detach(s.Free, s.Volumes, drivers)
		}
		out = append(out, s)
	}
	claims := len(out)
	shelves := offerings.NewIndexes(w)
	for i := range w.Claims {
		c := &w.Claims[i]
		if c.Deleting() || ground.joined[c.Name] || c.NodeName != "" {
			continue
		}
		if s := claimSlot(*c, shelves.Of(c.Pool, c.Class), crew, d); s != nil {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out[claims:], func(a, b *ExistingNode) int {
		return strings.Compare(a.Claim, b.Claim)
	})
	return out
}

// Ground is what nodes are, whatever runs on them. It is only read.
type Ground struct {
	Slots  []*measured // per node; nil where no pods may go
	Marks  []marks     // per node
	At     map[string]int32
	joined map[string]bool // claims that have a node, by name
	order  []int32         // the nodes that have a slot, initialized ones first, then by name
}

// marks are what a node shows to who looks for one.
type marks struct {
	Labels map[string]string
	Taints []model.Taint
}

// GroundOf works it out once for the same nodes, claims and daemons.
func GroundOf(w *model.World, crew daemons) *Ground {
	type key struct {
		first *model.Daemon
		n     int
	}
	k := key{n: len(w.Daemons)}
	if k.n > 0 {
		k.first = &w.Daemons[0]
	}
	return w.Index.Memo(k, func() any {
		g := &Ground{Slots: make([]*measured, len(w.Nodes)), Marks: make([]marks, len(w.Nodes)),
			At: make(map[string]int32, len(w.Nodes)), joined: map[string]bool{}}
		leaving := alike.Leavers(w)
		for i := range w.Nodes {
			n := &w.Nodes[i]
			c := w.Index.ClaimOf(n)
			if c != nil {
				g.joined[c.Name] = true
			}
			g.At[n.Name] = int32(i)
			g.Slots[i] = nodeSlot(*n, c, crew)
			taints := n.Taints
			if n.Cordoned {
				// Kubernetes' own taint of cordoned nodes; a spread that honours taints does not count them.
				taints = append(slices.Clip(taints), model.Taint{
					Key:    "node.kubernetes.io/unschedulable",
					Effect: model.NoSchedule,
				})
			}
			if leaving[n.Name] && n.Managed() {
				// The first thing that happens to a node of ours that leaves.
				taints = append(slices.Clip(taints), model.Taint{
					Key:    model.TaintDisrupted,
					Effect: model.NoSchedule,
				})
			}
			g.Marks[i] = marks{require.Normalise(n.Labels), taints}
			if g.Slots[i] != nil {
				g.order = append(g.order, int32(i))
			}
		}
		slices.SortStableFunc(g.order, func(a, b int32) int {
			m, n := g.Slots[a], g.Slots[b]
			return cmp.Or(cmp.Compare(m.Rank, n.Rank), strings.Compare(m.Node, n.Node))
		})
		return g
	}).(*Ground)
}

// attached lists, per node, the volumes that its pods use, and the drivers of all volumes. nil when no pod to place has any.
func attached(w model.World, d dims) (on map[string]map[string]int, drivers map[string]string) {
	if !slices.ContainsFunc(d, func(n string) bool { return strings.HasPrefix(n, AttachPrefix) }) {
		return nil, nil
	}
	on, drivers = map[string]map[string]int{}, map[string]string{}
	for i := range w.Nodes {
		node := w.Nodes[i].Name
		for _, p := range w.Index.On(node).Pods {
			if p.Terminal {
				continue
			}
			for _, v := range p.Volumes {
				if on[node] == nil {
					on[node] = map[string]int{}
				}
				on[node][v.ID]++
				drivers[v.ID] = v.Driver
			}
		}
	}
	return on, drivers
}

// detach takes volumes out of a machine's room for them.
func (d dims) detach(free vec.Vec, volumes map[string]int, drivers map[string]string) {
	for id := range volumes {
		if i := slices.Index(d, AttachPrefix+drivers[id]); i >= 0 {
			free[i]--
		}
	}
}

// floor turns negative columns into zero.
func floor(r model.Resources) model.Resources {
	return model.Resources{}.Max(r)
}

type measured struct {
	*Body
	alloc, overhead model.Resources
}

// nodeSlot returns the node as an existing node, or nil when it is on its way out or not fit for use.
func nodeSlot(n model.Node, c *model.Claim, crew daemons) *measured {
	if n.Deleting() || n.Cordoned || n.HasTaint(model.TaintDisrupted) || c != nil && c.Deleting() {
		return nil
	}
	m := &measured{Body: &Body{Node: n.Name}, alloc: n.Allocatable}
	labels, taints := n.Labels, n.Taints
	young := n.Managed() && n.Labels[model.LabelInitialized] != "true" && c != nil &&
		!c.Is(model.Initialized)
	if young {
		m.Rank = 1
		labels = Merged(c.Labels, n.Labels)
		taints = append(slices.Clone(taints), missing(c.Taints, taints)...)
		taints = slices.DeleteFunc(taints, func(t model.Taint) bool {
			return passing(t, c.StartupTaints)
		})
		if !c.Allocatable.IsZero() {
			m.alloc = c.Allocatable
		}
	} else if n.Ready != model.True {
		return nil
	}
	m.Labels, m.Taints = require.Normalise(labels), taints
	if c != nil {
		m.Planned = planned.Pods(*c)
	}
	m.Aboard = bitset.New(len(crew))
	for i := range crew {
		if crew[i].on(m.Labels, taints, young) {
			m.Aboard.Add(i)
			m.overhead = m.overhead.Add(crew[i].Pod.Requests)
		}
	}
	return m
}

// Merged is both maps in one; over wins.
func Merged(under, over map[string]string) map[string]string {
	out := make(map[string]string, len(under)+len(over))
	for _, m := range []map[string]string{under, over} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// missing returns the taints of want that have lacks: registration has yet to put them on the node.
func missing(want, have []model.Taint) []model.Taint {
	return slices.DeleteFunc(slices.Clone(want), func(t model.Taint) bool {
		return slices.Contains(have, t)
	})
}

// AnyAllows reports whether the labels suit one of the sets at least.
func AnyAllows(ts []require.Set, labels map[string]string) bool {
	return slices.ContainsFunc(ts,
		func(t require.Set) bool { _, ok := t.Allows(labels); return ok })
}

// passing reports whether a taint on a node of ours that is not initialized yet will go away by itself. Names: the
// Kubernetes node lifecycle's taints, the cloud provider's, the node readiness controller's prefix, and Karpenter's own.
func passing(t model.Taint, startup []model.Taint) bool {
	switch t.Key {
	case "node.kubernetes.io/not-ready":
		return true
	case "node.kubernetes.io/unreachable", "node.cloudprovider.kubernetes.io/uninitialized":
		return t.Effect == model.NoSchedule
	case model.TaintUnregistered:
		return t.Effect == model.NoExecute
	}
	return strings.HasPrefix(t.Key, "readiness.k8s.io/") ||
		slices.ContainsFunc(startup, func(s model.Taint) bool {
			return s.Key == t.Key && s.Effect == t.Effect
		})
}

// ClaimItems returns the offerings that a claim may become: its requirements and known labels hold, its requests fit.
// Whether they are available now does not matter: the machine may be bought already.
func ClaimItems(sh *offerings.Index, c model.Claim) bitset.Set {
	ok := sh.Filter(sh.All, require.New(c.Requirements).And(require.Labels(c.Labels)))
	return ok.Where(func(i int) bool { return c.Requests.FitsIn(sh.Items[i].Type.Allocatable) })
}

// claimSlot returns a claim in flight as an existing node, with the room that it has whatever it becomes; nil when nobody knows.
func claimSlot(c model.Claim, sh *offerings.Index, crew daemons, d dims) *ExistingNode {
	s := &ExistingNode{
		Body: &Body{
			Claim:     c.Name,
			Rank:      2,
			Taints:    c.Taints,
			Offerings: sh,
			Items:     ClaimItems(sh, c),
			Planned:   planned.Pods(c),
		},
	}
	s.Own = require.New(c.Requirements).And(require.Labels(c.Labels))
	s.Aboard = bitset.New(len(crew))
	if s.Items.First() < 0 {
		if c.Allocatable.IsZero() {
			return nil
		}
		s.Free = d.machine(c.Allocatable, nil)
		return s
	}
	var runs []bitset.Set
	tmp := &NodePool{Offerings: sh, Own: s.Own}
	for k := range crew {
		runs = append(runs, crew[k].among(tmp, s.Items, c.Taints))
		if runs[k].First() >= 0 {
			s.Aboard.Add(k)
		}
	}
	s.Items.Each(func(i int) {
		room := sh.Items[i].Type.Allocatable
		if !c.Allocatable.IsZero() {
			room = c.Allocatable
		}
		for k, on := range runs {
			if on.Has(i) {
				room = room.Sub(crew[k].Pod.Requests)
			}
		}
		v := d.machine(room, sh.Items[i].Type.AttachLimits)
		if s.Free == nil {
			s.Free = v
			return
		}
		for j := range v {
			s.Free[j] = min(s.Free[j], v[j])
		}
	})
	return s
}

// Takes reports whether pods of the constraint may run on the existing node, size aside.
func (s *ExistingNode) Takes(g *NodeConstraint) bool {
	if !g.Tolerates(s.Taints) {
		return false
	}
	if s.Labels != nil {
		return AnyAllows(g.Terms, s.Labels)
	}
	return slices.ContainsFunc(g.Terms, s.Sure)
}

// Sure reports whether a claim's node will satisfy t whatever the claim becomes.
func (s *ExistingNode) Sure(t require.Set) bool {
	for _, k := range t.Keys() {
		want, _ := t.Get(k)
		have, defined := s.Own.Get(k)
		if s.Offerings.Machine(k) && !s.Offerings.Either[k] {
			if !s.Items.Within(s.Offerings.Match(k, want)) || s.Items.First() < 0 && !defined {
				return false
			}
			if s.Items.First() >= 0 {
				continue
			}
		}
		if k == model.LabelHostname {
			if _, listed := want.Listed(); listed {
				return false
			}
			continue
		}
		if !defined && !want.AllowsAbsent() || defined && !have.And(want).Equal(have) {
			return false
		}
	}
	return true
}

// Could reports whether a claim's node may satisfy t.
func (s *ExistingNode) Could(t require.Set) bool {
	items := s.Items
	for _, k := range t.Keys() {
		want, _ := t.Get(k)
		have, defined := s.Own.Get(k)
		_, listed := want.Listed()
		switch {
		case k == model.LabelHostname:
			if listed {
				return false // names that are known belong to others
			}
		case s.Offerings.Machine(k) && s.Items.First() >= 0:
			items = items.And(s.Offerings.Match(k, want))
		case defined && !have.Meets(want), !defined && !want.AllowsAbsent():
			return false
		}
	}
	return s.Items.First() < 0 || items.First() >= 0
}

// Certain returns the labels under keys that a claim's node will have whatever the claim becomes, and the values of those that are
// still open.
func (s *ExistingNode) Certain(keys []string) (labels map[string]string, may map[string][]string) {
	labels, may = map[string]string{}, map[string][]string{}
	for _, k := range keys {
		v, defined := s.Own.Get(k)
		if list, listed := v.Listed(); defined && listed && len(list) == 1 && !v.AllowsAbsent() {
			labels[k] = list[0]
			continue
		}
		c := s.Offerings.Keys[k]
		if c == nil || s.Items.First() < 0 {
			continue
		}
		for i, value := range c.Values {
			switch {
			case s.Items.Within(c.Sets[i]) && !s.Offerings.Either[k]:
				labels[k] = value
			case s.Items.Meets(c.Sets[i]):
				may[k] = append(may[k], value)
			}
		}
	}
	return labels, may
}
