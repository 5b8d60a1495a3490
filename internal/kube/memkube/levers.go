package memkube

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Put creates the object, or replaces it as an update by someone else would: UID and creation time are kept, and filled in
// when new. A claim, pool or class whose spec someone changes should come with its Generation raised. A node must have
// a name, and so on: Put panics on kinds that are no part of the cluster, because then the test is wrong.
func (s *Store) Put(objects ...model.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		s.put(o)
	}
}

func (s *Store) put(o model.Object) {
	switch o := o.(type) {
	case model.Pool:
		s.born(&o.UID, &o.Created, s.pools[o.Name].UID, s.pools[o.Name].Created)
		o.Generation = max(o.Generation, 1)
		keep(s, s.pools, o)
	case model.Class:
		var ignored time.Time // classes keep no creation time
		s.born(&o.UID, &ignored, s.classes[o.ObjectKey()].UID, ignored)
		o.Generation = max(o.Generation, 1)
		s.storeClass(o)
	case model.Claim:
		s.born(&o.UID, &o.Created, s.claims[o.Name].UID, s.claims[o.Name].Created)
		o.Generation = max(o.Generation, 1)
		s.storeClaim(o)
	case model.Node:
		s.born(&o.UID, &o.Created, s.nodes[o.Name].UID, s.nodes[o.Name].Created)
		s.storeNode(o)
	case model.Pod:
		s.born(&o.UID, &o.Created, s.pods[o.ObjectKey()].UID, s.pods[o.ObjectKey()].Created)
		keep(s, s.pods, o)
	case model.Daemon:
		keep(s, s.daemons, o)
	case model.PDB:
		o.Pods = nil // resolved by the mirror
		keep(s, s.budgets, o)
	case model.Attachment:
		o.Pods = nil // resolved by the mirror
		keep(s, s.attachments, o)
	case model.Overlay, model.Buffer, model.Template:
		s.putExtra(o)
	default:
		if !s.putPlain(o) {
			panic(fmt.Sprintf("memkube: a cluster has no %T", o))
		}
	}
}

// putPlain puts what has no UID and no life of its own here: nobody makes volumes, and a claim is bound only when it and
// its volume name each other.
func (s *Store) putPlain(o model.Object) bool {
	switch o := o.(type) {
	case model.Namespace:
		keep(s, s.namespaces, o)
	case model.VolumeClaim:
		v := s.volumes[o.Volume]
		o.Bound = o.Bound || v.ClaimNamespace == o.Namespace && v.ClaimName == o.Name
		keep(s, s.volumeClaims, o)
	case model.PersistentVolume:
		keep(s, s.volumes, o)
		if c, ok := s.volumeClaims[o.ClaimNamespace+"/"+o.ClaimName]; ok && c.Volume == o.Name {
			c.Bound = true
			keep(s, s.volumeClaims, c)
		}
	case model.StorageClass:
		keep(s, s.storageClasses, o)
	case model.CSINode:
		keep(s, s.csiNodes, o)
	default:
		return false
	}
	return true
}

// born fills in what a new object gets, from the old object of that name if there is one.
func (s *Store) born(uid *string, created *time.Time, oldUID string, oldCreated time.Time) {
	if *uid == "" {
		*uid = oldUID
	}
	if *uid == "" {
		*uid = s.uid()
	}
	if created.IsZero() {
		*created = oldCreated
	}
	if created.IsZero() {
		*created = second()
	}
}

// DeletePool deletes the pool, as a person would; the claims that it owns are deleted with it.
func (s *Store) DeletePool(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pools[name]
	if !ok {
		return
	}
	delete(s.pools, name)
	s.tell(model.Change{Object: model.Pool{Name: name}, Gone: true})
	for _, key := range sorted(s.claims) {
		if c := s.claims[key]; c.PoolUID == p.UID {
			s.deleteClaim(c)
		}
	}
}

// DeleteClass asks for the class to go; finalizers keep it.
func (s *Store) DeleteClass(ref model.ClassRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.classes[model.Class{Ref: ref}.ObjectKey()]; ok {
		c.Deleting = true
		s.storeClass(c)
	}
}

// Delete asks for the claim or the node to go, as a person or another controller would: no fault is met. Only the name is read.
// It panics on other kinds: they have levers of their own.
func (s *Store) Delete(o model.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := o.(type) {
	case model.Claim:
		if c, ok := s.claims[o.Name]; ok {
			s.deleteClaim(c)
		}
	case model.Node:
		if n, ok := s.nodes[o.Name]; ok {
			s.deleteNode(n)
		}
	default:
		panic(fmt.Sprintf("memkube: Delete takes no %T", o))
	}
}

// DeletePod deletes the pod, as a person would: with its own grace, asking no budget.
func (s *Store) DeletePod(key model.PodKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.pods[key.String()]; ok {
		s.terminate(p, nil)
	}
}

// EndPod removes the pod at once: its containers have ended.
func (s *Store) EndPod(key model.PodKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.pods[key.String()]; ok {
		s.dropPod(p)
	}
}

