// Package world answers: what does the cluster look like right now?
//
// It is the live mirror: it applies what the cluster door tells, assumes the claims that were just made, keeps the
// cloud's catalogues and last list, and hands out immutable pictures. It starts nothing, asks nobody and decides
// nothing; who waits for a change subscribes.
package world

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// AssumeLimit bounds how long a claim that was made but that the watch never showed stays in the picture. A watch
// that works shows it within a second; one that does not is followed again, which drops the assumption at Synced.
// The limit covers what is left: a claim made and gone between two reads of the watch.
const AssumeLimit = time.Minute

// World is the mirror. It implements the cluster door's Sink. All methods are safe for concurrent use.
type World struct {
	mu sync.Mutex // guards the fields below; held only for work in memory

	pools       table[model.Pool]
	classes     table[model.Class]
	claims      table[model.Claim]
	nodes       table[model.Node]
	pods        table[model.Pod]
	daemons     table[model.Daemon]
	budgets     table[model.PDB]
	attachments table[model.Attachment]
	namespaces  table[model.Namespace]

	// What pods' volumes and nodes' attach limits are known from. moved… name what changed since the last picture.
	volumeClaims   table[model.VolumeClaim]
	volumes        table[model.PersistentVolume]
	storageClasses table[model.StorageClass]
	csiNodes       table[model.CSINode]
	movedClaims    map[string]bool // by key of the claim
	movedVolumes   map[string]bool // by name
	movedClasses   bool
	driverKeys     map[string][]string // by driver; what nodes said last
	movedDrivers   map[string]bool     // by node

	listed     map[string]int  // on how many claims planned.Annotation names a pod
	movedPods  map[string]bool // pods whose plan came or went since the last picture
	movedNodes map[string]bool // nodes that came or went since the last picture

	// follow numbers the Follows; synced is set from its Synced until the next Begin.
	follow uint64
	synced bool

	extras

	assumed map[string]assumption // by claim name

	// paused is what is on hold of all pools.
	paused model.Pause

	catalogs  map[model.ClassRef]model.Catalog // replaced, never changed
	instances []model.Instance                 // replaced, never changed
	listedAt  time.Time
	looks     map[string]glance // by instance id: single machines that were looked at since

	// What the last picture shows of budgets, attachments and daemons, with what pods say about them, and live, from which the latter comes.
	covering []model.PDB
	attached []model.Attachment
	crewed   []model.Daemon
	live     crews

	quiet quiet
	// What the last change was about: nodes on which pods changed, a pod without a node, nothing but what Quiet is about.
	touched      []string
	waits, light bool

	// shown is the claims of the last picture: known with those assumed. It is made anew when known is another list, or assumedAnew is set.
	shown, known []model.Claim
	assumedAnew  bool

	// nominated and mounted are, per node and per volume claim, the pods that name it.
	nominated, mounted map[string]map[model.PodKey]bool

	// index is that of the last picture.
	index *model.Index
	// last is the picture to hand out as long as fresh is set.
	last  model.World
	fresh bool

	watchers map[uint64]*Watch
	nextID   uint64
}

// assumption is a claim that we made and that the watch has not shown yet.
type assumption struct {
	claim  model.Claim
	follow uint64 // the Follow during which it was assumed
	until  time.Time
}

