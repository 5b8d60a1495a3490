package model

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"sort"
	"strconv"
	"sync"
)

// Index finds things in one picture: pods by node and name, claims and nodes by each other. It is the only place that joins these lists. The
// mirror makes each from the one before, at the cost of what changed; that of a world that somebody wrote down is made when asked for,
// each part at the first question. It is safe for concurrent use, and nobody may change what it returns.
type Index struct {
	nodes  []Node
	claims []Claim
	pods   []Pod // as written down; nil in pictures of the mirror

	joined *joined
	rows   func() Rows[Pod]
	spots  func() spots
	asks   func() asks
	kinds  func() kinds
	byNode func() onNodes
}

// kinds is the kinds of pods that run, and those of them that refuse others.
type kinds struct{ all, refusing Rows[Kind] }

// spots is where pods are.
type spots struct {
	on      *shards[NodePods]
	unbound Rows[Pod]
}

// asks is what pods ask about each other, and which volumes they share.
type asks struct {
	labels map[string]int  // label keys → by how many selectors of pods they are asked about
	tied   int             // pods that ask about others
	live   int             // pods that are bound and not over
	users  *shards[[]*Pod] // volumes → pods that use them, sorted
	ports  Rows[Pod]
}

// NodePods are the pods bound to one node, sorted by namespace and name.
type NodePods struct {
	Pods []*Pod
	// Used is what those that are not over ask for, Daemons the part of DaemonSets in it.
	Used, Daemons Resources
	// Tenants is how many of them need a place elsewhere when the node goes, Tenant the first of these.
	Tenants int
	Tenant  *Pod
}

// Kind is the bound pods that are not over and are alike in namespace, labels and required anti-affinity: whatever counts pods counts all or
// none of them. There is at least one.
type Kind struct {
	key  string
	Pods Rows[Pod]
}

// Pod is any of them.
func (k *Kind) Pod() *Pod { return k.Pods.First() }

// Indexed returns the world with an index of its lists: the one it has, when the lists are still those, else a new one.
func (w World) Indexed() World {
	if w.Index == nil || !w.Index.is(&w) {
		w.Index = newIndex(w.Nodes, w.Claims, w.Pods)
	}
	return w
}

// is reports whether the index is of these very lists.
func (x *Index) is(w *World) bool {
	return sameList(x.nodes, w.Nodes) && sameList(x.claims, w.Claims) && sameList(x.pods, w.Pods)
}

func sameList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Flat returns the world as somebody would write it down: with all pods in its list, and without an index. O(pods).
func (w World) Flat() World {
	if w.Pods == nil && w.Index != nil {
		w.Pods = slices.Grow(w.Pods, w.Index.All().Len())
		for p := range w.Index.All().All() {
			w.Pods = append(w.Pods, *p)
		}
	}
	w.Index = nil
	return w
}

func newIndex(nodes []Node, claims []Claim, pods []Pod) *Index {
	x := &Index{nodes: nodes, claims: claims, pods: pods, joined: newJoined(nodes, claims)}
	sorted := sync.OnceValue(func() []*Pod {
		list := make([]*Pod, len(pods))
		for i := range pods {
			list[i] = &pods[i]
		}
		if !slices.IsSortedFunc(list, ComparePods) {
			slices.SortStableFunc(list, ComparePods)
		}
		return list
	})
	x.rows = sync.OnceValue(func() Rows[Pod] { return rowsOf(sorted()) })
	x.spots = sync.OnceValue(func() spots {
		s := spots{on: newShards[NodePods]()}
		var unbound []*Pod
		for _, p := range sorted() {
			if p.Node == "" {
				unbound = append(unbound, p)
			} else {
				s.on.own(p.Node).add(p)
			}
		}
		s.unbound = rowsOf(unbound)
		return s
	})
	x.asks = sync.OnceValue(func() asks {
		a := asks{labels: map[string]int{}, users: newShards[[]*Pod]()}
		var ports []*Pod
		for _, p := range sorted() {
			a.count(p, 1)
			if len(p.HostPorts) > 0 {
				ports = append(ports, p)
			}
		}
		a.ports = rowsOf(ports)
		return a
	})
	x.byNode = sync.OnceValue(func() onNodes { return newOnNodes(nodes, x.spots().on) })
	x.kinds = sync.OnceValue(func() kinds {
		byKey := map[string][]*Pod{}
		var buf []byte
		for _, p := range sorted() {
			if p.counts() {
				buf = appendKind(buf[:0], p)
				byKey[string(buf)] = append(byKey[string(buf)], p)
			}
		}
		var list, refusing []*Kind
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			k := &Kind{key, rowsOf(byKey[key])}
			if list = append(list, k); k.refuses() {
				refusing = append(refusing, k)
			}
		}
		return kinds{rowsOf(list), rowsOf(refusing)}
	})
	return x
}

