package objects

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-aks/karpenter/model"
)

// Node writes a node.
func Node(n model.Node) *corev1.Node {
	out := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID(n.UID), Labels: n.Labels, CreationTimestamp: metav1.NewTime(n.Created)},
		Spec:       corev1.NodeSpec{ProviderID: n.ProviderID, Taints: Taints(n.Taints), Unschedulable: n.Cordoned},
		Status: corev1.NodeStatus{Capacity: Resources(n.Capacity), Allocatable: Resources(n.Allocatable),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionStatus(n.Ready)}}},
	}
	if n.Deleting() {
		out.DeletionTimestamp = &metav1.Time{Time: n.DeletedAt}
	}
	return out
}

// CSINode writes which of the drivers run on the node (all of them) and how many volumes each may attach there.
func CSINode(n model.Node, drivers []string) *storagev1.CSINode {
	out := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	for _, d := range drivers {
		entry := storagev1.CSINodeDriver{Name: d, NodeID: n.Name}
		if most, ok := n.AttachLimits[d]; ok {
			entry.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(most))}
		}
		out.Spec.Drivers = append(out.Spec.Drivers, entry)
	}
	return out
}

// Namespace writes a namespace.
func Namespace(n model.Namespace) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
}

// Storage is the volumes of a picture: every volume with the claim it is bound to, claims named as their volumes.
type Storage struct {
	Volumes []*corev1.PersistentVolume
	Claims  []*corev1.PersistentVolumeClaim
	// Drivers are the names of the CSI drivers that any volume uses, sorted.
	Drivers []string
}

// StorageOf collects the volumes that pods mount. A volume that pods of several namespaces name is written once per
// namespace.
func StorageOf(pods []model.Pod) Storage {
	var out Storage
	seen, drivers := map[model.PodKey]bool{}, map[string]bool{}
	for _, p := range pods {
		for _, v := range p.Volumes {
			if v.Driver != "" {
				drivers[v.Driver] = true
			}
			if k := (model.PodKey{Namespace: p.Namespace, Name: v.ID}); !seen[k] {
				seen[k] = true
				pv, pvc := volume(p.Namespace, v)
				out.Volumes, out.Claims = append(out.Volumes, pv), append(out.Claims, pvc)
			}
		}
	}
	out.Drivers = slices.Sorted(maps.Keys(drivers))
	return out
}

func volume(namespace string, v model.Volume) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	name := namespace + "-" + v.ID
	size := corev1.ResourceList{corev1.ResourceStorage: Quantity(model.ResourceMemory, 1<<30)}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("pv-" + name)},
		Spec: corev1.PersistentVolumeSpec{Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: v.ID, UID: types.UID("pvc-" + name)}},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}}
	if v.Driver != "" {
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: v.Driver, VolumeHandle: name}
	} else {
		pv.Spec.NFS = &corev1.NFSVolumeSource{Server: "server", Path: "/" + v.ID}
	}
	if v.Terms != nil {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: Terms(v.Terms)}
	}
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v.ID, UID: types.UID("pvc-" + name),
		Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name, AccessModes: pv.Spec.AccessModes, StorageClassName: new(""),
			Resources: corev1.VolumeResourceRequirements{Requests: size}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: pv.Spec.AccessModes, Capacity: size}}
	return pv, pvc
}
