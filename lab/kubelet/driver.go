package kubelet

import (
	"cmp"
	"context"
	"slices"
	"time"

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
	fileDriver = "file.csi.azure.com"

	// attacherFinalizer is what external-attacher puts on attachments of this driver.
	attacherFinalizer = "external-attacher/disk-csi-azure-com"
)

// Disks is the cloud as the disk driver sees it. Repeated calls are fine; a handle that the cloud does not know, "" too, is no
// error. Methods are called without locks held, and wait for nothing but the cloud.
type Disks interface {
	AttachDisk(handle, node string) error
	DetachDisk(handle, node string) error
}

// attachmentKey stands before the names of attachments among the keys of what to look at. No node has a slash in its name.
const attachmentKey = "attachment/"

// publishDriver says that the storage drivers of AKS run here and how many disks can be attached, as a kubelet does when drivers
// register. No driver runs in the lab: nothing is mounted, but kube-scheduler counts.
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
		}, {Name: fileDriver, NodeID: m.Name}}},
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
	}, &storagev1.VolumeAttachment{}, 0, cache.Indexers{byNode: func(obj any) ([]string, error) {
		return []string{obj.(*storagev1.VolumeAttachment).Spec.NodeName}, nil
	}})
}

// attachLook is how often a pod that waits for a disk is looked at again: as often as a kubelet reconciles its volumes.
const attachLook = 100 * time.Millisecond

// lacks names a volume claim of the pod whose disk is not attached to this machine yet; "" = there is none. Claims and their volumes are
// read with the node's own rights until the disks are known, the attachments from the watch. Only disks are attached: shares are not, and
// what else a pod may name as a volume is not looked at.
func (m *machine) lacks(ctx context.Context, p *podRun) (string, error) {
	for _, claim := range claimsOf(p.pod) {
		if _, known := p.disks[claim]; known {
			continue
		}
		c, err := m.kube.core.PersistentVolumeClaims(p.pod.Namespace).Get(ctx, claim, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if c.Spec.VolumeName == "" || c.Status.Phase != corev1.ClaimBound {
			return claim, nil
		}
		v, err := m.kube.core.PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if p.disks == nil {
			p.disks = map[string]string{}
		}
		p.disks[claim] = ""
		if v.Spec.CSI != nil && v.Spec.CSI.Driver == diskDriver {
			p.disks[claim] = v.Name
		}
	}
	for _, claim := range sortedKeys(p.disks) {
		if disk := p.disks[claim]; disk != "" && !m.host.attached(disk, m.Name) {
			return claim, nil
		}
	}
	return "", nil
}

// claimsOf names the volume claims of a pod; those of its own are called like it and the volume.
func claimsOf(pod *corev1.Pod) (out []string) {
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// attached reports whether the shared watch shows the volume as attached to the node.
func (h *Host) attached(volume, node string) bool {
	list, err := h.attachments.GetIndexer().ByIndex(byNode, node)
	return err == nil && slices.ContainsFunc(list, func(obj any) bool {
		a, ok := obj.(*storagev1.VolumeAttachment)
		name := (*string)(nil)
		if ok {
			name = a.Spec.Source.PersistentVolumeName
		}
		return name != nil && *name == volume && a.Status.Attached && a.DeletionTimestamp == nil
	})
}

// careForAttachment asks for a look at an attachment that is new here.
func (h *Host) careForAttachment(obj any) {
	if a, ok := obj.(*storagev1.VolumeAttachment); ok && a.Spec.Attacher == diskDriver {
		h.care.Add(attachmentKey + a.Name)
	}
}

// careForDetachment asks for a look at an attachment that is to go. Other changes are our own: what was refused is tried again
// by and by, not because the refusal was written down.
func (h *Host) careForDetachment(obj any) {
	if a, ok := obj.(*storagev1.VolumeAttachment); ok && a.DeletionTimestamp != nil {
		h.careForAttachment(obj)
	}
}

// attach does what external-attacher and the driver's controller do for one attachment: it keeps the object with a finalizer,
// attaches the disk, and says so; when the object is to go, it detaches first. What Azure refuses stands in the object, and is
// tried again. Source: the documentation of external-attacher, and of VolumeAttachment in the API.
func (h *Host) attach(name string) error {
	obj, ok, err := h.attachments.GetIndexer().GetByKey(name)
	a, typed := obj.(*storagev1.VolumeAttachment)
	if !ok || !typed || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.ctx, requestLimit)
	defer cancel()
	a = a.DeepCopy()
	switch {
	case a.DeletionTimestamp != nil:
		err = h.detach(ctx, a)
	case !a.Status.Attached && h.machine(a.Spec.NodeName) != nil:
		err = h.attachNow(ctx, a)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (h *Host) attachNow(ctx context.Context, a *storagev1.VolumeAttachment) error {
	var refused error
	if h.cfg.Disks != nil {
		handle, err := h.handle(ctx, a)
		if err != nil {
			return err
		}
		if !slices.Contains(a.Finalizers, attacherFinalizer) {
			a.Finalizers = append(a.Finalizers, attacherFinalizer)
			if a, err = h.disks.VolumeAttachments().Update(ctx, a, metav1.UpdateOptions{FieldManager: diskDriver}); err != nil {
				return err
			}
		}
		refused = h.cfg.Disks.AttachDisk(handle, a.Spec.NodeName)
	}
	a.Status.Attached, a.Status.AttachError = refused == nil, nil
	if refused != nil {
		a.Status.AttachError = &storagev1.VolumeError{Time: metav1.Now(), Message: refused.Error()}
	}
	_, err := h.disks.VolumeAttachments().UpdateStatus(ctx, a, metav1.UpdateOptions{FieldManager: diskDriver})
	return cmp.Or(err, refused)
}

// detach lets an attachment go. Without a cloud nothing holds it.
func (h *Host) detach(ctx context.Context, a *storagev1.VolumeAttachment) error {
	i := slices.Index(a.Finalizers, attacherFinalizer)
	if i < 0 {
		return nil
	}
	if h.cfg.Disks != nil {
		handle, err := h.handle(ctx, a)
		if err != nil {
			return err
		}
		if err := h.cfg.Disks.DetachDisk(handle, a.Spec.NodeName); err != nil {
			return err
		}
	}
	a.Finalizers = slices.Delete(a.Finalizers, i, i+1)
	_, err := h.disks.VolumeAttachments().Update(ctx, a, metav1.UpdateOptions{FieldManager: diskDriver})
	return err
}

// handle is what the driver calls the attached disk; "" when its volume is gone, or was written into the pod.
func (h *Host) handle(ctx context.Context, a *storagev1.VolumeAttachment) (string, error) {
	if a.Spec.Source.PersistentVolumeName == nil {
		return "", nil
	}
	v, err := h.admin.PersistentVolumes().Get(ctx, *a.Spec.Source.PersistentVolumeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil || v.Spec.CSI == nil {
		return "", err
	}
	return v.Spec.CSI.VolumeHandle, nil
}
