package apikube

import (
	"context"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/karpenter/pkg/apis"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Extras are the kinds of features that users switch on. What is off is neither read nor watched. What is on and not served by the API
// server, because a CRD is missing or of another version, or a right, is told as model.Unserved, and asked for until it is.
type Extras struct {
	Overlays bool // NodeOverlay
	Buffers  bool // CapacityBuffer, and what it may refer to
}

func addExtras(s *runtime.Scheme) {
	overlays := schema.GroupVersion{Group: apis.Group, Version: "v1alpha1"}
	s.AddKnownTypes(overlays, &v1alpha1.NodeOverlay{}, &v1alpha1.NodeOverlayList{})
	metav1.AddToGroupVersion(s, overlays)
	buffers := schema.GroupVersion{Group: bufferv1beta1.Group, Version: "v1beta1"}
	s.AddKnownTypes(buffers, &bufferv1beta1.CapacityBuffer{}, &bufferv1beta1.CapacityBufferList{})
	metav1.AddToGroupVersion(s, buffers)
}

// kinds lists what Follow tells beside the usual. All of it is optional.
func (e Extras) kinds() []kind {
	out := e.described()
	versions := map[string]schema.GroupVersion{
		"nodeoverlays": {Group: apis.Group, Version: "v1alpha1"}, "capacitybuffers": {Group: bufferv1beta1.Group, Version: "v1beta1"},
		"podtemplates": corev1.SchemeGroupVersion,
	}
	for i := range out {
		v, ok := versions[out[i].name]
		if !ok {
			v = appsv1.SchemeGroupVersion
		}
		gvr := v.WithResource(out[i].name)
		out[i].optional = &gvr
	}
	return out
}

func (e Extras) described() []kind {
	var out []kind
	if e.Overlays {
		out = append(out, newKind(api[*v1alpha1.NodeOverlay]{"nodeoverlays", &v1alpha1.NodeOverlay{}, &v1alpha1.NodeOverlayList{}},
			plainly(decodeOverlay), func(_, n string) model.Overlay { return model.Overlay{Name: n} }))
	}
	if !e.Buffers {
		return out
	}
	key := func(kind string) func(ns, n string) model.Template {
		return func(ns, n string) model.Template { return model.Template{Kind: kind, Namespace: ns, Name: n} }
	}
	return append(out,
		newKind(api[*bufferv1beta1.CapacityBuffer]{"capacitybuffers", &bufferv1beta1.CapacityBuffer{}, &bufferv1beta1.CapacityBufferList{}},
			plainly(decodeBuffer), func(ns, n string) model.Buffer { return model.Buffer{Namespace: ns, Name: n} }),
		newKind(api[*corev1.PodTemplate]{"podtemplates", &corev1.PodTemplate{}, &corev1.PodTemplateList{}},
			plainly(func(o *corev1.PodTemplate) model.Template {
				return decodeTemplate(model.KindPodTemplate, &o.ObjectMeta, new(int32), &o.Template)
			}), key(model.KindPodTemplate)),
		newKind(api[*appsv1.Deployment]{"deployments", &appsv1.Deployment{}, &appsv1.DeploymentList{}},
			plainly(func(o *appsv1.Deployment) model.Template {
				return decodeTemplate(model.KindDeployment, &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template)
			}), key(model.KindDeployment)),
		newKind(api[*appsv1.StatefulSet]{"statefulsets", &appsv1.StatefulSet{}, &appsv1.StatefulSetList{}},
			plainly(func(o *appsv1.StatefulSet) model.Template {
				return decodeTemplate(model.KindStatefulSet, &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template)
			}), key(model.KindStatefulSet)),
		newKind(api[*appsv1.ReplicaSet]{"replicasets", &appsv1.ReplicaSet{}, &appsv1.ReplicaSetList{}},
			plainly(func(o *appsv1.ReplicaSet) model.Template {
				return decodeTemplate(model.KindReplicaSet, &o.ObjectMeta, o.Spec.Replicas, &o.Spec.Template)
			}), key(model.KindReplicaSet)),
	)
}

// decodeOverlay reads a NodeOverlay. Amounts of money stay as they are written: who judges them says what is wrong.
func decodeOverlay(o *v1alpha1.NodeOverlay) model.Overlay {
	out := model.Overlay{Name: o.Name, UID: string(o.UID), Generation: o.Generation, Conditions: conditions(o.Status.Conditions)}
	if o.Spec.Weight != nil {
		out.Weight = int(*o.Spec.Weight)
	}
	if o.Spec.Price != nil {
		out.Price = *o.Spec.Price
	}
	if o.Spec.PriceAdjustment != nil {
		out.PriceAdjustment = *o.Spec.PriceAdjustment
	}
	for _, r := range o.Spec.Requirements {
		out.Requirements = append(out.Requirements, model.Requirement{Key: r.Key, Op: model.Operator(r.Operator), Values: slices.Clone(r.Values)})
	}
	for name, q := range o.Spec.Capacity {
		if out.Capacity == nil {
			out.Capacity = map[string]int64{}
		}
		out.Capacity[string(name)] = down(q, scale(string(name)))
	}
	return out
}

// decodeBuffer reads a CapacityBuffer.
func decodeBuffer(b *bufferv1beta1.CapacityBuffer) model.Buffer {
	out := model.Buffer{
		Namespace: b.Namespace, Name: b.Name, UID: string(b.UID), Generation: b.Generation,
		Replicas: clone(b.Spec.Replicas), Percentage: clone(b.Spec.Percentage), StatusReplicas: clone(b.Status.Replicas),
	}
	if len(b.Spec.Limits) > 0 {
		out.Limits = limits(karpv1.Limits(b.Spec.Limits))
	}
	if b.Spec.ProvisioningStrategy != nil {
		out.Strategy = *b.Spec.ProvisioningStrategy
	}
	if b.Spec.PodTemplateRef != nil {
		out.Template = b.Spec.PodTemplateRef.Name
	}
	if r := b.Spec.ScalableRef; r != nil {
		out.Scalable = &model.ScalableRef{Group: r.APIGroup, Kind: r.Kind, Name: r.Name}
	}
	for _, c := range b.Status.Conditions {
		out.Conditions = append(out.Conditions, condition(c))
	}
	if b.Status.PodTemplateRef != nil {
		out.StatusTemplate = b.Status.PodTemplateRef.Name
	}
	if b.Status.PodTemplateGeneration != nil {
		out.StatusTemplateGeneration = *b.Status.PodTemplateGeneration
	}
	if b.Status.ProvisioningStrategy != nil {
		out.StatusStrategy = *b.Status.ProvisioningStrategy
	}
	return out
}

// decodeTemplate reads what makes pods. No replicas given means one, as the API has it.
func decodeTemplate(kind string, m *metav1.ObjectMeta, replicas *int32, t *corev1.PodTemplateSpec) model.Template {
	out := model.Template{Kind: kind, Namespace: m.Namespace, Name: m.Name, Generation: m.Generation, Replicas: 1}
	if replicas != nil {
		out.Replicas = *replicas
	}
	spec := filled(&t.Spec)
	out.Pod = decodePodSpec(spec)
	out.Pod.Namespace, out.Pod.Name, out.Pod.Labels = m.Namespace, m.Name, maps.Clone(t.Labels)
	constrain(&out.Pod, spec)
	out.Pod.Requests = podRequests(&corev1.Pod{Spec: *spec})
	return out
}

// filled returns a copy of a template's spec with what the API server fills in when a pod is made of it.
func filled(s *corev1.PodSpec) *corev1.PodSpec {
	spec := s.DeepCopy()
	for i := range spec.InitContainers {
		fillRequests(&spec.InitContainers[i].Resources)
	}
	for i := range spec.Containers {
		fillRequests(&spec.Containers[i].Resources)
	}
	if spec.HostNetwork {
		fillHostPorts(spec.InitContainers)
		fillHostPorts(spec.Containers)
	}
	return spec
}

// PatchOverlay implements kube.Store.
func (s *Store) PatchOverlay(ctx context.Context, name string, p kube.OverlayPatch) error {
	status := part[*v1alpha1.NodeOverlay]{status: true, edit: func(o *v1alpha1.NodeOverlay) {
		if len(p.Conditions) > 0 {
			o.Status.Conditions = tagged(setConditions(plain(o.Status.Conditions), p.Conditions, o.Generation, time.Now()))
		}
	}}
	return patch(ctx, s, &v1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name}}, "", []part[*v1alpha1.NodeOverlay]{status})
}

// PatchBuffer implements kube.Store.
func (s *Store) PatchBuffer(ctx context.Context, key model.PodKey, p kube.BufferPatch) error {
	status := part[*bufferv1beta1.CapacityBuffer]{status: true, edit: func(o *bufferv1beta1.CapacityBuffer) {
		st := &o.Status
		if len(p.Conditions) > 0 {
			st.Conditions = setConditions(st.Conditions, p.Conditions, o.Generation, time.Now())
		}
		r := p.Resolved
		if r == nil {
			return
		}
		st.Replicas, st.ProvisioningStrategy = clone(&r.Replicas), clone(&r.Strategy)
		st.PodTemplateRef, st.PodTemplateGeneration = nil, nil
		if r.Template != "" {
			st.PodTemplateRef, st.PodTemplateGeneration = &bufferv1beta1.LocalObjectRef{Name: r.Template}, clone(&r.TemplateGeneration)
		}
	}}
	o := &bufferv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return patch(ctx, s, o, "", []part[*bufferv1beta1.CapacityBuffer]{status})
}
