package kubelet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The disk driver that AKS runs on every node, and the label by which it says where a disk can be reached.
// Source: the documentation of the Azure disk CSI driver.
const (
	diskDriver = "disk.csi.azure.com"
	diskZone   = "topology.disk.csi.azure.com/zone"
)

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
