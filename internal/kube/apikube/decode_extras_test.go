package apikube

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/karpenter-aks/karpenter/model"
)

// What is not there stays zero, amounts are never more than was written, and what nobody could mean is kept for whoever
// judges it.
func TestOverlaysAreReadAsWritten(t *testing.T) {
	price := "1.25"
	for _, c := range []struct {
		spec v1alpha1.NodeOverlaySpec
		want model.Overlay
	}{
		{v1alpha1.NodeOverlaySpec{}, model.Overlay{Name: "o"}},
		{v1alpha1.NodeOverlaySpec{Price: &price, PriceAdjustment: &price}, model.Overlay{Name: "o", Price: price, PriceAdjustment: price}},
		{v1alpha1.NodeOverlaySpec{Capacity: corev1.ResourceList{"x.com/y": resource.MustParse("2500m"), "x.com/none": resource.MustParse("0"), "cpu": resource.MustParse("2")}},
			model.Overlay{Name: "o", Capacity: map[string]int64{"x.com/y": 2, "x.com/none": 0, "cpu": 2000}}},
	} {
		got := decodeOverlay(&v1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "o"}, Spec: c.spec})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v\nread as %+v\nwant    %+v", c.spec, got, c.want)
		}
	}
}

func TestBuffersAreReadAsWritten(t *testing.T) {
	got := decodeBuffer(&bufferv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "b"}, Spec: bufferv1beta1.CapacityBufferSpec{
		ScalableRef: &bufferv1beta1.ScalableRef{Kind: "Deployment", Name: "web"},
		Limits:      bufferv1beta1.Limits{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")},
	}})
	want := model.Buffer{Namespace: "n", Name: "b", Scalable: &model.ScalableRef{Kind: "Deployment", Name: "web"},
		Limits: map[string]int64{model.ResourceCPU: 1500, model.ResourceMemory: 1 << 30}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read as\n%+v\nwant\n%+v", got, want)
	}
}

// A template counts as the pods that will be made of it: requests come from limits, and no replicas given means one.
func TestTemplatesCountAsTheirPodsWill(t *testing.T) {
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{
		HostNetwork: true,
		Containers: []corev1.Container{{Name: "main", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}}}},
	}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "db", Generation: 3}, Spec: appsv1.StatefulSetSpec{Template: pod}}
	got := decodeTemplate(model.KindStatefulSet, &set.ObjectMeta, set.Spec.Replicas, &set.Spec.Template)
	if got.Replicas != 1 || got.Generation != 3 || got.ObjectKey() != "StatefulSet/n/db" {
		t.Errorf("read as %+v", got)
	}
	if got.Pod.Requests.CPU != 2000 || got.Pod.Requests.Pods != 1 || got.Pod.Labels["app"] != "web" || len(got.Pod.HostPorts) != 1 {
		t.Errorf("its pods are read as %+v", got.Pod)
	}
	if pod.Spec.Containers[0].Resources.Requests != nil {
		t.Errorf("the object was changed")
	}
}

// What is switched off is not read, so that its CRD may be missing.
func TestOnlyWhatIsSwitchedOnIsFollowed(t *testing.T) {
	for want, e := range map[int]Extras{0: {}, 1: {Overlays: true}, 5: {Buffers: true}, 6: {Overlays: true, Buffers: true}} {
		if got := len(e.kinds()); got != want {
			t.Errorf("%+v follows %d kinds more, want %d", e, got, want)
		}
	}
}
