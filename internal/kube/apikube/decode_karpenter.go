package apikube

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// decodePool reads a NodePool. The hash is the published type's own, so that claims keep their meaning whoever runs.
func decodePool(p *karpv1.NodePool) model.Pool {
	t := p.Spec.Template
	out := model.Pool{
		Name: p.Name, UID: string(p.UID), Generation: p.Generation, Created: when(&p.CreationTimestamp),
		Deleting: !p.DeletionTimestamp.IsZero(), Annotations: maps.Clone(p.Annotations), Conditions: conditions(p.Status.Conditions),
		Class: classRef(t.Spec.NodeClassRef), Replicas: clone(p.Spec.Replicas),
		Labels: maps.Clone(t.Labels), NodeAnnotations: maps.Clone(t.Annotations),
		Taints: taints(t.Spec.Taints), StartupTaints: taints(t.Spec.StartupTaints), Requirements: requirements(t.Spec.Requirements),
		ExpireAfter: clone(t.Spec.ExpireAfter.Duration), TerminationGracePeriod: duration(t.Spec.TerminationGracePeriod),
		Limits: limits(p.Spec.Limits),
		Policy: model.ConsolidationPolicy(p.Spec.Disruption.ConsolidationPolicy), ConsolidateAfter: clone(p.Spec.Disruption.ConsolidateAfter.Duration),
		Budgets: budgets(p.Spec.Disruption.Budgets),
		Hash:    p.Hash(), HashVersion: karpv1.NodePoolHashVersion,
		ClassGeneration: p.Status.NodeClassObservedGeneration,
	}
	if p.Spec.Weight != nil {
		out.Weight = int(*p.Spec.Weight)
	}
	used := maps.Clone(p.Status.Resources)
	delete(used, model.ResourceNodes) // it stands in status.nodes as well
	out.StatusResources = given(used)
	if p.Status.Nodes != nil {
		out.StatusNodes = *p.Status.Nodes
	}
	return out
}

// limits reads limits in the units of the columns, rounded down: a limit is never exceeded.
func limits(l karpv1.Limits) map[string]int64 {
	if l == nil {
		return nil
	}
	out := make(map[string]int64, len(l))
	for name, q := range l {
		out[string(name)] = down(q, scale(string(name)))
	}
	return out
}

func budgets(list []karpv1.Budget) []model.DisruptionBudget {
	var out []model.DisruptionBudget
	for _, b := range list {
		m := model.DisruptionBudget{Nodes: b.Nodes}
		for _, r := range b.Reasons {
			m.Reasons = append(m.Reasons, string(r))
		}
		if b.Schedule != nil {
			m.Schedule = *b.Schedule
		}
		if b.Duration != nil {
			m.Duration = b.Duration.Duration
		}
		out = append(out, m)
	}
	return out
}

// decodeClaim reads a NodeClaim.
func decodeClaim(c *karpv1.NodeClaim) model.Claim {
	out := model.Claim{
		Name: c.Name, UID: string(c.UID), Pool: c.Labels[model.LabelPool], Class: classRef(c.Spec.NodeClassRef),
		Generation: c.Generation, Labels: maps.Clone(c.Labels), Annotations: maps.Clone(c.Annotations), Finalizers: slices.Clone(c.Finalizers),
		Requirements: requirements(c.Spec.Requirements), Requests: asked(c.Spec.Resources.Requests),
		Taints: taints(c.Spec.Taints), StartupTaints: taints(c.Spec.StartupTaints),
		ExpireAfter: clone(c.Spec.ExpireAfter.Duration), TerminationGracePeriod: duration(c.Spec.TerminationGracePeriod),
		Created: when(&c.CreationTimestamp), DeletedAt: when(c.DeletionTimestamp),
		ProviderID: c.Status.ProviderID, NodeName: c.Status.NodeName, ImageID: c.Status.ImageID,
		Capacity: given(c.Status.Capacity), Allocatable: given(c.Status.Allocatable),
		LastPodEvent: when(&c.Status.LastPodEventTime), Conditions: conditions(c.Status.Conditions),
	}
	for _, o := range c.OwnerReferences {
		if o.Kind == "NodePool" {
			out.PoolUID = string(o.UID)
		}
	}
	return out
}

// encodeClaim writes a new NodeClaim: its finalizer is on it before anything is bought for it, and its pool owns it.
func encodeClaim(c model.Claim) *karpv1.NodeClaim {
	out := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name, Labels: maps.Clone(c.Labels), Annotations: maps.Clone(c.Annotations), Finalizers: slices.Clone(c.Finalizers),
		},
		Spec: karpv1.NodeClaimSpec{
			Taints: apiTaints(c.Taints), StartupTaints: apiTaints(c.StartupTaints),
			Requirements: apiRequirements(c.Requirements),
			Resources:    karpv1.ResourceRequirements{Requests: list(c.Requests)},
			NodeClassRef: &karpv1.NodeClassReference{Group: c.Class.Group, Kind: c.Class.Kind, Name: c.Class.Name},
			ExpireAfter:  karpv1.NillableDuration{Duration: clone(c.ExpireAfter)},
		},
	}
	if !slices.Contains(out.Finalizers, model.Finalizer) {
		out.Finalizers = append(out.Finalizers, model.Finalizer)
	}
	if c.TerminationGracePeriod != nil {
		out.Spec.TerminationGracePeriod = &metav1.Duration{Duration: *c.TerminationGracePeriod}
	}
	if c.Pool != "" && c.PoolUID != "" {
		out.OwnerReferences = []metav1.OwnerReference{owner("NodePool", c.Pool, c.PoolUID)}
	}
	return out
}
