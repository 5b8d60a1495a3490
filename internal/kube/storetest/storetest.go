// Package storetest answers: does a cluster door behave as its users rely on?
//
// It is the exam that the twin and the real store both sit. A store brings levers that play the rest of the cluster; the exam
// asks through kube.Store and looks through Follow. It does not test decoding in detail, nor speed.
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// World is a cluster with nothing of ours in it, and the levers of its other inhabitants. Levers fail the test when
// they cannot do what they are asked.
type World interface {
	Store() kube.Store
	// PutClass creates a class that machines of this cluster can use, and returns its name.
	PutClass(t *testing.T, name string) model.ClassRef
	// PutPool creates a pool with that class, no requirements and defaults for the rest.
	PutPool(t *testing.T, name string, class model.ClassRef)
	// PutNode creates a node; name, provider id, labels and taints count.
	PutNode(t *testing.T, n model.Node)
	// PutPod creates a pod in namespace "default", bound to p.Node and ready; without a node, it waits. Name, labels, node
	// selector and grace count.
	PutPod(t *testing.T, p model.Pod)
	// PutBudget creates a disruption budget in namespace "default" over the pods with these labels, which exist already, and
	// returns once it allows exactly so many.
	PutBudget(t *testing.T, name string, labels map[string]string, allowed int)
	// PutOverlay creates an overlay; all of its spec counts. Generation and status are the cluster's.
	PutOverlay(t *testing.T, o model.Overlay)
	// PutTemplate creates a PodTemplate or Deployment in namespace "default"; kind, name, replicas and of its pod labels,
	// node selector and cpu count.
	PutTemplate(t *testing.T, x model.Template)
	// PutBuffer creates a buffer in namespace "default"; all of its spec counts.
	PutBuffer(t *testing.T, b model.Buffer)
	// Tokens lists the bootstrap tokens, "id.secret", that the cluster takes now, by the UID of the claim they were made for.
	Tokens(t *testing.T) map[string][]string
	// Another is the store of a process that started later and remembers nothing.
	Another(t *testing.T) kube.Store
	// DeletePod takes a pod away at once.
	DeletePod(t *testing.T, name string)
	// Put creates a namespace, volume claim, volume, storage class or CSI node. A claim that names a volume which names the
	// claim gets bound.
	Put(t *testing.T, o model.Object)
	// Remove takes one of these away; nothing may use it any more.
	Remove(t *testing.T, o model.Object)
	// SetWindow announces a maintenance window as AKS does, in place of any before.
	SetWindow(t *testing.T, w model.MaintenanceWindow)
}

// Patience bounds how long the exam waits for a change to be told. Nothing waits that long unless it fails; a real
// garbage collector may need half a minute to notice a new kind.
const Patience = 2 * time.Minute

// Run asks every question, each in a fresh world.
func Run(t *testing.T, newWorld func(t *testing.T) World) {
	for _, q := range []struct {
		name string
		ask  func(t *testing.T, w World)
	}{
		{"a created claim is told with its finalizer", createdClaimIsTold},
		{"a taken name is refused", takenName},
		{"a claim without a class is refused", invalidClaim},
		{"a patch changes only what it names", patchOnlyNamed},
		{"a condition's time moves only with its status", conditionTimes},
		{"conditions stand in the order in which they came, Ready last", conditionOrder},
		{"a dropped condition is gone and the others stay", dropCondition},
		{"an annotation of no value is gone and the others stay", dropAnnotation},
		{"a patch for another object of that name finds nothing", patchWrongUID},
		{"what is not there is not found", notFound},
		{"a deleted claim stays until its finalizer is dropped", deleteClaim},
		{"adding a finalizer that is there changes nothing", finalizerTwice},
		{"node taints are added, replaced and dropped", nodeTaints},
		{"a node's labels and finalizer", nodeFinalizer},
		{"a pool's status is told", poolStatus},
		{"a class's status is told", classStatus},
		{"an overlay is told, and its status", overlayStatus},
		{"a buffer is told with what it names, and its status", bufferStatus},
		{"eviction respects a disruption budget", evict},
		{"force asks no budget", force},
		{"a pod of another UID is not removed", removeWrongUID},
		{"a node is nominated for a waiting pod", nominate},
		{"a token is made once and dropped", tokens},
		{"a token ends within half an hour", tokenLife},
		{"a process that remembers nothing makes another token, and drops both", tokenAnew},
		{"tokens of different claims differ", tokensDiffer},
		{"storage, drivers and namespaces are told", storageIsTold},
		{"a claim is told as bound once it is", boundClaim},
		{"following again tells everything and what vanished", followAgain},
		{"two may follow at once", followTwice},
		{"the cluster says how to join", cluster},
		{"a maintenance window is read when one is announced", maintenanceWindow},
		{"announcing neither fails nor blocks", announce},
		{"a node goes with the claim that owns it", ownedNode}, // last: a real collector needs time to learn of claims
	} {
		t.Run(q.name, func(t *testing.T) { q.ask(t, newWorld(t)) })
	}
}

// picture is a sink that remembers what it was told, and counts.
type picture struct {
	mu      sync.Mutex
	objects map[string]model.Object
	told    map[string]int // in the current Follow, deletions included
	seen    map[string]bool
	synced  bool
	moved   chan struct{} // closed and replaced whenever something changes
}

