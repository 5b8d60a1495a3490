package kubelet

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/karpenter-aks/karpenter/lab"
)

// tended is a node that this host, in the role of the cloud's node manager, knows to be one of its machines.
type tended struct {
	providerID string
	gone       time.Time // when its machine was switched off; zero = it is on
}

// careFor asks for a look at a node: it changed.
func (h *Host) careFor(obj any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		h.care.Add(key)
	}
}

// tendNodes is the stand-in for AKS' cloud node manager, for the part of cilium that removes the startup taint, and for the
// disk driver's controller. One goroutine is enough: a node needs three writes in its life, an attachment one.
func (h *Host) tendNodes() {
	for {
		name, shut := h.care.Get()
		if shut {
			return
		}
		again, err := h.tendAny(name)
		switch {
		case err != nil:
			if !apierrors.IsConflict(err) && h.ctx.Err() == nil {
				h.cfg.Log.Warn("node manager: will be tried again", "node", name, "error", err.Error())
			}
			h.care.AddRateLimited(name)
		case again > 0:
			h.care.Forget(name)
			h.care.AddAfter(name, again)
		default:
			h.care.Forget(name)
		}
		h.care.Done(name)
	}
}

// tendAny looks at what the key names.
func (h *Host) tendAny(key string) (again time.Duration, err error) {
	if name, ok := strings.CutPrefix(key, attachmentKey); ok {
		return 0, h.attach(name)
	}
	return h.tend(key)
}

// tend puts one node right. again, when not zero, is when to look once more.
func (h *Host) tend(name string) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(h.ctx, requestLimit)
	defer cancel()
	node := h.node(name)
	mc := h.machine(name)
	if node == nil {
		if mc == nil {
			h.mu.Lock()
			delete(h.tended, name)
			h.mu.Unlock()
		}
		return 0, nil
	}
	if mc == nil {
		return h.reap(ctx, node)
	}
	want := node.DeepCopy()
	changed := initialize(want, mc.Machine)
	if mc.cilium.Load() {
		changed = dropTaint(want, ciliumTaint) || changed
	}
	if changed {
		if _, err := h.admin.Nodes().Update(ctx, want, metav1.UpdateOptions{FieldManager: "cloud-node-manager"}); err != nil {
			return 0, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if want.Spec.ProviderID == mc.ProviderID {
		t := &tended{providerID: mc.ProviderID}
		if h.machines[name] == nil { // switched off meanwhile
			t.gone, again = time.Now(), h.cfg.NodeGone
		}
		h.tended[name] = t
	}
	return again, nil
}

// initialize finishes the registration of a node that waits for its cloud: provider ID, instance type, region and zone,
// as the cloud node manager of AKS sets them. The zone of a machine outside zones is "0", its fault domain; the disk
// driver, whose label comes with it here, writes an empty one.
func initialize(node *corev1.Node, m lab.Machine) bool {
	if !dropTaint(node, uninitializedTaint) {
		return false
	}
	zone, disks := "0", ""
	if m.Zone != "" {
		zone = m.Region + "-" + m.Zone
		disks = zone
	}
	if node.Spec.ProviderID == "" {
		node.Spec.ProviderID = m.ProviderID
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[corev1.LabelInstanceTypeStable] = m.Size
	node.Labels[corev1.LabelTopologyRegion] = m.Region
	node.Labels[corev1.LabelTopologyZone] = zone
	node.Labels[diskZone] = disks
	return true
}

// dropTaint removes the taints of that key and reports whether there were any.
func dropTaint(node *corev1.Node, key string) bool {
	n := len(node.Spec.Taints)
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
	return len(node.Spec.Taints) < n
}

// reap deletes a node whose machine has been off for long enough; only one that this host initialized, and only while
// it is still the same node.
func (h *Host) reap(ctx context.Context, node *corev1.Node) (time.Duration, error) {
	h.mu.Lock()
	t := h.tended[node.Name]
	var gone time.Time
	if t != nil && t.providerID == node.Spec.ProviderID {
		gone = t.gone
	}
	h.mu.Unlock()
	if gone.IsZero() || node.DeletionTimestamp != nil {
		return 0, nil
	}
	if left := time.Until(gone.Add(h.cfg.NodeGone)); left > 0 {
		return left, nil
	}
	err := h.admin.Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID}})
	if err == nil {
		h.cfg.Log.Info("node manager: node deleted, its machine is gone", "node", node.Name)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return 0, nil // someone was faster
	}
	return 0, err
}
