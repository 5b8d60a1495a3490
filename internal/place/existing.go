package place

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// AnnotationPods on a claim lists the pods it was bought for, as "namespace/name" separated by commas. As long as
// they wait, they are expected there, so that every look at the same picture plans the same and nothing is bought twice.
const AnnotationPods = "karpenter.azure.com/planned-pods"

// maxAnnotation bounds AnnotationPods in bytes; pods beyond it are placed by size like any other.
const maxAnnotation = 32 << 10

// existingNode is capacity that is paid for: a node, or a claim that has no node yet.
type existingNode struct {
	*body
	free vec.Vec
	spot int32 // in topology
	// volumes are how many pods use each that is attached to the node, by ID.
	volumes map[string]int
}

// body is what an existing node is, whatever runs on it. It is only read.
type body struct {
	node, claim string
	rank        int // 0 initialized node, 1 node on its way, 2 claim
	taints      []model.Taint
	// labels of a node; for a claim, own and items say what may come.
	labels    map[string]string
	own       require.Set
	offerings *offeringIndex
	items     bitset.Set
	planned   []model.PodKey
	aboard    bitset.Set // daemons that run or may run there, by position in the daemons
}

// newExisting lists capacity that waiting pods may use: ready nodes first, then nodes on their way, then claims; each by name. The world has an index.
func newExisting(w model.World, crew daemons, d dims) []*existingNode {
	volumes, drivers := attached(w, d)
	ground := groundOf(&w, crew)
	out := make([]*existingNode, 0, len(ground.order))
	flat, free := make([]existingNode, len(ground.order)), ground.free(&w, d)
	for at, i := range ground.order {
		s := &flat[at]
		s.body, s.spot, s.free = ground.slots[i].body, i, free[int(i)*len(d):][:len(d):len(d)]
		if len(drivers) > 0 {
			s.volumes = volumes[s.node]
			d.detach(s.free, s.volumes, drivers)
		}
		out = append(out, s)
	}
	claims := len(out)
	shelves := newShelves(w)
	for i := range w.Claims {
		c := &w.Claims[i]
		if c.Deleting() || ground.joined[c.Name] || c.NodeName != "" {
			continue
		}
		if s := claimSlot(*c, shelves.of(c.Pool, c.Class), crew, d); s != nil {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out[claims:], func(a, b *existingNode) int { return strings.Compare(a.claim, b.claim) })
	return out
}

// ground is what nodes are, whatever runs on them. It is only read.
type ground struct {
	slots  []*measured // per node; nil where no pods may go
	marks  []marks     // per node
	at     map[string]int32
	joined map[string]bool // claims that have a node, by name
	order  []int32         // the nodes that have a slot, initialized ones first, then by name
}

// marks are what a node shows to who looks for one.
type marks struct {
	labels map[string]string
	taints []model.Taint
}

// groundOf works it out once for the same nodes, claims and daemons.
func groundOf(w *model.World, crew daemons) *ground {
	type key struct {
		first *model.Daemon
		n     int
	}
	k := key{n: len(w.Daemons)}
	if k.n > 0 {
		k.first = &w.Daemons[0]
	}
	return w.Index.Memo(k, func() any {
		g := &ground{slots: make([]*measured, len(w.Nodes)), marks: make([]marks, len(w.Nodes)), at: make(map[string]int32, len(w.Nodes)),
			joined: map[string]bool{}}
		leaving := leavers(w)
		for i := range w.Nodes {
			n := &w.Nodes[i]
			c := w.Index.ClaimOf(n)
			if c != nil {
				g.joined[c.Name] = true
			}
			g.at[n.Name] = int32(i)
			g.slots[i] = nodeSlot(*n, c, crew)
			taints := n.Taints
			if n.Cordoned {
				// Kubernetes' own taint of cordoned nodes; a spread that honours taints does not count them.
				taints = append(slices.Clip(taints), model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule})
			}
			if leaving[n.Name] && n.Managed() {
				// The first thing that happens to a node of ours that leaves.
				taints = append(slices.Clip(taints), model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
			}
			g.marks[i] = marks{require.Normalise(n.Labels), taints}
			if g.slots[i] != nil {
				g.order = append(g.order, int32(i))
			}
		}
		slices.SortStableFunc(g.order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(g.slots[a].rank, g.slots[b].rank), strings.Compare(g.slots[a].node, g.slots[b].node))
		})
		return g
	}).(*ground)
}