func rowsOf[T any](list []*T) Rows[T] {
	r := Rows[T]{n: len(list)}
	r.add(list)
	return r
}

// NewIndex returns the index of an empty picture, for Next.
func NewIndex() *Index {
	x := &Index{joined: newJoined(nil, nil)}
	x.keep(Rows[Pod]{}, spots{on: newShards[NodePods]()}, asks{labels: map[string]int{}, users: newShards[[]*Pod]()}, kinds{})
	x.byNode = func() onNodes { return nil }
	return x
}

func (x *Index) keep(rows Rows[Pod], s spots, a asks, k kinds) {
	x.rows = func() Rows[Pod] { return rows }
	x.spots = func() spots { return s }
	x.asks = func() asks { return a }
	x.kinds = func() kinds { return k }
}

// ComparePods orders pods as pictures do: by namespace, then name.
func ComparePods(a, b *Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Next returns the index of the next picture, in which the edits were made to the pods; they are sorted like pods. x stays as it is.
// O(edits + changed chunks), and O(nodes + claims) when these are others, as soon as somebody asks.
func (x *Index) Next(nodes []Node, claims []Claim, edits []Edit[Pod]) *Index {
	out := *x
	if out.nodes, out.claims = nodes, claims; !sameList(x.nodes, nodes) || !sameList(x.claims, claims) {
		out.joined = newJoined(nodes, claims)
	}
	s, a := x.spots(), x.asks()
	others := !sameList(x.nodes, nodes)
	if len(edits) == 0 {
		if others {
			out.byNode = sync.OnceValue(func() onNodes { return newOnNodes(nodes, s.on) })
		}
		return &out
	}
	s.on, a.labels, a.users = s.on.clone(), maps.Clone(a.labels), a.users.clone()
	var unbound, ports []Edit[Pod]
	var touched []string
	for _, e := range edits {
		a.count(e.Old, -1)
		a.count(e.New, 1)
		unbound = part(unbound, e, func(p *Pod) bool { return p.Node == "" })
		ports = part(ports, e, func(p *Pod) bool { return len(p.HostPorts) > 0 })
		if e.Old != nil && e.Old.Node != "" {
			s.on.own(e.Old.Node).drop(e.Old)
		}
		if e.New != nil && e.New.Node != "" {
			s.on.own(e.New.Node).insert(e.New)
		}
		for _, p := range []*Pod{e.Old, e.New} {
			if p == nil || p.Node == "" {
				continue
			}
			touched = append(touched, p.Node)
			if len(s.on.get(p.Node).Pods) == 0 {
				s.on.drop(p.Node)
			}
		}
	}
	s.unbound = s.unbound.With(ComparePods, unbound)
	a.ports = a.ports.With(ComparePods, ports)
	out.keep(x.rows().With(ComparePods, edits), s, a, nextKinds(x.kinds(), edits))
	if others {
		out.byNode = sync.OnceValue(func() onNodes { return newOnNodes(nodes, s.on) })
	} else {
		next := x.byNode().next(touched, out.joined.byName().node, s.on)
		out.byNode = func() onNodes { return next }
	}
	return &out
}

// Retold returns the index of the same picture with claims that differ only in LastPodEvent and whether they are Consolidatable: what was worked out from nodes and claims stays.
func (x *Index) Retold(claims []Claim) *Index {
	out := *x
	out.claims = claims
	return &out
}

// part appends what an edit does to the rows that in accepts.
func part(list []Edit[Pod], e Edit[Pod], in func(*Pod) bool) []Edit[Pod] {
	if e.Old != nil && !in(e.Old) {
		e.Old = nil
	}
	if e.New != nil && !in(e.New) {
		e.New = nil
	}
	if e.Old == nil && e.New == nil {
		return list
	}
	return append(list, e)
}

func nextKinds(was kinds, edits []Edit[Pod]) kinds {
	byKind := map[string][]Edit[Pod]{}
	for _, e := range edits {
		for _, half := range []Edit[Pod]{{Old: e.Old}, {New: e.New}} {
			p := half.Row()
			if p == nil || !p.counts() {
				continue
			}
			key := string(appendKind(nil, p))
			list := byKind[key]
			if n := len(list); n > 0 && ComparePods(list[n-1].Row(), p) == 0 {
				list[n-1].New = half.New // it stayed of its kind
			} else {
				list = append(list, half)
			}
			byKind[key] = list
		}
	}
	var changed, refusing []Edit[Kind]
	for _, key := range slices.Sorted(maps.Keys(byKind)) {
		e := Edit[Kind]{Old: was.all.Find(func(k *Kind) int { return cmp.Compare(k.key, key) })}
		next := &Kind{key: key}
		if e.Old != nil {
			next.Pods = e.Old.Pods
		}
		if next.Pods = next.Pods.With(ComparePods, byKind[key]); next.Pods.Len() > 0 {
			e.New = next
		}
		if changed = append(changed, e); e.Row().refuses() {
			refusing = append(refusing, e)
		}
	}
	order := func(a, b *Kind) int { return cmp.Compare(a.key, b.key) }
	return kinds{was.all.With(order, changed), was.refusing.With(order, refusing)}
}

// refuses reports whether its pods refuse others, in which they are all alike.
func (k *Kind) refuses() bool { return len(k.Pod().PodAntiAffinity) > 0 }

// counts reports whether the pod is bound and not over.
func (p *Pod) counts() bool { return p.Node != "" && !p.Terminal }

// appendKind writes what tells kinds apart. Lengths come before texts.
func appendKind(b []byte, p *Pod) []byte {
	text := func(s string) { b = append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...) }
	selector := func(s *Selector) {
		if s == nil {
			b = append(b, '-')
			return
		}
		for _, r := range s.Requirements {
			text(r.Key)
			text(string(r.Op))
			for _, v := range r.Values {
				text(v)
			}
			b = append(b, '&')
		}
		b = append(b, '.')
	}
	text(p.Namespace)
	var room [8]string
	keys := room[:0]
	for k := range p.Labels {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		text(k)
		text(p.Labels[k])
	}
	for _, t := range p.PodAntiAffinity {
		b = append(b, '!')
		text(t.Key)
		selector(t.Selector)
		for _, ns := range t.Namespaces {
			text(ns)
		}
		selector(t.NamespaceSelector)
	}
	return b
}