// Remove takes away daemons, budgets, attachments, namespaces (empty ones) and storage at once; only the key fields are
// read. It panics on other kinds: they have levers of their own.
func (s *Store) Remove(o model.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := o.(type) {
	case model.Daemon:
		delete(s.daemons, o.ObjectKey())
	case model.PDB:
		delete(s.budgets, o.ObjectKey())
	case model.Attachment:
		delete(s.attachments, o.ObjectKey())
	case model.Namespace:
		delete(s.namespaces, o.ObjectKey())
	case model.VolumeClaim:
		delete(s.volumeClaims, o.ObjectKey())
	case model.PersistentVolume:
		delete(s.volumes, o.ObjectKey())
	case model.StorageClass:
		delete(s.storageClasses, o.ObjectKey())
	case model.CSINode:
		delete(s.csiNodes, o.ObjectKey())
	case model.Overlay:
		delete(s.overlays, o.ObjectKey())
	case model.Buffer:
		delete(s.buffers, o.ObjectKey())
	case model.Template:
		delete(s.templates, o.ObjectKey())
	default:
		panic(fmt.Sprintf("memkube: Remove takes no %T", o))
	}
	s.tell(model.Change{Object: o, Gone: true})
}

// BindPod does what the scheduler and the kubelet do: the pod is on the node, started and ready.
func (s *Store) BindPod(key model.PodKey, node string) {
	s.EditPod(key, func(p *model.Pod) {
		p.Node, p.Unschedulable, p.Nominated = node, false, ""
		p.Started, p.PodReady = second(), true
	})
}

// SetNodeReady sets the node's Ready status.
func (s *Store) SetNodeReady(name string, ready model.Status) {
	s.EditNode(name, func(n *model.Node) {
		if n.Ready != ready {
			n.Ready, n.ReadySince = ready, second()
		}
	})
}

// EditPod changes a pod as someone else would. edit gets a copy; maps and slices in it must be replaced, not changed.
// Nothing happens when there is no such pod.
func (s *Store) EditPod(key model.PodKey, edit func(*model.Pod)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.pods[key.String()]; ok {
		edit(&p)
		keep(s, s.pods, p)
	}
}

// EditNode is EditPod for nodes.
func (s *Store) EditNode(name string, edit func(*model.Node)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.nodes[name]; ok {
		edit(&n)
		s.storeNode(n)
	}
}

// SetCluster sets what Cluster answers.
func (s *Store) SetCluster(c model.Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster = c
}

// SetWindow announces a maintenance window; the zero one takes it back.
func (s *Store) SetWindow(w model.MaintenanceWindow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window = w
}

// Objects returns everything that is in the cluster, lists sorted by key, for assertions. Budgets and attachments do not
// name their pods: that is the mirror's work.
func (s *Store) Objects() model.World {
	s.mu.Lock()
	defer s.mu.Unlock()
	return model.World{
		Pools: values(s.pools), Classes: values(s.classes), Claims: values(s.claims), Nodes: values(s.nodes),
		Pods: values(s.pods), Daemons: values(s.daemons), PDBs: values(s.budgets), Attachments: values(s.attachments),
		Overlays: values(s.overlays), Buffers: values(s.buffers), Templates: values(s.templates),
		Namespaces: values(s.namespaces),
	}
}

// Daemons returns the daemon sets, sorted by key.
func (s *Store) Daemons() []model.Daemon {
	s.mu.Lock()
	defer s.mu.Unlock()
	return values(s.daemons)
}

// PodsOn returns the keys of the pods that are bound to the node, sorted. O(pods).
func (s *Store) PodsOn(node string) (keys []model.PodKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		if p.Node == node {
			keys = append(keys, p.Key())
		}
	}
	slices.SortFunc(keys, func(a, b model.PodKey) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// Version grows with every change of an object.
func (s *Store) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func values[T any](m map[string]T) []T {
	if len(m) == 0 {
		return nil
	}
	out := make([]T, 0, len(m))
	for _, key := range sorted(m) {
		out = append(out, m[key])
	}
	return out
}

// NodeOwner returns the UID of the claim that owns the node, "" when none does.
func (s *Store) NodeOwner(node string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodeOwner[node]
}

// EventLimit bounds how many events are kept; the oldest go first.
const EventLimit = 10_000

// How long an equal event is not said again.
const (
	quiet           = 2 * time.Minute
	quietScheduling = 5 * time.Minute // for FailedScheduling
)

// Said is an event as people got it.
type Said struct {
	kube.Event
	At time.Time
}

// Announce implements kube.Store: it keeps the event for assertions, unless an equal one was said a short while ago.
func (s *Store) Announce(e kube.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	window := quiet
	if e.Reason == "FailedScheduling" {
		window = quietScheduling
	}
	now, key := time.Now(), line{e.Reason, e.Message, about(e.About)}
	if last, known := s.lately[key]; known && now.Sub(last) < window {
		return
	}
	if len(s.lately) >= EventLimit {
		maps.DeleteFunc(s.lately, func(_ line, last time.Time) bool { return now.Sub(last) >= quietScheduling })
	}
	s.lately[key] = now
	if len(s.said) >= EventLimit {
		s.said = s.said[1:]
	}
	s.said = append(s.said, Said{e, now})
}

// line is what makes events equal.
type line struct{ reason, message, about string }

func about(o model.Object) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%T %s", o, o.ObjectKey())
}

// Events returns what was announced, oldest first.
func (s *Store) Events() []Said {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Said(nil), s.said...)
}
