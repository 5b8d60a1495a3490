package apikube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-aks/karpenter/model"
)

// most is the largest amount a column holds: 1 PiB, or a trillion cores. No machine has as much, so a request cut down
// to it still fits nowhere, and thousands of them add up without overflow.
const most = 1 << 50

// asked reads what is asked for: fractions round up, so that it is never less than what was written.
func asked(list corev1.ResourceList) model.Resources { return resources(list, up) }

// given reads what there is: fractions round down, so that it is never more than what was written.
func given(list corev1.ResourceList) model.Resources { return resources(list, down) }

func resources(list corev1.ResourceList, round func(resource.Quantity, resource.Scale) int64) model.Resources {
	var out model.Resources
	for name, q := range list {
		switch v := round(q, scale(string(name))); name {
		case corev1.ResourceCPU:
			out.CPU = v
		case corev1.ResourceMemory:
			out.Memory = v
		case corev1.ResourceEphemeralStorage:
			out.Ephemeral = v
		case corev1.ResourcePods:
			out.Pods = v
		default:
			if v == 0 {
				continue // zero is the same as not there, and compares equal
			}
			if out.Extended == nil {
				out.Extended = map[string]int64{}
			}
			out.Extended[string(name)] = v
		}
	}
	return out
}

// scale is the unit of the named resource's column.
func scale(name string) resource.Scale {
	if name == model.ResourceCPU {
		return resource.Milli
	}
	return 0
}

func up(q resource.Quantity, s resource.Scale) int64 {
	switch q = tame(q); {
	case q.Sign() <= 0:
		return 0
	case q.Cmp(*resource.NewScaledQuantity(most, s)) >= 0:
		return most
	}
	return q.ScaledValue(s) // rounds up
}

func down(q resource.Quantity, s resource.Scale) int64 {
	q = tame(q)
	v := up(q, s)
	if v > 0 && q.Cmp(*resource.NewScaledQuantity(v, s)) < 0 {
		v--
	}
	return v
}

// byteAmount writes an amount so that it reads back as the same text: in binary units where 1024 divides it, else in decimal ones. A number
// without a unit reads back as a decimal one, and is then written otherwise: 100000000 as 100M.
func byteAmount(v int64) resource.Quantity {
	if v%1024 == 0 {
		return *resource.NewQuantity(v, resource.BinarySI)
	}
	return *resource.NewQuantity(v, resource.DecimalSI)
}

// list writes resources as the API has them; columns that are zero are left out.
func list(r model.Resources) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range r.Names() {
		v := r.Get(name)
		switch name {
		case model.ResourceCPU:
			out[corev1.ResourceCPU] = *resource.NewMilliQuantity(v, resource.DecimalSI)
		case model.ResourceMemory, model.ResourceEphemeral:
			out[corev1.ResourceName(name)] = byteAmount(v)
		default:
			out[corev1.ResourceName(name)] = *resource.NewQuantity(v, resource.DecimalSI)
		}
	}
	return out
}

// withNodes adds the number of nodes to a pool's resources, where users of the API look for it too.
func withNodes(list corev1.ResourceList, nodes int64) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range list {
		out[name] = q
	}
	out[model.ResourceNodes] = *resource.NewQuantity(nodes, resource.DecimalSI)
	return out
}
