package apikube

import (
	"cmp"
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
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// kind is one kind of API object that Follow tells, as one kind of noun.
type kind struct {
	name   string
	object client.Object
	list   func() client.ObjectList
	decode func(f *following, o client.Object) model.Object
	// key is the noun of which only the key is set, to say that it is gone.
	key func(name cache.ObjectName) model.Object
	// optional, when set, is a kind that only a feature needs: as long as the API server does not serve it, that feature waits.
	optional *schema.GroupVersionResource
}

// api is how the API knows a kind.
type api[O client.Object] struct {
	name   string
	object O
	list   client.ObjectList
}

// newKind describes a kind by its decoder; what it decodes of an object of another type is nothing.
func newKind[O client.Object, N model.Object](a api[O], decode func(*following, O) N, key func(namespace, name string) N) kind {
	return kind{
		name: a.name, object: a.object,
		list: func() client.ObjectList { return a.list.DeepCopyObject().(client.ObjectList) },
		decode: func(f *following, o client.Object) model.Object {
			if typed, ok := o.(O); ok {
				return decode(f, typed)
			}
			return nil
		},
		key: func(n cache.ObjectName) model.Object { return key(n.Namespace, n.Name) },
	}
}

// plainly is for decoders that need nothing of the Follow.
func plainly[O, N any](decode func(O) N) func(*following, O) N {
	return func(_ *following, o O) N { return decode(o) }
}

// kinds lists what Follow tells. Pools and classes come first only for readers; the kinds are told side by side.
func kinds() []kind {
	return []kind{
		newKind(api[*karpv1.NodePool]{"nodepools", &karpv1.NodePool{}, &karpv1.NodePoolList{}}, plainly(decodePool), func(_, n string) model.Pool { return model.Pool{Name: n} }),
		newKind(api[*v1beta1.AKSNodeClass]{"aksnodeclasses", &v1beta1.AKSNodeClass{}, &v1beta1.AKSNodeClassList{}}, plainly((*v1beta1.AKSNodeClass).Model), func(_, n string) model.Class {
			return model.Class{Ref: model.ClassRef{Group: v1beta1.Group, Kind: v1beta1.Kind, Name: n}}
		}),
		newKind(api[*karpv1.NodeClaim]{"nodeclaims", &karpv1.NodeClaim{}, &karpv1.NodeClaimList{}}, plainly(decodeClaim), func(_, n string) model.Claim { return model.Claim{Name: n} }),
		newKind(api[*corev1.Node]{"nodes", &corev1.Node{}, &corev1.NodeList{}}, plainly(decodeNode), func(_, n string) model.Node { return model.Node{Name: n} }),
		newKind(api[*corev1.Pod]{"pods", &corev1.Pod{}, &corev1.PodList{}}, func(f *following, p *corev1.Pod) *model.Pod { return f.shared.pod(p) },
			func(ns, n string) *model.Pod { return &model.Pod{Namespace: ns, Name: n} }),
		newKind(api[*appsv1.DaemonSet]{"daemonsets", &appsv1.DaemonSet{}, &appsv1.DaemonSetList{}}, plainly(decodeDaemon), func(ns, n string) model.Daemon {
			return model.Daemon{Namespace: ns, Name: n}
		}),
		newKind(api[*policyv1.PodDisruptionBudget]{"poddisruptionbudgets", &policyv1.PodDisruptionBudget{}, &policyv1.PodDisruptionBudgetList{}}, plainly(decodeBudget), func(ns, n string) model.PDB {
			return model.PDB{Namespace: ns, Name: n}
		}),
		newKind(api[*corev1.Namespace]{"namespaces", &corev1.Namespace{}, &corev1.NamespaceList{}}, plainly(decodeNamespace), func(_, n string) model.Namespace {
			return model.Namespace{Name: n}
		}),
		newKind(api[*storagev1.VolumeAttachment]{"volumeattachments", &storagev1.VolumeAttachment{}, &storagev1.VolumeAttachmentList{}}, plainly(decodeAttachment), func(_, n string) model.Attachment {
			return model.Attachment{Name: n}
		}),
		newKind(api[*corev1.PersistentVolume]{"persistentvolumes", &corev1.PersistentVolume{}, &corev1.PersistentVolumeList{}}, plainly(decodeVolume), func(_, n string) model.PersistentVolume {
			return model.PersistentVolume{Name: n}
		}),
		newKind(api[*corev1.PersistentVolumeClaim]{"persistentvolumeclaims", &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{}}, plainly(decodeVolumeClaim), func(ns, n string) model.VolumeClaim {
			return model.VolumeClaim{Namespace: ns, Name: n}
		}),
		newKind(api[*storagev1.StorageClass]{"storageclasses", &storagev1.StorageClass{}, &storagev1.StorageClassList{}}, plainly(decodeStorageClass), func(_, n string) model.StorageClass {
			return model.StorageClass{Name: n}
		}),
		newKind(api[*storagev1.CSINode]{"csinodes", &storagev1.CSINode{}, &storagev1.CSINodeList{}}, plainly(decodeCSINode), func(_, n string) model.CSINode {
			return model.CSINode{Name: n}
		}),
	}
}

// following is one running Follow. What it decodes of a pod is a *model.Pod, which tell hands on; all else is the noun itself.
type following struct {
	end    context.CancelCauseFunc
	shared interner

	mu       sync.Mutex // guards the fields below and makes calls of sink serial
	sink     kube.Sink
	waiting  int // kinds whose first list has not come yet
	failures map[string]int
}

// tell tells the sink, which keeps the noun. The caller holds mu.
func (f *following) tell(noun model.Object, gone bool) {
	p, ok := noun.(*model.Pod)
	switch {
	case !ok:
		f.sink.Apply(model.Change{Object: noun, Gone: gone})
	case gone:
		f.sink.Apply(model.Change{Object: *p, Gone: true})
	default:
		kube.TellPod(f.sink, p)
	}
}

// Follow implements kube.Store. Each kind has a reflector: a consistent list, then a watch, resumed where it broke off, and
// listed anew when that is not possible. What is kept of an object is its key.
func (s *Store) Follow(ctx context.Context, sink kube.Sink) error {
	outer := ctx
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	list, err := s.followed()
	if err != nil {
		return err
	}
	f := &following{end: end, sink: sink, waiting: len(list), failures: map[string]int{}}
	sink.Begin()
	var running sync.WaitGroup
	for _, k := range list {
		t := newTold(f, k)
		r := cache.NewReflectorWithOptions(s.listWatch(t), &row{}, t, cache.ReflectorOptions{Name: "karpenter", TypeDescription: k.name})
		running.Go(func() { r.RunWithContext(ctx) })
	}
	running.Wait()
	if outer.Err() != nil {
		return nil
	}
	return wrap(context.Cause(ctx), "follow")
}

// followed are the kinds to tell.
func (s *Store) followed() ([]kind, error) {
	list := append(kinds(), s.opt.Extras.kinds()...)
	for i := range list {
		if !s.opt.Spectator || list[i].optional != nil {
			continue
		}
		gvk, err := s.client.GroupVersionKindFor(list[i].object)
		if err != nil {
			return nil, wrap(err, "follow %s", list[i].name)
		}
		gvr := gvk.GroupVersion().WithResource(list[i].name)
		list[i].optional = &gvr
	}
	return list, nil
}

// listWatch reads one kind. Lists are consistent, never from a cache that may be behind: what a list does not show, the
// sink forgets.
func (s *Store) listWatch(t *told) *cache.ListWatch {
	f, k := t.f, t.kind
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.ResourceVersion == "0" {
				o.ResourceVersion, o.ResourceVersionMatch = "", ""
			}
			out, err := s.list(ctx, f, k, o)
			t.result(ctx, err)
			return out, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := s.watch(ctx, k, o)
			t.result(ctx, err)
			if err != nil {
				return nil, err
			}
			return newDecodingWatch(w, f, k), nil
		},
	}
}