// attached lists, per node, the volumes that its pods use, and the drivers of all volumes. nil when no pod to place has any.
func attached(w model.World, d dims) (on map[string]map[string]int, drivers map[string]string) {
	if !slices.ContainsFunc(d, func(n string) bool { return strings.HasPrefix(n, attachPrefix) }) {
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
		if i := slices.Index(d, attachPrefix+drivers[id]); i >= 0 {
			free[i]--
		}
	}
}

// floor turns negative columns into zero.
func floor(r model.Resources) model.Resources {
	return model.Resources{}.Max(r)
}

type measured struct {
	*body
	alloc, overhead model.Resources
}

// nodeSlot returns the node as an existing node, or nil when it is on its way out or not fit for use.
func nodeSlot(n model.Node, c *model.Claim, crew daemons) *measured {
	if n.Deleting() || n.Cordoned || n.HasTaint(model.TaintDisrupted) || c != nil && c.Deleting() {
		return nil
	}
	m := &measured{body: &body{node: n.Name}, alloc: n.Allocatable}
	labels, taints := n.Labels, n.Taints
	young := n.Managed() && n.Labels[model.LabelInitialized] != "true" && c != nil && !c.Is(model.Initialized)
	if young {
		m.rank = 1
		labels = merged(c.Labels, n.Labels)
		taints = slices.DeleteFunc(append(slices.Clone(taints), missing(c.Taints, taints)...), func(t model.Taint) bool { return passing(t, c.StartupTaints) })
		if !c.Allocatable.IsZero() {
			m.alloc = c.Allocatable
		}
	} else if n.Ready != model.True {
		return nil
	}
	m.labels, m.taints = require.Normalise(labels), taints
	if c != nil {
		m.planned = PlannedPods(*c)
	}
	m.aboard = bitset.New(len(crew))
	for i := range crew {
		if crew[i].on(m.labels, taints, young) {
			m.aboard.Add(i)
			m.overhead = m.overhead.Add(crew[i].pod.Requests)
		}
	}
	return m
}

func merged(under, over map[string]string) map[string]string {
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
	var out []model.Taint
	for _, t := range want {
		if !slices.Contains(have, t) {
			out = append(out, t)
		}
	}
	return out
}

func anyAllows(ts []require.Set, labels map[string]string) bool {
	return slices.ContainsFunc(ts, func(t require.Set) bool { _, ok := t.Allows(labels); return ok })
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
		slices.ContainsFunc(startup, func(s model.Taint) bool { return s.Key == t.Key && s.Effect == t.Effect })
}

// claimItems returns the offerings that a claim may become: its requirements and known labels hold, its requests fit.
// Whether they are available now does not matter: the machine may be bought already.
func claimItems(sh *offeringIndex, c model.Claim) bitset.Set {
	ok := sh.filter(sh.all, require.New(c.Requirements).And(require.Labels(c.Labels)))
	out := bitset.New(len(sh.items))
	ok.Each(func(i int) {
		if c.Requests.FitsIn(sh.items[i].t.Allocatable) {
			out.Add(i)
		}
	})
	return out
}

