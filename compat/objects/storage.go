package objects

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-aks/karpenter/model"
)

// Storage is what the API server holds of volumes.
type Storage struct {
	Volumes []*corev1.PersistentVolume
	Claims  []*corev1.PersistentVolumeClaim
	// Drivers are the names of the CSI drivers that any volume uses, sorted.
	Drivers []string
	// Classes are the storage classes; only claims that are not bound yet ask for them.
	Classes []*storagev1.StorageClass
	// Keys are, by driver, the node labels by which its volumes are tied to a place. A driver without any makes volumes that all nodes reach.
	Keys map[string][]string
}

// StorageOf collects the volumes that pods mount, each with the claim it is bound to, claims named as their volumes. A volume that pods of
// several namespaces name is written once per namespace.
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

// Annotations by which the volume controller and kube-scheduler tell each other about claims.
const (
	bindCompleted = "pv.kubernetes.io/bind-completed"
	selectedNode  = "volume.kubernetes.io/selected-node"
)

func oneGi() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: Quantity(model.ResourceMemory, 1<<30)}
}

// VolumeClaim writes a claim. Its UID follows from its name.
func VolumeClaim(c model.VolumeClaim) *corev1.PersistentVolumeClaim {
	out := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, UID: types.UID("pvc-" + c.ObjectKey()), Annotations: map[string]string{}},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: c.Volume, StorageClassName: new(c.Class), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: oneGi()}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
	if c.OnePod {
		out.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	if c.Bound {
		out.Annotations[bindCompleted] = "yes"
		out.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: out.Spec.AccessModes, Capacity: oneGi()}
	}
	if c.SelectedNode != "" {
		out.Annotations[selectedNode] = c.SelectedNode
	}
	if c.Lost {
		out.Status.Phase = corev1.ClaimLost
	}
	if c.Deleting {
		out.DeletionTimestamp, out.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"kubernetes.io/pvc-protection"}
	}
	return out
}

// Volume writes a volume of a class. Whose it is it says by name alone, as volumes do that people made for a claim; bound says that the claim has it.
func Volume(v model.PersistentVolume, class string, bound bool) *corev1.PersistentVolume {
	out := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: v.Name, UID: types.UID("pv-" + v.Name)},
		Spec:   corev1.PersistentVolumeSpec{Capacity: oneGi(), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: class},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}
	if v.Driver != "" {
		out.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: v.Driver, VolumeHandle: v.Handle}
	} else {
		out.Spec.NFS = &corev1.NFSVolumeSource{Server: "server", Path: "/" + v.Name}
	}
	if v.Terms != nil {
		out.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: Terms(v.Terms)}
	}
	if v.ClaimName != "" {
		out.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: v.ClaimNamespace, Name: v.ClaimName}
	}
	if bound {
		out.Spec.ClaimRef.UID, out.Status.Phase = types.UID("pvc-"+v.ClaimNamespace+"/"+v.ClaimName), corev1.VolumeBound
	}
	return out
}

// StorageClass writes a storage class.
func StorageClass(c model.StorageClass) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingImmediate
	if c.Waits {
		mode = storagev1.VolumeBindingWaitForFirstConsumer
	}
	out := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Provisioner: c.Provisioner, VolumeBindingMode: &mode}
	for _, t := range c.Terms {
		var term corev1.TopologySelectorTerm
		for _, r := range t {
			term.MatchLabelExpressions = append(term.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{Key: r.Key, Values: r.Values})
		}
		out.AllowedTopologies = append(out.AllowedTopologies, term)
	}
	return out
}

// Waits reports whether the volume of a claim ("namespace/name") is made when its first pod is bound.
func (s Storage) Waits(claim string) bool {
	at := slices.IndexFunc(s.Claims, func(c *corev1.PersistentVolumeClaim) bool { return c.Namespace+"/"+c.Name == claim })
	if at < 0 || s.Claims[at].Spec.VolumeName != "" || s.Claims[at].Spec.StorageClassName == nil {
		return false
	}
	return slices.ContainsFunc(s.Classes, func(c *storagev1.StorageClass) bool {
		return c.Name == *s.Claims[at].Spec.StorageClassName && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	})
}

// Settled is the storage after a volume was made for each of the claims that wait for one, where its first pod goes: the given node, by claim
// ("namespace/name"). Where it can be reached then is for its driver to say: from nodes that are alike by the driver's keys.
func (s Storage) Settled(nodes map[string]model.Node) Storage {
	s.Claims, s.Volumes = slices.Clone(s.Claims), slices.Clone(s.Volumes)
	for i, c := range s.Claims {
		n, ok := nodes[c.Namespace+"/"+c.Name]
		if !ok {
			continue
		}
		at := slices.IndexFunc(s.Classes, func(x *storagev1.StorageClass) bool { return x.Name == *c.Spec.StorageClassName })
		v := model.PersistentVolume{Name: "made-for-" + c.Namespace + "-" + c.Name, Driver: s.Classes[at].Provisioner, ClaimNamespace: c.Namespace, ClaimName: c.Name}
		v.Handle = v.Name
		var term model.Term
		for _, k := range s.Keys[v.Driver] {
			if value, ok := n.Labels[k]; ok {
				term = append(term, model.Requirement{Key: k, Op: model.In, Values: []string{value}})
			}
		}
		if term != nil {
			v.Terms = []model.Term{term}
		}
		s.Volumes = append(s.Volumes, Volume(v, *c.Spec.StorageClassName, true))
		s.Claims[i] = VolumeClaim(model.VolumeClaim{Namespace: c.Namespace, Name: c.Name, Class: *c.Spec.StorageClassName, Volume: v.Name, Bound: true,
			OnePod: slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOncePod)})
	}
	return s
}

// CSINode writes which of the drivers run on the node (all of them), how many volumes each may attach there, and by which labels it looks.
func (s Storage) CSINode(n model.Node) *storagev1.CSINode {
	out := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	for _, d := range s.Drivers {
		entry := storagev1.CSINodeDriver{Name: d, NodeID: n.Name, TopologyKeys: s.Keys[d]}
		if most, ok := n.AttachLimits[d]; ok {
			entry.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(most))}
		}
		out.Spec.Drivers = append(out.Spec.Drivers, entry)
	}
	return out
}
