package apikube

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// decodeNode reads a node. Without a Ready condition it is Unknown.
func decodeNode(n *corev1.Node) model.Node {
	out := model.Node{
		Name: n.Name, UID: string(n.UID), ProviderID: n.Spec.ProviderID,
		Created: when(&n.CreationTimestamp), DeletedAt: when(n.DeletionTimestamp),
		Labels: maps.Clone(n.Labels), Annotations: maps.Clone(n.Annotations), Finalizers: slices.Clone(n.Finalizers),
		Taints: taints(n.Spec.Taints), Cordoned: n.Spec.Unschedulable,
		Capacity: given(n.Status.Capacity), Allocatable: given(n.Status.Allocatable),
		Ready: model.Unknown, KubeletVersion: n.Status.NodeInfo.KubeletVersion,
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready, out.ReadySince, out.ReadyReason = model.Status(c.Status), when(&c.LastTransitionTime), c.Reason
		}
		if typ := string(c.Type); model.KeptOfNode(typ) {
			out.Conditions = append(out.Conditions, model.Condition{Type: typ, Status: model.Status(c.Status), Reason: c.Reason, Message: c.Message,
				Since: when(&c.LastTransitionTime)})
		}
	}
	return out
}

// decodeBudget reads a disruption budget. Until its status is about the present spec it allows nothing, because that is
// what the eviction API says.
func decodeBudget(b *policyv1.PodDisruptionBudget) model.PDB {
	out := model.PDB{
		Namespace: b.Namespace, Name: b.Name,
		Selector: selector(b.Spec.Selector), HasSel: b.Spec.Selector != nil,
	}
	if b.Status.ObservedGeneration >= b.Generation {
		out.Allowed = b.Status.DisruptionsAllowed
	}
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil {
		out.AlwaysAllowUnready = *p == policyv1.AlwaysAllow
	}
	return out
}

// decodeAttachment reads an attachment. Whose the volume is, the mirror knows.
func decodeAttachment(a *storagev1.VolumeAttachment) model.Attachment {
	out := model.Attachment{Name: a.Name, Node: a.Spec.NodeName}
	if v := a.Spec.Source.PersistentVolumeName; v != nil {
		out.Volume = *v
	}
	return out
}
