package apikube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

func kindOf(o client.Object) string {
	switch o.(type) {
	case *karpv1.NodeClaim:
		return "claim"
	case *corev1.Node:
		return "node"
	case *karpv1.NodePool:
		return "pool"
	case *v1beta1.AKSNodeClass:
		return "class"
	case *v1alpha1.NodeOverlay:
		return "overlay"
	case *bufferv1beta1.CapacityBuffer:
		return "buffer"
	}
	return fmt.Sprintf("%T", o)
}

// CreateClaim implements kube.Store.
func (s *Store) CreateClaim(ctx context.Context, c model.Claim) (model.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	o := encodeClaim(c)
	if err := s.client.Create(ctx, o); err != nil {
		return model.Claim{}, wrap(err, "create claim %s", c.Name)
	}
	return decodeClaim(o), nil
}

// PatchClaim implements kube.Store. What restarts depend on goes first: a finalizer is added before, and dropped after,
// anything else.
func (s *Store) PatchClaim(ctx context.Context, name string, p kube.ClaimPatch) error {
	meta := part[*karpv1.NodeClaim]{edit: func(o *karpv1.NodeClaim) {
		o.Labels, o.Annotations = merged(o.Labels, p.Labels), noted(o.Annotations, p.Annotations)
		o.Finalizers = finalizers(o.Finalizers, model.Finalizer, p.AddFinalizer, p.DropFinalizer)
	}}
	status := part[*karpv1.NodeClaim]{status: true, edit: func(o *karpv1.NodeClaim) { claimStatus(o, p, time.Now()) }}
	parts := []part[*karpv1.NodeClaim]{meta, status}
	if p.DropFinalizer {
		parts = []part[*karpv1.NodeClaim]{status, meta}
	}
	return patch(ctx, s, &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}, p.UID, parts)
}

func claimStatus(o *karpv1.NodeClaim, p kube.ClaimPatch, now time.Time) {
	st := &o.Status
	if len(p.Conditions)+len(p.DropConditions) > 0 {
		st.Conditions = tagged(dropConditions(setConditions(plain(st.Conditions), p.Conditions, o.Generation, now), p.DropConditions))
	}
	if p.ProviderID != "" {
		st.ProviderID = p.ProviderID
	}
	if p.NodeName != "" {
		st.NodeName = p.NodeName
	}
	if p.ImageID != "" {
		st.ImageID = p.ImageID
	}
	if p.Capacity != nil {
		st.Capacity = list(*p.Capacity)
	}
	if p.Allocatable != nil {
		st.Allocatable = list(*p.Allocatable)
	}
	if !p.LastPodEvent.IsZero() {
		st.LastPodEventTime = metav1.NewTime(p.LastPodEvent)
	}
}

// DeleteClaim implements kube.Store.
func (s *Store) DeleteClaim(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return wrap(s.client.Delete(ctx, &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}), "delete claim %s", name)
}

// PatchNode implements kube.Store.
func (s *Store) PatchNode(ctx context.Context, name string, p kube.NodePatch) error {
	edit := func(o *corev1.Node) {
		o.Labels, o.Annotations = merged(o.Labels, p.Labels), merged(o.Annotations, p.Annotations)
		o.Finalizers = finalizers(o.Finalizers, model.Finalizer, p.AddFinalizer, p.DropFinalizer)
		o.Spec.Taints = retaint(o.Spec.Taints, p.AddTaints, p.DropTaints)
		owned := slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == types.UID(p.OwnerUID) })
		if p.OwnerUID != "" && !owned {
			o.OwnerReferences = append(o.OwnerReferences, owner("NodeClaim", p.OwnerClaim, p.OwnerUID))
		}
	}
	return patch(ctx, s, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, p.UID, []part[*corev1.Node]{{edit: edit}})
}

// DeleteNode implements kube.Store.
func (s *Store) DeleteNode(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return wrap(s.client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}), "delete node %s", name)
}