// New returns an empty mirror: not synced, no pictures but the empty one.
func New() *World {
	name := func(a, b string) int { return cmp.Compare(a, b) }
	spaced := func(ans, an, bns, bn string) int { return cmp.Or(cmp.Compare(ans, bns), cmp.Compare(an, bn)) }
	w := &World{
		pools: newTable(func(a, b *model.Pool) int { return name(a.Name, b.Name) }),
		classes: newTable(func(a, b *model.Class) int {
			return cmp.Or(name(a.Ref.Group, b.Ref.Group), name(a.Ref.Kind, b.Ref.Kind), name(a.Ref.Name, b.Ref.Name))
		}),
		claims:      newTable(func(a, b *model.Claim) int { return name(a.Name, b.Name) }),
		nodes:       newTable(func(a, b *model.Node) int { return name(a.Name, b.Name) }),
		pods:        newTable(func(a, b *model.Pod) int { return spaced(a.Namespace, a.Name, b.Namespace, b.Name) }),
		daemons:     newTable(func(a, b *model.Daemon) int { return spaced(a.Namespace, a.Name, b.Namespace, b.Name) }),
		budgets:     newTable(func(a, b *model.PDB) int { return spaced(a.Namespace, a.Name, b.Namespace, b.Name) }),
		attachments: newTable(func(a, b *model.Attachment) int { return name(a.Name, b.Name) }),
		namespaces:  newTable(func(a, b *model.Namespace) int { return name(a.Name, b.Name) }),

		volumeClaims:   newTable(func(a, b *model.VolumeClaim) int { return spaced(a.Namespace, a.Name, b.Namespace, b.Name) }),
		volumes:        newTable(func(a, b *model.PersistentVolume) int { return name(a.Name, b.Name) }),
		storageClasses: newTable(func(a, b *model.StorageClass) int { return name(a.Name, b.Name) }),
		csiNodes:       newTable(func(a, b *model.CSINode) int { return name(a.Name, b.Name) }),
		movedClaims:    map[string]bool{},
		movedVolumes:   map[string]bool{},
		movedDrivers:   map[string]bool{},
		driverKeys:     map[string][]string{},

		listed:     map[string]int{},
		movedPods:  map[string]bool{},
		movedNodes: map[string]bool{},

		extras:   newExtras(),
		assumed:  map[string]assumption{},
		catalogs: map[model.ClassRef]model.Catalog{},
		live:     crews{},

		nominated: map[string]map[model.PodKey]bool{},
		mounted:   map[string]map[model.PodKey]bool{},
		index:     model.NewIndex(),
		watchers:  map[uint64]*Watch{},
	}
	w.pods.finish = func(p *model.Pod) {
		w.withVolumes(p)
		w.withPromise(p)
	}
	w.nodes.finish = w.withLimits
	return w
}

// Begin starts a new Follow: until its Synced the mirror is not synced, and the picture may mix old and new.
func (w *World) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follow++
	w.synced = false
	w.changed(Everything)
}

// Apply takes in one change. The mirror keeps the object: the caller must not change it afterwards.
// An object equal to the one already there wakes nobody.
func (w *World) Apply(c model.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.untouched()
	if w.apply(c.Object, c.Gone) {
		w.applied(about(c.Object))
	}
}

// ApplyPod implements kube.PodSink.
func (w *World) ApplyPod(p *model.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.untouched()
	if w.applyPod(p, false) {
		w.applied(Pods)
	}
}

// untouched forgets what the last change was about.
func (w *World) untouched() { w.touched, w.waits, w.light = w.touched[:0], false, false }

// applied tells of a change that was taken in.
func (w *World) applied(what About) {
	switch {
	case w.waits:
		what |= Unbound
	case w.light:
		what = Quiet
	}
	w.fresh = w.fresh && w.light // pictures show it when it is due
	w.tell(what, w.touched, nil)
}

// Synced forgets every object that the current Follow has not told, and every claim assumed before it began.
func (w *World) Synced() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.vanished() {
		w.apply(o, true)
	}
	for name, a := range w.assumed {
		if a.follow < w.follow {
			w.assume(name, nil) // it was made before this list was read, and is not in it
		}
	}
	w.synced = true
	w.changed(Everything)
}

// AssumeClaim puts a claim that was just made into the picture at once, so that the next plan does not buy the same
// machine again. It stays until the watch shows it, ForgetClaim, a Synced of a Follow that began later, or AssumeLimit,
// whichever comes first; reaching the limit wakes nobody, the next picture just lacks it. A claim that the watch has shown
// already changes nothing.
func (w *World) AssumeClaim(c model.Claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.claims.get(c); ok && r.UID == c.UID {
		return
	}
	w.assume(c.Name, &assumption{claim: c, follow: w.follow, until: time.Now().Add(AssumeLimit)})
	w.changed(Claims)
}

// ForgetClaim takes an assumption back: the cluster refused the claim after all.
func (w *World) ForgetClaim(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.assumed[name]; ok {
		w.assume(name, nil)
		w.changed(Claims)
	}
}

// SetCatalog replaces the catalogue of its class. It wakes subscribers only when the epoch changed.
func (w *World) SetCatalog(c model.Catalog) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old, had := w.catalogs[c.Class]
	next := maps.Clone(w.catalogs)
	next[c.Class] = c
	w.catalogs = next
	w.fresh = false
	if !had || old.Epoch != c.Epoch {
		w.changed(Catalogs)
	}
}