func (a *asks) count(p *Pod, n int) {
	if p == nil {
		return
	}
	if p.counts() {
		a.live += n
	}
	if p.Asks() {
		a.tied += n
	}
	for key := range p.AskedLabels() {
		if a.labels[key] += n; a.labels[key] == 0 {
			delete(a.labels, key)
		}
	}
	for i, v := range p.Volumes {
		if slices.ContainsFunc(p.Volumes[:i], func(w Volume) bool { return w.ID == v.ID }) {
			continue
		}
		users := a.users.own(v.ID)
		at, there := slices.BinarySearchFunc(*users, p, ComparePods)
		switch {
		case n > 0 && !there:
			*users = slices.Concat((*users)[:at], []*Pod{p}, (*users)[at:]) // others may hold the list as it was
		case n < 0 && there:
			*users = slices.Concat((*users)[:at], (*users)[at+1:])
		}
		if len(*users) == 0 {
			a.users.drop(v.ID)
		}
	}
}

// All is all pods, sorted by namespace and name.
func (x *Index) All() Rows[Pod] { return x.rows() }

// Unbound is the pods without a node.
func (x *Index) Unbound() Rows[Pod] { return x.spots().unbound }

// On is the pods of a node; what is not there has none.
func (x *Index) On(node string) NodePods { return x.spots().on.get(node) }

// Pod finds a pod; nil = there is none.
func (x *Index) Pod(k PodKey) *Pod {
	return x.rows().Find(func(p *Pod) int { return cmp.Or(cmp.Compare(p.Namespace, k.Namespace), cmp.Compare(p.Name, k.Name)) })
}

// Kinds is the kinds of pods that run, in no order that means anything, but always the same.
func (x *Index) Kinds() Rows[Kind] { return x.kinds().all }

// Refusing is those of them that have required anti-affinity.
func (x *Index) Refusing() Rows[Kind] { return x.kinds().refusing }

// AskedLabels is the label keys that selectors of pods ask about; nobody may change it. tied says whether any pod asks about others at all.
func (x *Index) AskedLabels() (keys map[string]int, tied bool) {
	return x.asks().labels, x.asks().tied > 0
}

// VolumeUsers is the pods that use a volume, sorted by namespace and name; nobody may change it.
func (x *Index) VolumeUsers(id string) []*Pod { return x.asks().users.get(id) }

// WithPorts is the pods that ask for host ports.
func (x *Index) WithPorts() Rows[Pod] { return x.asks().ports }

// Running is how many pods are bound and not over.
func (x *Index) Running() int { return x.asks().live }

// add appends a pod behind all others.
func (n *NodePods) add(p *Pod) {
	n.Pods = append(n.Pods, p)
	if p.Reschedulable() {
		if n.Tenants++; n.Tenant == nil {
			n.Tenant = p
		}
	}
	if !p.Terminal {
		n.Used = n.Used.Add(p.Requests)
		if p.DaemonSet {
			n.Daemons = n.Daemons.Add(p.Requests)
		}
	}
}

// insert and drop leave the list as it was for whoever holds it.
func (n *NodePods) insert(p *Pod) {
	at, _ := slices.BinarySearchFunc(n.Pods, p, ComparePods)
	n.Pods = slices.Concat(n.Pods[:at], []*Pod{p}, n.Pods[at:])
	n.sum()
}

