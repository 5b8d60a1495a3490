package volumes

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

const (
	fileDriver = "file.csi.azure.com"
	// premiumGiB is the least that a premium share holds (driver's documentation, skuName).
	premiumGiB = 100
)

// shares makes file shares, which every node can reach.
type shares struct{ Config }

// Provision makes the share of a claim.
func (s *shares) Provision(_ context.Context, o controller.ProvisionOptions) (
	*corev1.PersistentVolume, controller.ProvisioningState, error) {
	v := order(o)
	v.SKU = parameter(o.StorageClass.Parameters, "Standard_LRS", "skuName", "storageAccountType")
	if strings.HasPrefix(v.SKU, "Premium") {
		v.GiB = max(v.GiB, premiumGiB)
	}
	account, err := s.Azure.MakeShare(v)
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	handle := strings.Join([]string{s.Group, account, v.Name, "", "", o.PVC.Namespace}, "#")
	return volume(o, fileDriver, handle, v), controller.ProvisioningFinished, nil
}

// Delete deletes the share of a volume, with what is on it.
func (s *shares) Delete(_ context.Context, pv *corev1.PersistentVolume) error {
	parts := strings.Split(pv.Spec.CSI.VolumeHandle, "#")
	if len(parts) < 3 {
		return fmt.Errorf("%q is no share's handle", pv.Spec.CSI.VolumeHandle)
	}
	return s.Azure.DropShare(parts[1], parts[2])
}

// volume is the object for what was made.
func volume(o controller.ProvisionOptions, driver, handle string,
	v arm.Volume) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: o.PVName}}
	pv.Spec.AccessModes = o.PVC.Spec.AccessModes
	pv.Spec.VolumeMode = o.PVC.Spec.VolumeMode
	pv.Spec.MountOptions = o.StorageClass.MountOptions
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	if p := o.StorageClass.ReclaimPolicy; p != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *p
	}
	pv.Spec.Capacity = corev1.ResourceList{
		corev1.ResourceStorage: *resource.NewQuantity(v.GiB*gib, resource.BinarySI)}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle,
		VolumeAttributes: map[string]string{"skuname": v.SKU,
			"requestedsizegib": fmt.Sprint(v.GiB)}}
	return pv
}