func newPicture() *picture {
	return &picture{objects: map[string]model.Object{}, moved: make(chan struct{})}
}

func (p *picture) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.moved)
	p.moved = make(chan struct{})
}

// Begin implements kube.Sink.
func (p *picture) Begin() {
	p.change(func() { p.told, p.seen, p.synced = map[string]int{}, map[string]bool{}, false })
}

// Apply implements kube.Sink.
func (p *picture) Apply(c model.Change) {
	p.change(func() {
		key := keyOf(c.Object)
		p.told[key]++
		p.seen[key] = true
		if c.Gone {
			delete(p.objects, key)
		} else {
			p.objects[key] = c.Object
		}
	})
}

// Synced implements kube.Sink.
func (p *picture) Synced() {
	p.change(func() {
		for key := range p.objects {
			if !p.seen[key] {
				delete(p.objects, key)
			}
		}
		p.synced = true
	})
}

func keyOf(o model.Object) string {
	switch o.(type) {
	case model.Claim:
		return "claim " + o.ObjectKey()
	case model.Node:
		return "node " + o.ObjectKey()
	case model.Pod:
		return "pod " + o.ObjectKey()
	case model.Pool:
		return "pool " + o.ObjectKey()
	case model.Class:
		return "class " + o.ObjectKey()
	case model.PDB:
		return "budget " + o.ObjectKey()
	case model.Overlay:
		return "overlay " + o.ObjectKey()
	case model.Buffer:
		return "buffer " + o.ObjectKey()
	case model.Template:
		return "template " + o.ObjectKey()
	}
	return fmt.Sprintf("%T %s", o, o.ObjectKey())
}

// follow follows the store in the background; stop ends it and waits.
func follow(t *testing.T, s kube.Store, p *picture) (stop func()) {
	t.Helper()
	p.change(func() { p.synced = false })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Follow(ctx, p) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Follow returned %v when its context ended", err)
		}
	})
	t.Cleanup(stop)
	p.await(t, "synced", func() bool { return p.synced })
	return stop
}

// await waits until ok, which may read the picture, holds.
func (p *picture) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	for {
		p.mu.Lock()
		good, moved := ok(), p.moved
		p.mu.Unlock()
		if good {
			return
		}
		select {
		case <-moved:
		case <-limit.C:
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Fatalf("waited %v in vain: %s; told: %v", Patience, what, p.objects)
		}
	}
}

// see waits until the object of T's kind and that key satisfies ok, and returns it.
func see[T model.Object](t *testing.T, p *picture, like T, ok func(T) bool) T {
	t.Helper()
	var out T
	p.await(t, "a change of "+keyOf(like), func() bool {
		o, found := p.objects[keyOf(like)].(T)
		out = o
		return found && ok(o)
	})
	return out
}

func gone(t *testing.T, p *picture, like model.Object) {
	t.Helper()
	p.await(t, keyOf(like)+" gone", func() bool { _, there := p.objects[keyOf(like)]; return !there })
}

func any1[T any](T) bool { return true }

func code(t *testing.T, err error, want kube.Code) {
	t.Helper()
	if got := kube.CodeOf(err); got != want {
		t.Errorf("got code %q (%v), want %q", got, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a world with a class, a pool and somebody following.
type bench struct {
	World
	s     kube.Store
	p     *picture
	class model.ClassRef
	pool  model.Pool
}

func newBench(t *testing.T, w World) bench {
	t.Helper()
	b := bench{World: w, s: w.Store(), p: newPicture()}
	b.class = w.PutClass(t, "exam")
	w.PutPool(t, "exam", b.class)
	follow(t, b.s, b.p)
	b.pool = see(t, b.p, model.Pool{Name: "exam"}, any1)
	return b
}

// claim creates a claim of the bench's pool.
func (b bench) claim(t *testing.T, name string) model.Claim {
	t.Helper()
	c, err := b.s.CreateClaim(t.Context(), b.order(name))
	must(t, err)
	return c
}

func (b bench) order(name string) model.Claim {
	never := (*time.Duration)(nil)
	grace := 90 * time.Second
	return model.Claim{
		Name: name, Pool: b.pool.Name, PoolUID: b.pool.UID, Class: b.class,
		Labels:      map[string]string{model.LabelPool: b.pool.Name},
		Annotations: map[string]string{model.AnnotationPoolHash: "1", model.AnnotationPoolHashVersion: "v3"},
		Requirements: []model.Requirement{
			{Key: model.LabelInstanceType, Op: model.In, Values: []string{"Standard_D2s_v5", "Standard_D4s_v5"}, MinValues: 1},
			{Key: model.LabelArch, Op: model.Exists},
		},
		Requests:               model.Resources{CPU: 1500, Memory: 3 << 30, Pods: 4, Extended: map[string]int64{"nvidia.com/gpu": 1}},
		Taints:                 []model.Taint{{Key: "team", Value: "a", Effect: model.NoSchedule}},
		StartupTaints:          []model.Taint{{Key: "starting", Effect: model.NoExecute}},
		ExpireAfter:            never,
		TerminationGracePeriod: &grace,
	}
}
