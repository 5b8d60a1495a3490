package world

import (
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
	Rest // overlays, buffers, templates, namespaces, what is not served

	Everything = Pools | Catalogs | Claims | Nodes | Pods | Instances | Rest
)

// about says what an object is about.
func about(o model.Object) About {
	switch o.(type) {
	case model.Pool, model.Class:
		return Pools
	case model.Claim:
		return Claims
	case model.Node, model.CSINode:
		return Nodes
	case model.Pod, model.PDB, model.Daemon, model.Attachment, model.VolumeClaim, model.PersistentVolume, model.StorageClass:
		return Pods
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
	news About
}

// Take returns what changed since it was called last.
func (x *Watch) Take() About {
	x.mu.Lock()
	defer x.mu.Unlock()
	news := x.news
	x.news = 0
	return news
}

// Stop ends the watch.
func (x *Watch) Stop() { x.stop() }

func (x *Watch) tell(what About) {
	if what &= x.want; what == 0 {
		return
	}
	x.mu.Lock()
	x.news |= what
	x.mu.Unlock()
	select {
	case x.c <- struct{}{}:
	default: // it has not looked since the last token: one is enough
	}
}

// Subscribe tells of changes of what is asked about. Call Stop when done.
func (w *World) Subscribe(want About) *Watch {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	x := &Watch{C: c, c: c, want: want, news: want}
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

// changed marks the last picture as old and wakes the subscribers. Callers hold mu.
func (w *World) changed(what About) {
	w.fresh = false
	for _, x := range w.watchers {
		x.tell(what)
	}
}
