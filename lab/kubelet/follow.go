package kubelet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// byNode is the index of pods by the name of their node.
const byNode = "node"

// follow prepares the watches that all machines share. A kubelet watches its own pods; one watch for all of them
// costs the API server a hundredth of a hundred watches and shows the same.
func (h *Host) follow() error {
	bound := fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	h.pods = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = bound
			return h.admin.Pods("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = bound
			return h.admin.Pods("").Watch(ctx, o)
		},
	}, &corev1.Pod{}, 0, cache.Indexers{byNode: func(obj any) ([]string, error) {
		return []string{obj.(*corev1.Pod).Spec.NodeName}, nil
	}})
	h.nodes = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return h.admin.Nodes().List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return h.admin.Nodes().Watch(ctx, o)
		},
	}, &corev1.Node{}, 0, cache.Indexers{})
	h.attachments = h.newAttachments()
	for _, informer := range []cache.SharedIndexInformer{h.pods, h.nodes, h.attachments} {
		if err := informer.SetTransform(slim); err != nil {
			return err
		}
	}
	if _, err := h.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h.deliver(obj, false) },
		UpdateFunc: func(_, obj any) { h.deliver(obj, false) },
		DeleteFunc: func(obj any) { h.deliver(obj, true) },
	}); err != nil {
		return err
	}
	if _, err := h.attachments.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h.careForAttachment(obj) },
		UpdateFunc: func(_, obj any) { h.careForDetachment(obj) },
	}); err != nil {
		return err
	}
	_, err := h.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h.careFor(obj) },
		UpdateFunc: func(_, obj any) { h.careFor(obj) },
		DeleteFunc: func(obj any) { h.careFor(obj) },
	})
	return err
}

// slim drops what nothing here reads and what is most of an object's size.
func slim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// deliver passes news of a pod to its machine. Pods on nodes that are none of ours are nobody's business here.
func (h *Host) deliver(obj any, gone bool) {
	if t, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = t.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	if mc := h.machine(pod.Spec.NodeName); mc != nil {
		mc.deliver(podNews{pod: pod, gone: gone})
	}
}

// deliverAll tells a machine that has just been switched on of the pods that were bound to its name before. The
// machine's lock is held over the look-up, so that no later news can be overwritten by earlier.
func (h *Host) deliverAll(mc *machine) {
	mc.mu.Lock()
	defer mc.mu.Unlock()
	objs, err := h.pods.GetIndexer().ByIndex(byNode, mc.Name)
	if err != nil {
		return // the index exists: follow made it
	}
	for _, obj := range objs {
		pod := obj.(*corev1.Pod)
		mc.inbox[pod.UID] = podNews{pod: pod}
	}
}

// shows reports whether the shared watch still has this very pod.
func (h *Host) shows(pod *corev1.Pod) bool {
	obj, ok, err := h.pods.GetIndexer().GetByKey(pod.Namespace + "/" + pod.Name)
	return ok && err == nil && obj.(*corev1.Pod).UID == pod.UID
}

// node returns the node as the shared watch last saw it, or nil. It must not be changed.
func (h *Host) node(name string) *corev1.Node {
	obj, ok, err := h.nodes.GetIndexer().GetByKey(name)
	if !ok || err != nil {
		return nil
	}
	return obj.(*corev1.Node)
}

// Pods lists the pods that have a node, in no order. They must not be changed.
func (h *Host) Pods() []*corev1.Pod { return listed[*corev1.Pod](h.pods) }

// Nodes lists the nodes, in no order. They must not be changed.
func (h *Host) Nodes() []*corev1.Node { return listed[*corev1.Node](h.nodes) }

func listed[T any](from cache.SharedIndexInformer) []T {
	var out []T
	for _, obj := range from.GetIndexer().List() {
		if x, ok := obj.(T); ok {
			out = append(out, x)
		}
	}
	return out
}