func (n *NodePods) drop(p *Pod) {
	if at, ok := slices.BinarySearchFunc(n.Pods, p, ComparePods); ok {
		n.Pods = slices.Concat(n.Pods[:at], n.Pods[at+1:])
	}
	n.sum()
}

func (n *NodePods) sum() {
	pods := n.Pods
	*n = NodePods{Pods: make([]*Pod, 0, len(pods))}
	for _, p := range pods {
		n.add(p)
	}
}

// joined is nodes and claims by what names them. It depends on these two lists alone, and is kept as long as they are the same.
type joined struct {
	byName func() names
	memo   sync.Map
}

type names struct {
	node, claim                   map[string]int32
	claimByProvider, nodeByOrigin map[string]int32
}

func newJoined(nodes []Node, claims []Claim) *joined {
	j := &joined{}
	j.byName = sync.OnceValue(func() names {
		n := names{map[string]int32{}, map[string]int32{}, map[string]int32{}, map[string]int32{}}
		for i := range nodes {
			n.node[nodes[i].Name] = int32(i)
			if id := nodes[i].ProviderID; id != "" {
				n.nodeByOrigin[id] = int32(i)
			}
		}
		for i := range claims {
			n.claim[claims[i].Name] = int32(i)
			if id := claims[i].ProviderID; id != "" {
				n.claimByProvider[id] = int32(i)
			}
		}
		return n
	})
	return j
}

func at[T any](list []T, by map[string]int32, key string) *T {
	if i, ok := by[key]; ok && key != "" {
		return &list[i]
	}
	return nil
}

// Node finds a node by name; nil = there is none. So do the others.
func (x *Index) Node(name string) *Node { return at(x.nodes, x.joined.byName().node, name) }

// Claim finds a claim by name.
func (x *Index) Claim(name string) *Claim { return at(x.claims, x.joined.byName().claim, name) }

// ClaimOf is the claim whose machine a node is. Of several with one provider ID, the last.
func (x *Index) ClaimOf(n *Node) *Claim { return x.ClaimBy(n.ProviderID) }

// ClaimBy is the claim whose machine has a provider ID.
func (x *Index) ClaimBy(providerID string) *Claim {
	return at(x.claims, x.joined.byName().claimByProvider, providerID)
}

// NodeBy is the node of the machine with a provider ID. Of several, the last.
func (x *Index) NodeBy(providerID string) *Node {
	return at(x.nodes, x.joined.byName().nodeByOrigin, providerID)
}

// Memo remembers what make returns as long as nodes and claims stay the same, but for LastPodEvent and Consolidatable: it must depend on these and the key alone, and nobody
// may change it.
func (x *Index) Memo(key any, make func() any) any {
	got, ok := x.joined.memo.Load(key)
	if !ok {
		got, _ = x.joined.memo.LoadOrStore(key, make())
	}
	return got
}

// shards is a map in parts: a clone shares all parts until it changes them.
type shards[V any] struct {
	seed  maphash.Seed
	parts [shardCount]map[string]*V
	mine  [shardCount]bool
	fresh map[string]bool // values that are ours; nil = all are
}

const shardCount = 256

func newShards[V any]() *shards[V] { return &shards[V]{seed: maphash.MakeSeed()} }

func (s *shards[V]) clone() *shards[V] {
	return &shards[V]{seed: s.seed, parts: s.parts, fresh: map[string]bool{}}
}

func (s *shards[V]) part(key string) int { return int(maphash.String(s.seed, key) % shardCount) }

func (s *shards[V]) get(key string) (v V) {
	if p := s.find(key); p != nil {
		v = *p
	}
	return v
}

// find returns the value, nil when there is none. A clone has the same one until it owns it.
func (s *shards[V]) find(key string) *V { return s.parts[s.part(key)][key] }

// own returns the value to be changed.
func (s *shards[V]) own(key string) *V {
	i := s.part(key)
	s.take(i)
	p := s.parts[i][key]
	switch {
	case p == nil:
		p = new(V)
	case s.fresh != nil && !s.fresh[key]:
		c := *p
		p = &c
	default:
		return p
	}
	if s.parts[i][key] = p; s.fresh != nil {
		s.fresh[key] = true
	}
	return p
}

func (s *shards[V]) drop(key string) {
	i := s.part(key)
	s.take(i)
	delete(s.parts[i], key)
}

// take makes a part its own.
func (s *shards[V]) take(i int) {
	switch {
	case s.parts[i] == nil:
		s.parts[i] = map[string]*V{}
	case s.fresh != nil && !s.mine[i]:
		s.parts[i] = maps.Clone(s.parts[i])
	}
	s.mine[i] = true
}