func (s *Store) watch(ctx context.Context, k kind, o metav1.ListOptions) (watch.Interface, error) {
	if c, ok := s.custom(k.object); ok {
		return c.watch(ctx, o)
	}
	return s.client.Watch(ctx, k.list(), &client.ListOptions{Raw: &o})
}

// result counts failures in a row, and ends the Follow when trying on makes no sense: we may not, there is no such kind, or
// it has failed too often. An optional kind that is not there, or that we may not read, ends nothing: the reflector tries on, with pauses
// that grow to half a minute.
func (t *told) result(ctx context.Context, err error) {
	f, name := t.f, t.kind.name
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.failures[name] = 0
		t.served()
		return
	}
	if ctx.Err() != nil {
		return
	}
	code := codeOf(err)
	if t.kind.optional != nil && (code == kube.Denied || code == kube.NotFound) {
		t.unserved(err)
		return
	}
	f.failures[name]++
	if code == kube.Denied || code == kube.NotFound || f.failures[name] >= FollowFailures {
		f.end(wrap(err, "%s", name))
	}
}

// told is the reflector's store for one kind: it tells the sink and keeps only keys, to say what a new list lacks.
type told struct {
	f    *following
	kind kind

	// f.mu guards the fields below.
	keys   map[cache.ObjectName]bool
	listed bool   // a first list came, or there is none to wait for
	absent string // what was told of why the API server does not serve the kind
}

