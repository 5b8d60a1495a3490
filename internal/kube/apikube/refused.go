package apikube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/api/admit"
)

// An API server looks at what it is given before a controller sees it; a file did not pass one. Here are those of its rules for its own
// kinds without which a plan would be nonsense: the decoder takes an amount below zero for nothing, and a typing error in a resource's
// name for a resource that no machine has. Custom resources are judged by their CRDs (api/admit).
// Source: k8s.io/kubernetes, pkg/apis/core/validation, which cannot be imported. The exams ask the original.

// faults gathers what is wrong: that for which an API server would refuse an object, and what none minds and makes no sense.
type faults []admit.Fault

func (f *faults) add(field, format string, args ...any) {
	*f = append(*f, admit.Fault{Field: field, What: fmt.Sprintf(format, args...)})
}

// refused lists what is wrong with the object, as one of the API's Go types. O(size of the object).
func refused(o client.Object) []admit.Fault {
	var f faults
	switch o := o.(type) {
	case *corev1.Pod:
		f.pod("spec", &o.Spec)
	case *corev1.Node:
		f.amounts("status.allocatable", o.Status.Allocatable)
		f.amounts("status.capacity", o.Status.Capacity)
	case *corev1.PodTemplate:
		f.pod("template.spec", &o.Template.Spec)
	case *appsv1.DaemonSet:
		f.pod("spec.template.spec", &o.Spec.Template.Spec)
	case *appsv1.Deployment:
		f.count("spec.replicas", o.Spec.Replicas)
		f.pod("spec.template.spec", &o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		f.count("spec.replicas", o.Spec.Replicas)
		f.pod("spec.template.spec", &o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		f.count("spec.replicas", o.Spec.Replicas)
		f.pod("spec.template.spec", &o.Spec.Template.Spec)
	case *policyv1.PodDisruptionBudget:
		if o.Spec.MinAvailable != nil && o.Spec.MaxUnavailable != nil {
			f.add("spec.maxUnavailable", "a budget has minAvailable or maxUnavailable, not both")
		}
	case *karpv1.NodePool: // an API server takes them
		f.amounts("spec.limits", corev1.ResourceList(o.Spec.Limits))
	}
	return f
}

func (f *faults) count(field string, n *int32) {
	if n != nil && *n < 0 {
		f.add(field, "%d is below zero", *n)
	}
}

// amounts says which are below zero.
func (f *faults) amounts(field string, list corev1.ResourceList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		f.amount(fmt.Sprintf("%s[%s]", field, name), list[name])
	}
}

func (f *faults) amount(field string, q resource.Quantity) {
	if q.Sign() < 0 {
		f.add(field, "%s is below zero", shown(q))
	}
}

// shown prints a quantity without writing out what would fill pages.
func shown(q resource.Quantity) string {
	if wild(q) {
		return "an amount with a huge exponent"
	}
	return clip(q.String(), saidLength)
}

func (f *faults) pod(field string, s *corev1.PodSpec) {
	f.amounts(field+".overhead", s.Overhead)
	if s.Resources != nil {
		f.resources(field+".resources", s.Resources)
	}
	for _, list := range []struct {
		name string
		all  []corev1.Container
	}{{"initContainers", s.InitContainers}, {"containers", s.Containers}} {
		for i := range list.all {
			c := &list.all[i]
			at := fmt.Sprintf("%s.%s[%d]", field, list.name, i)
			f.resources(at+".resources", &c.Resources)
			for j, p := range c.Ports {
				if p.HostPort < 0 || p.HostPort > 65535 {
					f.add(fmt.Sprintf("%s.ports[%d].hostPort", at, j), "%d is not from 1 to 65535", p.HostPort)
				}
			}
		}
	}
	for i, c := range s.TopologySpreadConstraints {
		f.spread(fmt.Sprintf("%s.topologySpreadConstraints[%d]", field, i), c)
	}
	for i, t := range s.Tolerations {
		f.toleration(fmt.Sprintf("%s.tolerations[%d]", field, i), t)
	}
	if a := s.Affinity; a != nil {
		if p := a.PodAffinity; p != nil {
			f.near(field+".affinity.podAffinity", p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if p := a.PodAntiAffinity; p != nil {
			f.near(field+".affinity.podAntiAffinity", p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
}

// resources of a container, or of a pod.
func (f *faults) resources(field string, r *corev1.ResourceRequirements) {
	for _, list := range []struct {
		name string
		all  corev1.ResourceList
	}{{"requests", r.Requests}, {"limits", r.Limits}} {
		for _, name := range slices.Sorted(maps.Keys(list.all)) {
			at := fmt.Sprintf("%s.%s[%s]", field, list.name, name)
			q := list.all[name]
			f.amount(at, q)
			if !ofContainers(string(name)) {
				f.add(at, "there is no resource of that name: want cpu, memory, ephemeral-storage, hugepages-SIZE or DOMAIN/NAME")
			}
			if limit, ok := r.Limits[name]; ok && list.name == "requests" && !wild(q) && !wild(limit) && q.Cmp(limit) > 0 {
				f.add(at, "%s is more than the limit of %s", shown(q), shown(limit))
			}
		}
	}
}

// ofContainers reports whether containers may ask for a resource of this name: those of Kubernetes, and any with a domain.
func ofContainers(name string) bool {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) || strings.Contains(name, "/")
}

func (f *faults) spread(field string, c corev1.TopologySpreadConstraint) {
	if c.MaxSkew <= 0 {
		f.add(field+".maxSkew", "%d is not 1 or more", c.MaxSkew)
	}
	if c.TopologyKey == "" {
		f.add(field+".topologyKey", "it is missing: name the label whose values are the places")
	}
	if c.WhenUnsatisfiable != corev1.DoNotSchedule && c.WhenUnsatisfiable != corev1.ScheduleAnyway {
		f.add(field+".whenUnsatisfiable", "there is no %q: want DoNotSchedule or ScheduleAnyway", c.WhenUnsatisfiable)
	}
	if c.MinDomains != nil && *c.MinDomains <= 0 {
		f.add(field+".minDomains", "%d is not 1 or more", *c.MinDomains)
	}
}

func (f *faults) toleration(field string, t corev1.Toleration) {
	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		if t.Key == "" {
			f.add(field+".operator", "without a key it must be Exists")
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			f.add(field+".operator", "Exists takes no value")
		}
	}
}

func (f *faults) near(field string, hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
	for i, t := range hard {
		if t.TopologyKey == "" {
			f.add(fmt.Sprintf("%s.requiredDuringSchedulingIgnoredDuringExecution[%d].topologyKey", field, i), "it is missing: name the label whose values are the places")
		}
	}
	for i, t := range soft {
		at := fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d]", field, i)
		if t.PodAffinityTerm.TopologyKey == "" {
			f.add(at+".podAffinityTerm.topologyKey", "it is missing: name the label whose values are the places")
		}
		if t.Weight < 1 || t.Weight > 100 {
			f.add(at+".weight", "%d is not from 1 to 100", t.Weight)
		}
	}
}
