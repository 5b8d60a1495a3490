package sidebyside

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/compat/upstream"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/sim"
	"github.com/karpenter-aks/karpenter/model"
)

// Upstream's limits, as its sources have them.
const (
	pollEvery = 10 * time.Second // pkg/controllers/disruption/controller.go
	believeIn = 15 * time.Second // pkg/controllers/disruption/validation.go
	awaitedIn = 20 * time.Second // pkg/controllers/state/statenode.go: nominationWindow, by default
	giveUp    = 10 * time.Minute // pkg/controllers/disruption/queue.go, for a short queue
)

// rival consolidates a cluster of package sim as upstream does, in place of our own consolidation: it asks upstream's engine every ten seconds, and at once after
// a command; waits fifteen seconds before it believes a command, and drops it where pods or nodes it is about changed meanwhile and the engine would not
// give it again; has one command decided at a time, and carries those that were decided out side by side. What upstream's engine thinks costs it no virtual time, and it is
// not asked while pods wait, when its provisioner would have its own plans for them: both are in its favour.
type rival struct {
	t      *testing.T
	s      *sim.Sim
	engine *engine

	// mu guards the fields below.
	mu       sync.Mutex
	leaving  map[string]bool      // provider ids of machines that leave by commands that are not over
	awaited  map[string]time.Time // by claim: until when pods are expected there
	commands int
}

// hushed has our own consolidation of a pool leave all nodes alone.
func hushed(p *model.Pool) {
	p.Annotations = map[string]string{model.AnnotationPause: model.PauseDisruption}
}

// run consolidates until the context ends, and what was begun is over.
func (r *rival) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	idle := uint64(0) // what the cluster was like when there was nothing to do
	for wait := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = pollEvery
		w := r.s.Picture()
		now := print(w)
		if now == idle {
			continue
		}
		m, ok := r.ask(w)
		if !ok {
			idle = now
			continue
		}
		time.Sleep(believeIn)
		after := r.s.Picture()
		if print(after) != now {
			again, ok := r.ask(after)
			if !ok || !slices.Equal(slices.Sorted(slices.Values(again.Nodes)), slices.Sorted(slices.Values(m.Nodes))) || len(again.Buy) != len(m.Buy) {
				continue
			}
			m = again
		}
		names := r.begin(after, m)
		under.Go(func() { r.end(ctx, after, m, names) })
		wait = 0
	}
}

// ask asks upstream's engine what it would do, unless pods wait.
func (r *rival) ask(w model.World) (upstream.Move, bool) {
	if slices.ContainsFunc(w.Pods, func(p model.Pod) bool { return p.Node == "" || p.Deleting() }) {
		return upstream.Move{}, false
	}
	q := question{world: w}
	r.mu.Lock()
	for i := range w.Claims {
		c := &w.Claims[i]
		if r.leaving[c.ProviderID] {
			q.leaving = append(q.leaving, c.ProviderID)
		}
		if r.awaited[c.Name].After(time.Now()) && c.ProviderID != "" {
			q.awaited = append(q.awaited, c.ProviderID)
		}
	}
	r.mu.Unlock()
	r.engine.questions <- q
	a := <-r.engine.answers
	return a.move, a.ok
}

// engine asks upstream's engine outside of virtual time: caches of upstream's are cleaned up by the garbage collector, which is outside. While it is
// asked no virtual time passes.
type engine struct {
	questions chan question
	answers   chan answer
}

type question struct {
	world            model.World
	leaving, awaited []string // provider ids
}

type answer struct {
	move upstream.Move
	ok   bool
}

// newEngine answers until questions is closed.
func newEngine(t *testing.T) *engine {
	e := &engine{make(chan question), make(chan answer)}
	go func() {
		for q := range e.questions {
			f, err := upstream.NewFleet(q.world)
			if err != nil {
				t.Error(err)
				e.answers <- answer{}
				continue
			}
			f.Leaving(q.leaving...)
			f.Awaited(q.awaited...)
			m, ok, err := f.Next()
			e.answers <- answer{m, ok && err == nil} // an error is that it counts on what is not there yet
		}
	}()
	return e
}

// begin closes the nodes of a command to pods and buys what replaces them. It returns the names of these claims.
func (r *rival) begin(w model.World, m upstream.Move) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands++
	for _, n := range m.Nodes {
		r.leaving[w.Index.Node(n).ProviderID] = true
		r.s.Store.EditNode(n, func(n *model.Node) { n.Cordoned = true })
	}
	for _, f := range m.Fits {
		if n := w.Index.Node(f.Node); n != nil {
			if c := w.Index.ClaimOf(n); c != nil {
				r.awaited[c.Name] = time.Now().Add(awaitedIn)
			}
		}
	}
	for i, b := range m.Buy {
		at := slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })
		buy := place.NewClaim{Pool: b.Pool, Pods: b.Pods, Options: []place.Option{{Key: b.Cheapest, Price: b.Price}}, Requirements: b.Claim.Requirements, Chosen: true}
		c := offer.Claim(buy, w.Pools[at], w.Classes[0], fmt.Sprintf("%s-upstream-%d-%d", b.Pool, r.commands, i))
		if _, err := r.s.Store.CreateClaim(context.Background(), c); err != nil {
			r.t.Error(err)
		}
		names, r.awaited[c.Name] = append(names, c.Name), time.Now().Add(giveUp)
	}
	return names
}

// end waits for what replaces the nodes of a command, and has them deleted; or opens them again where it does not come.
func (r *rival) end(ctx context.Context, w model.World, m upstream.Move, names []string) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, n := range m.Nodes {
			delete(r.leaving, w.Index.Node(n).ProviderID)
		}
		for _, name := range names {
			r.awaited[name] = time.Now().Add(awaitedIn)
		}
	}()
	for end := time.Now().Add(giveUp); !r.there(names); time.Sleep(time.Second) {
		if ctx.Err() != nil || time.Now().After(end) {
			for _, n := range m.Nodes {
				r.s.Store.EditNode(n, func(n *model.Node) { n.Cordoned = false })
			}
			return
		}
	}
	for _, n := range m.Nodes {
		if c := w.Index.ClaimOf(w.Index.Node(n)); c != nil {
			_ = r.s.Store.DeleteClaim(context.Background(), c.Name) // gone already
		}
	}
}

// decided counts the commands so far.
func (r *rival) decided() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commands
}

// there reports whether all claims are initialized.
func (r *rival) there(names []string) bool {
	n := 0
	for _, c := range r.s.Picture().Claims {
		if c.Is(model.Initialized) && slices.Contains(names, c.Name) {
			n++
		}
	}
	return n == len(names)
}

// print is a fingerprint of what upstream decides by.
func print(w model.World) uint64 {
	h := fnv.New64a()
	for i := range w.Claims {
		c := &w.Claims[i]
		fmt.Fprintln(h, c.Name, c.Deleting(), c.Is(model.Initialized), c.Is(model.Consolidatable))
	}
	for i := range w.Pods {
		fmt.Fprintln(h, w.Pods[i].Name, w.Pods[i].Node, w.Pods[i].Deleting())
	}
	return h.Sum64()
}
