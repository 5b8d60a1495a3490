package apikube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// FollowFailures is how many lists or watches of one kind may fail in a row before Follow gives up. The reflector waits
// longer after each, so that this is about ten seconds.
const FollowFailures = 4

// kind is one kind of API object that Follow tells.
type kind struct {
	name   string
	object client.Object
	list   func() client.ObjectList
	// tell is called with the lock of the Follow held.
	tell func(f *following, o client.Object, gone bool)
}

// plainly tells an object as the one noun it decodes to.
func plainly[O client.Object, N model.Object](decode func(O) N, key func(namespace, name string) N) func(*following, client.Object, bool) {
	return func(f *following, o client.Object, gone bool) {
		if gone {
			f.sink.Apply(model.Change{Object: key(o.GetNamespace(), o.GetName()), Gone: true})
			return
		}
		if typed, ok := o.(O); ok {
			f.sink.Apply(model.Change{Object: decode(typed)})
		}
	}
}

// kinds lists what Follow tells. Pools and classes come first only for readers; the kinds are told side by side.
func kinds() []kind {
	return []kind{
		{"nodepools", &karpv1.NodePool{}, func() client.ObjectList { return &karpv1.NodePoolList{} },
			plainly(decodePool, func(_, n string) model.Pool { return model.Pool{Name: n} })},
		{"aksnodeclasses", &v1beta1.AKSNodeClass{}, func() client.ObjectList { return &v1beta1.AKSNodeClassList{} },
			plainly((*v1beta1.AKSNodeClass).Model, func(_, n string) model.Class {
				return model.Class{Ref: model.ClassRef{Group: v1beta1.Group, Kind: v1beta1.Kind, Name: n}}
			})},
		{"nodeclaims", &karpv1.NodeClaim{}, func() client.ObjectList { return &karpv1.NodeClaimList{} },
			plainly(decodeClaim, func(_, n string) model.Claim { return model.Claim{Name: n} })},
		{"nodes", &corev1.Node{}, func() client.ObjectList { return &corev1.NodeList{} },
			plainly(decodeNode, func(_, n string) model.Node { return model.Node{Name: n} })},
		{"pods", &corev1.Pod{}, func() client.ObjectList { return &corev1.PodList{} },
			plainly(decodePod, func(ns, n string) model.Pod { return model.Pod{Namespace: ns, Name: n} })},
		{"daemonsets", &appsv1.DaemonSet{}, func() client.ObjectList { return &appsv1.DaemonSetList{} },
			plainly(decodeDaemon, func(ns, n string) model.Daemon { return model.Daemon{Namespace: ns, Name: n} })},
		{"poddisruptionbudgets", &policyv1.PodDisruptionBudget{}, func() client.ObjectList { return &policyv1.PodDisruptionBudgetList{} },
			plainly(decodeBudget, func(ns, n string) model.PDB { return model.PDB{Namespace: ns, Name: n} })},
		{"volumeattachments", &storagev1.VolumeAttachment{}, func() client.ObjectList { return &storagev1.VolumeAttachmentList{} }, tellAttachment},
		{"persistentvolumes", &corev1.PersistentVolume{}, func() client.ObjectList { return &corev1.PersistentVolumeList{} }, tellVolume},
	}
}

// following is one running Follow.
type following struct {
	end context.CancelCauseFunc

	mu       sync.Mutex // guards the fields below and makes calls of sink serial
	sink     kube.Sink
	waiting  int // kinds whose first list has not come yet
	failures map[string]int
	volumes  volumes
}

// Follow implements kube.Store. Each kind has a reflector: a consistent list, then a watch, resumed where it broke off, and
// listed anew when that is not possible. What is kept of an object is its key.
func (s *Store) Follow(ctx context.Context, sink kube.Sink) error {
	outer := ctx
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	list := kinds()
	f := &following{end: end, sink: sink, waiting: len(list), failures: map[string]int{}, volumes: newVolumes()}
	sink.Begin()
	var running sync.WaitGroup
	for _, k := range list {
		r := cache.NewReflectorWithOptions(s.listWatch(f, k), k.object, newTold(f, k),
			cache.ReflectorOptions{Name: "karpenter", TypeDescription: k.name})
		running.Go(func() { r.RunWithContext(ctx) })
	}
	running.Wait()
	if outer.Err() != nil {
		return nil
	}
	return wrap(context.Cause(ctx), "follow")
}

// listWatch reads one kind. Lists are consistent, never from a cache that may be behind: what a list does not show, the
// sink forgets.
func (s *Store) listWatch(f *following, k kind) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.ResourceVersion == "0" {
				o.ResourceVersion, o.ResourceVersionMatch = "", ""
			}
			out := k.list()
			err := s.client.List(ctx, out, &client.ListOptions{Raw: &o, Limit: o.Limit, Continue: o.Continue})
			f.result(ctx, k.name, err)
			return out, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := s.client.Watch(ctx, k.list(), &client.ListOptions{Raw: &o})
			f.result(ctx, k.name, err)
			return w, err
		},
	}
}

// result counts failures in a row, and ends the Follow when trying on makes no sense: we may not, there is no such kind, or
// it has failed too often.
func (f *following) result(ctx context.Context, name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.failures[name] = 0
		return
	}
	if ctx.Err() != nil {
		return
	}
	f.failures[name]++
	code := codeOf(err)
	if code == kube.Denied || code == kube.NotFound || f.failures[name] >= FollowFailures {
		f.end(wrap(err, "%s", name))
	}
}

// told is the reflector's store for one kind: it tells the sink and keeps only keys, to say what a new list lacks.
type told struct {
	f      *following
	kind   kind
	keys   map[cache.ObjectName]bool // guarded by f.mu
	listed bool
}

func newTold(f *following, k kind) *told {
	return &told{f: f, kind: k, keys: map[cache.ObjectName]bool{}}
}

func (t *told) one(obj any, gone bool) error {
	o, ok := obj.(client.Object)
	if !ok {
		return fmt.Errorf("%s: the watch gave a %T", t.kind.name, obj)
	}
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	t.tell(o, gone)
	return nil
}

func (t *told) tell(o client.Object, gone bool) {
	key := cache.MetaObjectToName(o)
	if gone {
		delete(t.keys, key)
	} else {
		t.keys[key] = true
	}
	t.kind.tell(t.f, o, gone)
}

// Add, Update and Delete implement cache.ReflectorStore.
func (t *told) Add(obj any) error    { return t.one(obj, false) }
func (t *told) Update(obj any) error { return t.one(obj, false) }
func (t *told) Delete(obj any) error { return t.one(obj, true) }

// Resync implements cache.ReflectorStore; there is nothing to go through again.
func (t *told) Resync() error { return nil }

// Replace implements cache.ReflectorStore: a whole list. What was told before and is not in it is gone.
func (t *told) Replace(list []any, _ string) error {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	old := t.keys
	t.keys = make(map[cache.ObjectName]bool, len(list))
	for _, obj := range list {
		o, ok := obj.(client.Object)
		if !ok {
			return fmt.Errorf("%s: the list holds a %T", t.kind.name, obj)
		}
		t.tell(o, false)
	}
	var lost []cache.ObjectName
	for key := range maps.Keys(old) {
		if !t.keys[key] {
			lost = append(lost, key)
		}
	}
	slices.SortFunc(lost, func(a, b cache.ObjectName) int { return compareNames(a, b) })
	for _, key := range lost {
		t.kind.tell(t.f, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, true)
	}
	if !t.listed {
		t.listed = true
		if t.f.waiting--; t.f.waiting == 0 {
			t.f.sink.Synced()
		}
	}
	return nil
}