func (w *World) dropCatalog(ref model.ClassRef) {
	if _, ok := w.catalogs[ref]; ok {
		next := maps.Clone(w.catalogs)
		delete(next, ref)
		w.catalogs = next
	}
}

// Hold has all pictures from now on say what is on hold of all pools. It is called before anybody looks.
func (w *World) Hold(p model.Pause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused, w.fresh = p, false
}

// IsSynced reports whether the picture is whole: everything that existed when the current Follow began is in it.
// Nothing should be bought or removed on a picture that is not.
func (w *World) IsSynced() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.synced
}

// assume sets or, with nil, drops an assumption.
func (w *World) assume(name string, a *assumption) {
	if w.assumedAnew = true; a == nil {
		delete(w.assumed, name)
	} else {
		w.assumed[name] = *a
	}
}

// Snapshot returns the picture as it is now. Nobody may change it. It is O(1) when nothing changed since the last call. Otherwise it costs what
// changed: the next picture shares with the last all pods but those that changed. Other lists are built anew, O(objects of that kind),
// when one of them did.
func (w *World) Snapshot() model.World {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.expireAssumptions(now)
	if w.fresh && !w.quiet.due(now) {
		return w.last
	}
	w.settleVolumes()
	w.settleLimits()
	w.settlePromises()
	volumes := len(w.volumes.settle()) > 0
	told := w.settleClaims(now)
	pools, nodes, claims := w.pools.list(), w.nodes.list(), w.claimsWithAssumed()
	edits := w.pods.settle()
	if told {
		w.index = w.index.Retold(claims)
	}
	w.index = w.index.Next(nodes, claims, together(edits, w.reserve()))
	if len(w.reserved) == 0 {
		w.pods.rows = w.index.All() // the same, and once in memory
	}
	catalogs, ofPools := w.seen(pools)
	w.last = model.World{
		Pools:         pools,
		Classes:       w.classes.list(),
		Claims:        claims,
		Nodes:         nodes,
		Index:         w.index,
		Daemons:       w.resolveDaemons(edits),
		PDBs:          w.resolveBudgets(edits),
		Attachments:   w.resolveAttachments(edits, volumes),
		Namespaces:    w.namespaces.list(),
		Overlays:      w.overlays.list(),
		Buffers:       w.buffers.list(),
		Templates:     w.templates.list(),
		Unserved:      w.unserved.list(),
		Catalogs:      catalogs,
		PoolCatalogs:  ofPools,
		Instances:     w.instances,
		InstancesSeen: !w.listedAt.IsZero(),
		Paused:        w.paused,
	}
	w.fresh = true
	return w.last
}

// Last is the picture that was handed out last. What changed since is not in it. O(1).
func (w *World) Last() model.World {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.Index == nil {
		return w.last.Indexed()
	}
	return w.last
}

func (w *World) expireAssumptions(now time.Time) {
	for name, a := range w.assumed {
		if now.After(a.until) {
			w.assume(name, nil)
			w.fresh = false
		}
	}
}

// claimsWithAssumed lists the claims; an assumption stands in for an older claim of the same name.
func (w *World) claimsWithAssumed() []model.Claim {
	claims := w.claims.flat
	if len(w.assumed) == 0 {
		w.shown, w.known, w.assumedAnew = claims, claims, false
		return claims
	}
	if !w.assumedAnew && len(claims) == len(w.known) && (len(claims) == 0 || &claims[0] == &w.known[0]) {
		return w.shown
	}
	out := make([]model.Claim, 0, len(claims)+len(w.assumed))
	for _, c := range claims {
		if _, ok := w.assumed[c.Name]; !ok {
			out = append(out, c)
		}
	}
	for _, a := range w.assumed {
		out = append(out, a.claim)
	}
	slices.SortFunc(out, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
	w.shown, w.known, w.assumedAnew = out, claims, false
	return out
}

// together sorts edits of pods and of pods that stand for room; nobody is among both.
func together(a, b []model.Edit[model.Pod]) []model.Edit[model.Pod] {
	if len(b) == 0 {
		return a
	}
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(x, y model.Edit[model.Pod]) int { return model.ComparePods(x.Row(), y.Row()) })
	return out
}