// PatchPool implements kube.Store.
func (s *Store) PatchPool(ctx context.Context, name string, p kube.PoolPatch) error {
	meta := func(o *karpv1.NodePool) { o.Annotations = merged(o.Annotations, p.Annotations) }
	status := func(o *karpv1.NodePool) {
		st := &o.Status
		if len(p.Conditions) > 0 {
			st.Conditions = tagged(setConditions(plain(st.Conditions), p.Conditions, o.Generation, time.Now()))
		}
		if p.Resources != nil {
			st.Resources = list(*p.Resources)
		}
		if p.Nodes != nil {
			st.Nodes = clone(p.Nodes)
		}
		if p.ClassGeneration != 0 {
			st.NodeClassObservedGeneration = p.ClassGeneration
		}
		if st.Nodes == nil {
			st.Nodes = new(int64) // the API wants a number
		}
		if p.Resources != nil || p.Nodes != nil {
			st.Resources = withNodes(st.Resources, *st.Nodes)
		}
	}
	return patch(ctx, s, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}, "",
		[]part[*karpv1.NodePool]{{edit: meta}, {status: true, edit: status}})
}

// PatchClass implements kube.Store. The finalizer is added before, and dropped after, anything else.
func (s *Store) PatchClass(ctx context.Context, ref model.ClassRef, p kube.ClassPatch) error {
	if ref.Group != v1beta1.Group || ref.Kind != v1beta1.Kind {
		return kube.Errorf(kube.NotFound, "patch class %s: no such kind of class", ref)
	}
	meta := part[*v1beta1.AKSNodeClass]{edit: func(o *v1beta1.AKSNodeClass) {
		o.Annotations = merged(o.Annotations, p.Annotations)
		o.Finalizers = finalizers(o.Finalizers, model.ClassFinalizer, p.AddFinalizer, p.DropFinalizer)
	}}
	status := part[*v1beta1.AKSNodeClass]{status: true, edit: func(o *v1beta1.AKSNodeClass) {
		if len(p.Conditions) > 0 {
			o.Status.Conditions = setConditions(o.Status.Conditions, p.Conditions, o.Generation, time.Now())
		}
		if p.Images != nil {
			o.Status.Images = v1beta1.StatusImages(p.Images)
		}
		if p.KubernetesVersion != "" {
			o.Status.KubernetesVersion = &p.KubernetesVersion
		}
	}}
	parts := []part[*v1beta1.AKSNodeClass]{meta, status}
	if p.DropFinalizer {
		parts = []part[*v1beta1.AKSNodeClass]{status, meta}
	}
	return patch(ctx, s, &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: ref.Name}}, "", parts)
}

// noted is merged where an empty value takes the key away.
func noted(old, patch map[string]string) map[string]string {
	out := merged(old, patch)
	for k, v := range patch {
		if v == "" {
			delete(out, k)
		}
	}
	return out
}

func merged(old, patch map[string]string) map[string]string {
	if len(patch) == 0 {
		return old
	}
	out := maps.Clone(old)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, patch)
	return out
}

func finalizers(list []string, ours string, adding, dropping bool) []string {
	if adding && !slices.Contains(list, ours) {
		list = append(slices.Clone(list), ours)
	}
	if dropping {
		list = slices.DeleteFunc(slices.Clone(list), func(f string) bool { return f == ours })
	}
	return list
}

// retaint drops by key, then adds; a taint of the same key and effect is replaced where it stands.
func retaint(list []corev1.Taint, adding []model.Taint, dropping []string) []corev1.Taint {
	out := slices.DeleteFunc(slices.Clone(list), func(t corev1.Taint) bool { return slices.Contains(dropping, t.Key) })
	for _, t := range apiTaints(adding) {
		i := slices.IndexFunc(out, func(o corev1.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect })
		switch {
		case i < 0:
			out = append(out, t)
		case out[i].Value != t.Value:
			out[i] = t
		}
	}
	return out
}
