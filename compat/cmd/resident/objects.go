package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// fields are as many bytes of managed fields as objects have in a cluster.
func fields(n int) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: "Update",
		FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:status":{"f:x":"%0*d"}}`, n, 1))}}
}

func amounts(r model.Resources) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(r.CPU,
		resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(r.Memory, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(r.Pods, resource.DecimalSI)}
}

func selector(s *model.Selector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &metav1.LabelSelector{}
	for _, r := range s.Requirements {
		out.MatchExpressions = append(out.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: r.Key,
				Operator: metav1.LabelSelectorOperator(r.Op), Values: r.Values})
	}
	return out
}

func terms(list []model.PodTerm) (out []corev1.PodAffinityTerm) {
	for _, t := range list {
		out = append(out, corev1.PodAffinityTerm{TopologyKey: t.Key,
			LabelSelector: selector(t.Selector)})
	}
	return out
}

// pod is a pod of a world as an API server keeps it, with about as much around it as pods have.
func pod(p *model.Pod) corev1.Pod {
	yes := true
	out := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name,
			UID: types.UID(p.UID), Labels: p.Labels, ResourceVersion: "999",
			CreationTimestamp: metav1.NewTime(p.Created),
			Annotations: map[string]string{"checksum/config": fmt.Sprintf("%064x",
				len(p.Name))},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet",
				Name: p.Labels["app"], UID: "u", Controller: &yes}},
			ManagedFields: fields(1_500)},
		Spec: corev1.PodSpec{NodeName: p.Node, Containers: []corev1.Container{{Name: "main",
			Image:     "registry.example/" + p.Labels["app"] + ":1.2.3",
			Env:       []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
			Resources: corev1.ResourceRequirements{Requests: amounts(p.Requests)}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning,
			StartTime: &metav1.Time{Time: p.Started}, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled,
					Status: corev1.ConditionTrue}}},
	}
	delete(out.Spec.Containers[0].Resources.Requests, corev1.ResourcePods)
	for _, s := range p.Spread {
		when := corev1.ScheduleAnyway
		if s.Hard {
			when = corev1.DoNotSchedule
		}
		out.Spec.TopologySpreadConstraints = append(out.Spec.TopologySpreadConstraints,
			corev1.TopologySpreadConstraint{TopologyKey: s.Key, MaxSkew: s.MaxSkew,
				WhenUnsatisfiable: when, LabelSelector: selector(s.Selector)})
	}
	if len(p.PodAffinity)+len(p.PodAntiAffinity) > 0 {
		near, far := &corev1.PodAffinity{}, &corev1.PodAntiAffinity{}
		near.RequiredDuringSchedulingIgnoredDuringExecution = terms(p.PodAffinity)
		far.RequiredDuringSchedulingIgnoredDuringExecution = terms(p.PodAntiAffinity)
		out.Spec.Affinity = &corev1.Affinity{PodAffinity: near, PodAntiAffinity: far}
	}
	return out
}

// node is the same of a node, with the images that it has.
func node(n *model.Node) corev1.Node {
	out := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID(n.UID), Labels: n.Labels,
			ResourceVersion: "999", CreationTimestamp: metav1.NewTime(n.Created),
			Finalizers: []string{model.Finalizer}, ManagedFields: fields(3_000)},
		Spec: corev1.NodeSpec{ProviderID: n.ProviderID},
		Status: corev1.NodeStatus{Capacity: amounts(n.Capacity),
			Allocatable: amounts(n.Allocatable), Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(n.ReadySince)}}},
	}
	for i := range 50 {
		name := fmt.Sprintf("registry.example/image-%d@sha256:%064x", i, i)
		image := corev1.ContainerImage{Names: []string{name}, SizeBytes: 1e8}
		out.Status.Images = append(out.Status.Images, image)
	}
	return out
}

type object map[string]any

func conditions(list []model.Condition) (out []object) {
	for _, c := range list {
		out = append(out, object{"type": c.Type, "status": c.Status, "reason": c.Type,
			"message": "", "lastTransitionTime": workload.Epoch().Format(time.RFC3339)})
	}
	return out
}

// custom are the objects of our own kinds; there are none of others.
func (s *server) custom(resource string) []object {
	out, class := []object{}, object{"group": workload.Class().Group,
		"kind": workload.Class().Kind, "name": workload.Class().Name}
	switch w := &s.world; resource {
	case "nodepools":
		for _, p := range w.Pools {
			out = append(out, object{"metadata": object{"name": p.Name, "uid": p.UID},
				"status": object{"conditions": conditions(p.Conditions)}, "spec": object{
					"disruption": object{"consolidationPolicy": p.Policy, "consolidateAfter": "0s"},
					"template": object{"spec": object{"nodeClassRef": class,
						"requirements": []object{}}}}})
		}
	case "aksnodeclasses":
		for _, c := range w.Classes {
			out = append(out, object{"metadata": object{"name": c.Ref.Name, "uid": c.UID},
				"spec": object{}, "status": object{"conditions": conditions(c.Conditions)}})
		}
	case "nodeclaims":
		for _, c := range w.Claims {
			at := c.Created.Format(time.RFC3339)
			out = append(out, object{
				"metadata": object{"name": c.Name, "uid": c.UID, "labels": c.Labels,
					"finalizers": c.Finalizers, "creationTimestamp": at,
					"managedFields": fields(1_500)},
				"spec": object{"nodeClassRef": class, "requirements": []object{}},
				"status": object{"providerID": c.ProviderID, "nodeName": c.NodeName,
					"capacity": amounts(c.Capacity), "allocatable": amounts(c.Allocatable),
					"conditions": conditions(c.Conditions)}})
		}
	}
	return out
}
