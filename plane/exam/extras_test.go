package exam

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/model"
)

// everyKind is what the exam's stores follow: all that some users switch on.
var everyKind = apikube.Extras{Overlays: true, Buffers: true}

// extraKinds are wiped between questions as well.
func extraKinds() []client.ObjectList {
	return []client.ObjectList{&v1alpha1.NodeOverlayList{}, &bufferv1beta1.CapacityBufferList{}, &corev1.PodTemplateList{}, &appsv1.DeploymentList{}}
}

func (w realWorld) PutOverlay(t *testing.T, x model.Overlay) {
	o := &v1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: x.Name}}
	for _, r := range x.Requirements {
		o.Spec.Requirements = append(o.Spec.Requirements,
			v1alpha1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Op), Values: r.Values})
	}
	if x.Weight != 0 {
		n := int32(x.Weight)
		o.Spec.Weight = &n
	}
	if x.Price != "" {
		o.Spec.Price = &x.Price
	}
	if x.PriceAdjustment != "" {
		o.Spec.PriceAdjustment = &x.PriceAdjustment
	}
	for name, n := range x.Capacity {
		if o.Spec.Capacity == nil {
			o.Spec.Capacity = corev1.ResourceList{}
		}
		o.Spec.Capacity[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	must(t, w.api.Create(t.Context(), o))
}

func (w realWorld) PutTemplate(t *testing.T, x model.Template) {
	cpu := corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(x.Pod.Requests.CPU, resource.DecimalSI)}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: x.Pod.Labels},
		Spec: corev1.PodSpec{NodeSelector: x.Pod.NodeSelector, Containers: []corev1.Container{{
			Name: "main", Image: "exam.invalid/pause:1", Resources: corev1.ResourceRequirements{Requests: cpu},
		}}},
	}
	m := metav1.ObjectMeta{Namespace: x.Namespace, Name: x.Name}
	if x.Kind == model.KindPodTemplate {
		must(t, w.api.Create(t.Context(), &corev1.PodTemplate{ObjectMeta: m, Template: pod}))
		return
	}
	must(t, w.api.Create(t.Context(), &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{
		Replicas: &x.Replicas, Selector: &metav1.LabelSelector{MatchLabels: x.Pod.Labels}, Template: pod, Paused: true,
	}}))
}

func (w realWorld) PutBuffer(t *testing.T, b model.Buffer) {
	o := &bufferv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	o.Spec.Replicas, o.Spec.Percentage = b.Replicas, b.Percentage
	if b.Strategy != "" {
		o.Spec.ProvisioningStrategy = &b.Strategy
	}
	if b.Template != "" {
		o.Spec.PodTemplateRef = &bufferv1beta1.LocalObjectRef{Name: b.Template}
	}
	if r := b.Scalable; r != nil {
		o.Spec.ScalableRef = &bufferv1beta1.ScalableRef{APIGroup: r.Group, Kind: r.Kind, Name: r.Name}
	}
	for name, n := range b.Limits {
		if o.Spec.Limits == nil {
			o.Spec.Limits = bufferv1beta1.Limits{}
		}
		q := resource.NewQuantity(n, resource.DecimalSI)
		if name == model.ResourceCPU {
			q = resource.NewMilliQuantity(n, resource.DecimalSI)
		}
		o.Spec.Limits[corev1.ResourceName(name)] = *q
	}
	must(t, w.api.Create(t.Context(), o))
}
