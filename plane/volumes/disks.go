package volumes

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

const (
	diskDriver = "disk.csi.azure.com"
	diskZone   = "topology.disk.csi.azure.com/zone"
	ext4       = "ext4" // what external-provisioner is told to say where a class says nothing
	gib        = int64(1) << 30
)

// disks makes managed disks.
type disks struct{ Config }

// SupportsBlock says that a disk may be had without a file system.
func (*disks) SupportsBlock(context.Context) bool { return true }

// Provision makes the disk of a claim, in the zone of the node that the scheduler chose, or for a
// class that does not wait, in one of the zones where the driver runs.
func (d *disks) Provision(ctx context.Context, o controller.ProvisionOptions) (
	*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if err := oneNode(o.PVC); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	zone, state, err := d.zone(ctx, o)
	if err != nil {
		return nil, state, err
	}
	v := order(o)
	v.SKU = parameter(o.StorageClass.Parameters, "StandardSSD_LRS", "skuName", "storageAccountType")
	v.Zone = strings.TrimPrefix(zone, d.Region+"-")
	id, err := d.Azure.MakeDisk(v)
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	pv := volume(o, diskDriver, id, v)
	pv.Spec.CSI.FSType = parameter(o.StorageClass.Parameters, ext4, "fsType",
		"csi.storage.k8s.io/fstype")
	reach := []string{zone}
	if strings.HasSuffix(v.SKU, "_ZRS") {
		// Driver's documentation: a zone-redundant disk can be reached from every zone, and from none.
		reach = []string{"", d.Region + "-1", d.Region + "-2", d.Region + "-3"}
	}
	pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
	for _, z := range reach {
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms = append(
			pv.Spec.NodeAffinity.Required.NodeSelectorTerms,
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: diskZone, Operator: corev1.NodeSelectorOpIn, Values: []string{z}}}})
	}
	return pv, controller.ProvisioningFinished, nil
}

// Delete deletes the disk of a volume. Azure refuses while it is attached; then it is tried again.
func (d *disks) Delete(_ context.Context, pv *corev1.PersistentVolume) error {
	return d.Azure.DropDisk(pv.Spec.CSI.VolumeHandle)
}

// oneNode refuses what a managed disk cannot do: a file system on several nodes at once.
func oneNode(claim *corev1.PersistentVolumeClaim) error {
	block := claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock
	if !block && slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) {
		return errors.New("a disk with a file system cannot be ReadWriteMany: use a class of " +
			fileDriver)
	}
	return nil
}

// zone is the value of the driver's label where the disk is to be.
func (d *disks) zone(ctx context.Context, o controller.ProvisionOptions) (
	string, controller.ProvisioningState, error) {
	if o.SelectedNodeName != "" {
		node, err := d.API.CoreV1().Nodes().Get(ctx, o.SelectedNodeName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) { // the scheduler chooses anew
			return "", controller.ProvisioningReschedule,
				fmt.Errorf("the chosen node %s is gone", o.SelectedNodeName)
		}
		if err != nil {
			return "", controller.ProvisioningNoChange, err
		}
		return node.Labels[diskZone], controller.ProvisioningFinished, nil
	}
	zones := allowed(o.StorageClass)
	if len(zones) == 0 {
		with := metav1.ListOptions{LabelSelector: diskZone}
		nodes, err := d.API.CoreV1().Nodes().List(ctx, with)
		if err != nil {
			return "", controller.ProvisioningNoChange, err
		}
		for _, n := range nodes.Items {
			zones = append(zones, n.Labels[diskZone])
		}
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	if len(zones) == 0 {
		return "", controller.ProvisioningFinished, errors.New("error generating accessibility " +
			"requirements: no available topology found: no node with the disk driver is there " +
			"yet, and the class does not wait for one (volumeBindingMode: WaitForFirstConsumer)")
	}
	return zones[place(o.PVC.Name)%uint32(len(zones))], controller.ProvisioningFinished, nil
}

// allowed lists the zones that a class allows; none = it does not say.
func allowed(class *storagev1.StorageClass) (zones []string) {
	for _, t := range class.AllowedTopologies {
		for _, e := range t.MatchLabelExpressions {
			if e.Key == diskZone {
				zones = append(zones, e.Values...)
			}
		}
	}
	return zones
}

// place numbers claims so that those of one StatefulSet, name-0, name-1 and so on, get zones in
// turn, as external-provisioner's do.
func place(claim string) uint32 {
	base, number := claim, uint64(0)
	if i := strings.LastIndexByte(claim, '-'); i >= 0 {
		if n, err := strconv.ParseUint(claim[i+1:], 10, 32); err == nil {
			base, number = claim[:i], n
		}
	}
	h := fnv.New32()
	_, _ = h.Write([]byte(base)) // never fails
	return h.Sum32() + uint32(number)
}

// order is what the claim asks for, in whole GiB.
func order(o controller.ProvisionOptions) arm.Volume {
	size := o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	tags := map[string]string{
		"kubernetes.io-created-for-pv-name":       o.PVName,
		"kubernetes.io-created-for-pvc-name":      o.PVC.Name,
		"kubernetes.io-created-for-pvc-namespace": o.PVC.Namespace,
	}
	return arm.Volume{Name: o.PVName, GiB: max((size.Value()+gib-1)/gib, 1), Tags: tags}
}
