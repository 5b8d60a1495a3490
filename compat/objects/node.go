package objects

import (
	corev1 "k8s.io/api/core/v1"
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

// Namespace writes a namespace.
func Namespace(n model.Namespace) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
}