// claimSlot returns a claim in flight as an existing node, with the room that it has whatever it becomes; nil when nobody knows.
func claimSlot(c model.Claim, sh *offeringIndex, crew daemons, d dims) *existingNode {
	s := &existingNode{body: &body{claim: c.Name, rank: 2, taints: c.Taints, offerings: sh, items: claimItems(sh, c), planned: PlannedPods(c)}}
	s.own = require.New(c.Requirements).And(require.Labels(c.Labels))
	s.aboard = bitset.New(len(crew))
	if s.items.First() < 0 {
		if c.Allocatable.IsZero() {
			return nil
		}
		s.free = d.machine(c.Allocatable, nil)
		return s
	}
	var runs []bitset.Set
	tmp := &nodePool{offerings: sh, own: s.own}
	for k := range crew {
		runs = append(runs, crew[k].among(tmp, s.items, c.Taints))
		if runs[k].First() >= 0 {
			s.aboard.Add(k)
		}
	}
	s.items.Each(func(i int) {
		room := sh.items[i].t.Allocatable
		if !c.Allocatable.IsZero() {
			room = c.Allocatable
		}
		for k, on := range runs {
			if on.Has(i) {
				room = room.Sub(crew[k].pod.Requests)
			}
		}
		v := d.machine(room, sh.items[i].t.AttachLimits)
		if s.free == nil {
			s.free = v
			return
		}
		for j := range v {
			s.free[j] = min(s.free[j], v[j])
		}
	})
	return s
}

// PlannedPods reads AnnotationPods: the pods that the claim was bought for, in the order of the plan. What is no namespace/name is skipped.
func PlannedPods(c model.Claim) []model.PodKey {
	var out []model.PodKey
	for s := range strings.SplitSeq(c.Annotations[AnnotationPods], ",") {
		if ns, name, ok := strings.Cut(s, "/"); ok {
			out = append(out, model.PodKey{Namespace: ns, Name: name})
		}
	}
	return out
}

// Planned is the set of pods that claims were made for, of those claims that of accepts. What others nominate is not in it.
func Planned(w *model.World, of func(*model.Claim) bool) map[model.PodKey]bool {
	out := map[model.PodKey]bool{}
	for i := range w.Claims {
		if c := &w.Claims[i]; of(c) {
			for _, key := range PlannedPods(*c) {
				out[key] = true
			}
		}
	}
	return out
}

// Staying reports whether nobody deletes the claim.
func Staying(c *model.Claim) bool { return !c.Deleting() }

// takes reports whether pods of the form may run on the existing node, size aside.
func (s *existingNode) takes(g *nodeConstraint) bool {
	if !g.tolerates(s.taints) {
		return false
	}
	if s.labels != nil {
		return anyAllows(g.terms, s.labels)
	}
	return slices.ContainsFunc(g.terms, s.sure)
}

// sure reports whether a claim's node will satisfy t whatever the claim becomes.
func (s *existingNode) sure(t require.Set) bool {
	for _, k := range t.Keys() {
		want, _ := t.Get(k)
		have, defined := s.own.Get(k)
		if s.offerings.machine(k) && !s.offerings.either[k] {
			if !s.items.Within(s.offerings.match(k, want)) || s.items.First() < 0 && !defined {
				return false
			}
			if s.items.First() >= 0 {
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

// could reports whether a claim's node may satisfy t.
func (s *existingNode) could(t require.Set) bool {
	items := s.items
	for _, k := range t.Keys() {
		want, _ := t.Get(k)
		have, defined := s.own.Get(k)
		_, listed := want.Listed()
		switch {
		case k == model.LabelHostname:
			if listed {
				return false // names that are known belong to others
			}
		case s.offerings.machine(k) && s.items.First() >= 0:
			items = items.And(s.offerings.match(k, want))
		case defined && !have.Meets(want), !defined && !want.AllowsAbsent():
			return false
		}
	}
	return s.items.First() < 0 || items.First() >= 0
}

// certain returns the labels under keys that a claim's node will have whatever the claim becomes, and the values of those that are
// still open.
func (s *existingNode) certain(keys []string) (labels map[string]string, may map[string][]string) {
	labels, may = map[string]string{}, map[string][]string{}
	for _, k := range keys {
		v, defined := s.own.Get(k)
		if list, listed := v.Listed(); defined && listed && len(list) == 1 && !v.AllowsAbsent() {
			labels[k] = list[0]
			continue
		}
		c := s.offerings.keys[k]
		if c == nil || s.items.First() < 0 {
			continue
		}
		for i, value := range c.values {
			switch {
			case s.items.Within(c.sets[i]) && !s.offerings.either[k]:
				labels[k] = value
			case s.items.And(c.sets[i]).First() >= 0:
				may[k] = append(may[k], value)
			}
		}
	}
	return labels, may
}
