package apikube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/karpenter-aks/karpenter/model"
)

// podRequests counts as kube-scheduler 1.37 does with its default gates, and one pod.
func podRequests(p *corev1.Pod) model.Resources {
	out, ok := simpleSum(p, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests })
	if !ok {
		tamePod(p)
		out = asked(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{
			UseStatusResources: true,
			InPlacePodLevelResourcesVerticalScalingEnabled: true,
		}))
	}
	out.Pods = 1
	return out
}

// podLimits adds up what containers may use, as kubectl describe node does.
func podLimits(p *corev1.Pod) *model.Limits {
	sum, ok := simpleSum(p, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits })
	if !ok {
		tamePod(p)
		sum = asked(resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{}))
	}
	if sum.CPU == 0 && sum.Memory == 0 {
		return nil
	}
	return &model.Limits{CPU: sum.CPU, Memory: sum.Memory}
}

// simpleSum adds up what the containers of a simple pod name. It is false for a pod that is not simple, and where an amount is not
// a whole number of its column's unit: those are for Kubernetes' own rules, and its own arithmetic, which cost ten times as much.
func simpleSum(p *corev1.Pod, of func(*corev1.ResourceRequirements) corev1.ResourceList) (out model.Resources, ok bool) {
	if !simple(p) {
		return out, false
	}
	for i := range p.Spec.Containers {
		if !addWhole(&out, of(&p.Spec.Containers[i].Resources)) {
			return out, false
		}
	}
	return out, true
}

// simple reports whether nothing but its containers says what a pod asks for: no init containers, no overhead, no requests of the pod as
// such, and no status that tells of what it was given.
func simple(p *corev1.Pod) bool {
	s, t := &p.Spec, &p.Status
	if len(s.InitContainers) > 0 || len(s.Overhead) > 0 || s.Resources != nil || t.Resources != nil || t.AllocatedResources != nil {
		return false
	}
	for i := range t.Conditions {
		if t.Conditions[i].Type == corev1.PodResizePending {
			return false
		}
	}
	for _, list := range [][]corev1.ContainerStatus{t.ContainerStatuses, t.InitContainerStatuses} {
		for i := range list {
			if list[i].AllocatedResources != nil || list[i].Resources != nil {
				return false
			}
		}
	}
	return true
}

// usual are the resources that nearly all pods ask for: looking them up costs less than going through a map.
var usual = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// addWhole adds a list of whole amounts. It is false when one is not.
func addWhole(out *model.Resources, list corev1.ResourceList) bool {
	left := len(list)
	for _, name := range usual {
		if q, ok := list[name]; ok {
			v, whole := wholeUnits(name, q)
			if !whole {
				return false
			}
			addUnits(out, name, v)
			left--
		}
	}
	if left == 0 {
		return true
	}
	for name, q := range list {
		if slices.Contains(usual[:], name) {
			continue
		}
		v, whole := wholeUnits(name, q)
		if !whole {
			return false
		}
		addUnits(out, name, v)
	}
	return true
}

// wholeUnits is an amount in the unit of its column. It is false when that is not exact, or out of what a column holds.
func wholeUnits(name corev1.ResourceName, q resource.Quantity) (v int64, ok bool) {
	if wild(q) {
		return 0, false
	}
	if name == corev1.ResourceCPU {
		v = q.MilliValue()
		ok = q.Cmp(*resource.NewMilliQuantity(v, resource.DecimalSI)) == 0
	} else {
		v, ok = q.AsInt64()
	}
	return v, ok && v >= 0 && v <= most
}

// addUnits adds an amount up to most to a column, which holds no more than that.
func addUnits(out *model.Resources, name corev1.ResourceName, v int64) {
	switch name {
	case corev1.ResourceCPU:
		out.CPU = min(out.CPU+v, most)
	case corev1.ResourceMemory:
		out.Memory = min(out.Memory+v, most)
	case corev1.ResourceEphemeralStorage:
		out.Ephemeral = min(out.Ephemeral+v, most)
	case corev1.ResourcePods:
	default:
		if v == 0 {
			return // zero is the same as not there, and compares equal
		}
		if out.Extended == nil {
			out.Extended = map[string]int64{}
		}
		out.Extended[string(name)] = min(out.Extended[string(name)]+v, most)
	}
}
