package apikube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The API server takes a pod that asks for 1e999999999 of something: it never computes with it. Comparing that with another amount
// writes it out, digit by digit, and adding it does, too. So it is cut down before anything computes.

// wildExponent is more than any amount of this world has zeros.
const wildExponent = 40

// wild reports whether a quantity is too long to compute with. Only the notation with an exponent can be: the others bound it, or cost
// as many characters as they have digits. O(1), and without allocation for all others.
func wild(q resource.Quantity) bool {
	return q.Format == resource.DecimalExponent && q.AsDec().Scale() < -wildExponent
}

// tame returns a wild quantity as the most that a column holds, or as nothing when it is below zero; others as they are.
func tame(q resource.Quantity) resource.Quantity {
	switch {
	case !wild(q):
		return q
	case q.Sign() <= 0: // 0e99 is nothing
		return *resource.NewQuantity(0, resource.DecimalSI)
	}
	return *resource.NewQuantity(most, resource.DecimalSI)
}

func tameList(list corev1.ResourceList) {
	for name, q := range list {
		if wild(q) {
			list[name] = tame(q)
		}
	}
}

func tameAll(r *corev1.ResourceRequirements) {
	if r != nil {
		tameList(r.Requests)
		tameList(r.Limits)
	}
}

// tamePod tames, in place, all amounts that a pod's requests are computed from.
func tamePod(p *corev1.Pod) {
	tameSpec(&p.Spec)
	tameList(p.Status.AllocatedResources)
	tameAll(p.Status.Resources)
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			tameList(list[i].AllocatedResources)
			tameAll(list[i].Resources)
		}
	}
}

func tameSpec(s *corev1.PodSpec) {
	tameList(s.Overhead)
	tameAll(s.Resources)
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			tameAll(&list[i].Resources)
		}
	}
}
