package upstream

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/model"
)

func classOf(r model.ClassRef) *v1.NodeClassReference {
	return &v1.NodeClassReference{Group: r.Group, Kind: r.Kind, Name: r.Name}
}

func requirementsOf(list []model.Requirement) []v1.NodeSelectorRequirementWithMinValues {
	var out []v1.NodeSelectorRequirementWithMinValues
	for _, r := range list {
		x := v1.NodeSelectorRequirementWithMinValues{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Op), Values: r.Values}
		if r.MinValues > 0 {
			x.MinValues = new(r.MinValues)
		}
		out = append(out, x)
	}
	return out
}

func nodePool(p model.Pool) *v1.NodePool {
	out := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: types.UID(p.UID)}}
	out.Spec.Weight = new(int32(p.Weight))
	out.Spec.Template.Labels = p.Labels
	out.Spec.Template.Spec = v1.NodeClaimTemplateSpec{Taints: objects.Taints(p.Taints), StartupTaints: objects.Taints(p.StartupTaints),
		Requirements: requirementsOf(p.Requirements), NodeClassRef: classOf(p.Class)}
	for name, v := range p.Limits {
		if out.Spec.Limits == nil {
			out.Spec.Limits = v1.Limits{}
		}
		out.Spec.Limits[corev1.ResourceName(name)] = objects.Quantity(name, v)
	}
	return out
}

func nodeClaim(c model.Claim) *v1.NodeClaim {
	out := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: c.Name, UID: types.UID(c.UID), Labels: c.Labels, Finalizers: c.Finalizers},
		Spec: v1.NodeClaimSpec{Taints: objects.Taints(c.Taints), StartupTaints: objects.Taints(c.StartupTaints),
			Requirements: requirementsOf(c.Requirements), NodeClassRef: classOf(c.Class)},
		Status: v1.NodeClaimStatus{ProviderID: c.ProviderID, NodeName: c.NodeName, Capacity: objects.Resources(c.Capacity), Allocatable: objects.Resources(c.Allocatable)}}
	if c.Deleting() {
		out.DeletionTimestamp = &metav1.Time{Time: c.DeletedAt}
	}
	for _, x := range c.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, metaCondition(x))
	}
	return out
}

// instanceTypes translates a catalogue. Labels of types and offerings become known to upstream, as a provider's labels do.
func instanceTypes(cat model.Catalog) []*cloudprovider.InstanceType {
	var out []*cloudprovider.InstanceType
	for _, t := range cat.Types {
		x := &cloudprovider.InstanceType{Name: t.Name, Requirements: scheduling.NewRequirements(), Capacity: objects.Resources(t.Capacity),
			Overhead: &cloudprovider.InstanceTypeOverhead{KubeReserved: objects.Resources(t.Capacity.Sub(t.Allocatable))}}
		values := map[string][]string{model.LabelInstanceType: {t.Name}}
		add := func(k, v string) {
			if !slices.Contains(values[k], v) {
				values[k] = append(values[k], v)
			}
		}
		for k, v := range t.Labels {
			add(k, v)
		}
		for k, vs := range t.Either {
			for _, v := range vs {
				add(k, v)
			}
		}
		for _, o := range t.Offerings {
			labels := map[string]string{model.LabelZone: o.Zone, model.LabelCapacityType: o.CapacityType}
			for k, v := range o.Labels {
				labels[k] = v
			}
			for k, v := range labels {
				add(k, v)
			}
			x.Offerings = append(x.Offerings, &cloudprovider.Offering{Requirements: scheduling.NewLabelRequirements(labels),
				Price: o.Price.Float(), Available: o.Available})
		}
		for k, vs := range values {
			if !v1.WellKnownLabels.Has(k) {
				v1.WellKnownLabels.Insert(k)
			}
			x.Requirements.Add(scheduling.NewRequirement(k, corev1.NodeSelectorOpIn, vs...))
		}
		out = append(out, x)
	}
	// Every known label must be spoken of, even where a type does not have it.
	for _, x := range out {
		for k := range v1.WellKnownLabels {
			if !x.Requirements.Has(k) && provider(cat, k) {
				x.Requirements.Add(scheduling.NewRequirement(k, corev1.NodeSelectorOpDoesNotExist))
			}
		}
	}
	return out
}

// provider reports whether any type of the catalogue has the label.
func provider(cat model.Catalog, key string) bool {
	return slices.ContainsFunc(cat.Types, func(t model.InstanceType) bool {
		return t.Labels[key] != "" || len(t.Either[key]) > 0 ||
			slices.ContainsFunc(t.Offerings, func(o model.Offering) bool { return o.Labels[key] != "" })
	})
}
