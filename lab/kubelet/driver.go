package kubelet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// The disk driver that AKS runs on every node, and the label by which it says where a disk can be reached.
// Source: the documentation of the Azure disk CSI driver.
const (
	diskDriver = "disk.csi.azure.com"
	diskZone   = "topology.disk.csi.azure.com/zone"
)

// attachmentKey stands before the names of attachments among the keys of what to look at. No node has a slash in its name.
const attachmentKey = "attachment/"

// publishDriver says that the disk driver runs here and how many disks it can attach, as a kubelet does when the driver
// registers. No driver runs in the lab: nothing is mounted, but kube-scheduler counts.
func (m *machine) publishDriver(ctx context.Context, node *corev1.Node) error {
	if m.DataDisks <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	count := int32(m.DataDisks)
	want := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: m.Name, UID: node.UID},
		}},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: diskDriver, NodeID: m.Name, TopologyKeys: []string{diskZone}, Allocatable: &storagev1.VolumeNodeResources{Count: &count},
		}}},
	}
	_, err := m.kube.store.CSINodes().Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have, err := m.kube.store.CSINodes().Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	// It may be left over from an older node of this name; the API server lets nobody change a driver once it is there.
	if len(have.OwnerReferences) > 0 && have.OwnerReferences[0].UID == node.UID {
		return nil
	}
	if err := m.kube.store.CSINodes().Delete(ctx, m.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID}}); err != nil {
		return err
	}
	_, err = m.kube.store.CSINodes().Create(ctx, want, metav1.CreateOptions{})
	return err
}

func (h *Host) newAttachments() cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return h.disks.VolumeAttachments().List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return h.disks.VolumeAttachments().Watch(ctx, o)
		},
	}, &storagev1.VolumeAttachment{}, 0, cache.Indexers{})
}

// careForAttachment asks for a look at an attachment that someone wants.
func (h *Host) careForAttachment(obj any) {
	if a, ok := obj.(*storagev1.VolumeAttachment); ok && a.Spec.Attacher == diskDriver && !a.Status.Attached {
		h.care.Add(attachmentKey + a.Name)
	}
}

// attach says that a disk is attached, as the driver's controller does once Azure has done it. Detaching needs no answer:
// the attachment is deleted, and nothing holds it.
func (h *Host) attach(name string) error {
	obj, ok, err := h.attachments.GetIndexer().GetByKey(name)
	a, typed := obj.(*storagev1.VolumeAttachment)
	if !ok || !typed || err != nil || a.Status.Attached || h.machine(a.Spec.NodeName) == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.ctx, requestLimit)
	defer cancel()
	a = a.DeepCopy()
	a.Status.Attached = true
	_, err = h.disks.VolumeAttachments().UpdateStatus(ctx, a, metav1.UpdateOptions{FieldManager: diskDriver})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
