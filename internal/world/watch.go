package world

import (
	"maps"
	"sync"

	"github.com/karpenter-aks/karpenter/model"
)

// About is what changed, as a set.
type About uint32

// What may change.
const (
	Pools About = 1 << iota // pools and classes
	Catalogs
	Claims // those assumed, too
	Nodes  // and what their drivers say
	Pods   // and budgets, volumes, daemons: what is about pods
	Instances
	Rest    // overlays, buffers, templates, namespaces, what is not served
	Unbound // pods without a node: they came, went, changed, or have one now; Pods is told, too
	// Quiet is for how long nodes have been left alone by pods: what claims say of that, and nothing else of them.
	Quiet

	Everything = Pools | Catalogs | Claims | Nodes | Pods | Instances | Rest | Unbound | Quiet
)

// News is what changed, and, where that is known, of what.
type News struct {
	About About
	// Nodes are those that pods came to or left, or on which pods changed.
	Nodes map[string]bool
	// Claims are those of which pictures show anew what Quiet is about.
	Claims map[string]bool
}

// Add joins news. Nobody else may hold these.
func (n *News) Add(x News) {
	n.About |= x.About
	n.Nodes, n.Claims = joined(n.Nodes, x.Nodes), joined(n.Claims, x.Claims)
}

func joined(a, b map[string]bool) map[string]bool {
	if a == nil {
		return b
	}
	maps.Copy(a, b)
	return a
}

// about says what an object is about.
func about(o model.Object) About {
	switch o.(type) {
	case model.Pool, model.Class:
		return Pools
	case model.Claim:
		return Claims
	case model.Node, model.CSINode:
		return Nodes
	case model.Pod:
		return Pods
	case model.PDB, model.Daemon, model.Attachment, model.VolumeClaim, model.PersistentVolume, model.StorageClass:
		return Pods | Unbound // they say where pods without a node may go
	}
	return Rest
}

// Watch tells one subscriber that something changed.
type Watch struct {
	// C holds a token whenever something of what was asked about may have changed since the last receive, and at once for a first look.
	// Changes in between are told once. It is never closed.
	C    <-chan struct{}
	c    chan struct{}
	want About
	stop func()

	mu   sync.Mutex // guards the field below; taken under the mirror's
	news News
}

// Take returns what changed since it was called last.
func (x *Watch) Take() News {
	x.mu.Lock()
	defer x.mu.Unlock()
	news := x.news
	x.news = News{}
	return news
}

// Stop ends the watch.
func (x *Watch) Stop() { x.stop() }

func (x *Watch) tell(what About, nodes, claims []string) {
	if what &= x.want; what == 0 {
		return
	}
	x.mu.Lock()
	x.news.About |= what
	note(&x.news.Nodes, nodes)
	note(&x.news.Claims, claims)
	x.mu.Unlock()
	select {
	case x.c <- struct{}{}:
	default: // it has not looked since the last token: one is enough
	}
}

func note(set *map[string]bool, names []string) {
	for _, name := range names {
		if *set == nil {
			*set = map[string]bool{}
		}
		(*set)[name] = true
	}
}

// Subscribe tells of changes of what is asked about. Call Stop when done.
func (w *World) Subscribe(want About) *Watch {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	x := &Watch{C: c, c: c, want: want, news: News{About: want}}
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.nextID
	w.nextID++
	w.watchers[id] = x
	x.stop = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watchers, id)
	}
	return x
}

// Remind tells subscribers to look at a claim again although nothing changed: what was done for it failed. The picture stays as it is.
func (w *World) Remind(claim string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(Quiet, nil, []string{claim})
}

// changed marks the last picture as old and wakes the subscribers. Callers hold mu.
func (w *World) changed(what About) {
	w.fresh = false
	w.tell(what, nil, nil)
}

func (w *World) tell(what About, nodes, claims []string) {
	for _, x := range w.watchers {
		x.tell(what, nodes, claims)
	}
}