func newTold(f *following, k kind) *told {
	return &told{f: f, kind: k, keys: map[cache.ObjectName]bool{}}
}

func (t *told) one(obj any, gone bool) error {
	r, ok := obj.(*row)
	if !ok {
		return fmt.Errorf("%s: the watch gave a %T", t.kind.name, obj)
	}
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	t.tell(r, gone)
	return nil
}

func (t *told) tell(r *row, gone bool) {
	key := cache.NewObjectName(r.Namespace, r.Name)
	if gone {
		delete(t.keys, key)
		t.f.tell(t.kind.key(key), true)
		return
	}
	if r.noun != nil {
		t.keys[key] = true
		t.f.tell(r.noun, false)
	}
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
		r, ok := obj.(*row)
		if !ok {
			return fmt.Errorf("%s: the list holds a %T", t.kind.name, obj)
		}
		t.tell(r, false)
	}
	t.lost(old)
	t.arrived()
	return nil
}

// lost tells that those of old that are no longer among the keys are gone. f.mu is held.
func (t *told) lost(old map[cache.ObjectName]bool) {
	var lost []cache.ObjectName
	for key := range maps.Keys(old) {
		if !t.keys[key] {
			lost = append(lost, key)
		}
	}
	slices.SortFunc(lost, func(a, b cache.ObjectName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range lost {
		t.f.tell(t.kind.key(key), true)
	}
}

// arrived notes the first list. f.mu is held.
func (t *told) arrived() {
	if t.listed {
		return
	}
	t.listed = true
	if t.f.waiting--; t.f.waiting == 0 {
		t.f.sink.Synced()
	}
}

// unserved tells that there is nothing to be told of the kind for now, so that nobody waits for it. Objects go with their CRD; what we
// may no longer read stays as it was told last. f.mu is held.
func (t *told) unserved(err error) {
	if why := err.Error(); why != t.absent {
		t.absent = why
		gvr := t.kind.optional
		t.f.sink.Apply(model.Change{Object: model.Unserved{Resource: gvr.GroupResource().String(), Version: gvr.Version, Message: why}})
	}
	if codeOf(err) == kube.NotFound {
		old := t.keys
		t.keys = map[cache.ObjectName]bool{}
		t.lost(old)
	}
	t.arrived()
}

// served tells that the kind is there (again). f.mu is held.
func (t *told) served() {
	if t.absent != "" {
		t.absent = ""
		t.f.sink.Apply(model.Change{Object: model.Unserved{Resource: t.kind.optional.GroupResource().String()}, Gone: true})
	}
}
