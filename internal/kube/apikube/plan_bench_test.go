package apikube

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// waitingPod is a pod of workload as the API server knows it, of which kube-scheduler has said that it fits nowhere.
func waitingPod(p *model.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Labels: p.Labels, CreationTimestamp: metav1.NewTime(p.Created)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(p.Requests.CPU, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(p.Requests.Memory, resource.BinarySI),
		}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}},
	}
}

// planned goes the whole way: pods as they come from the watch are decoded into the mirror, a picture is taken, and the engine decides.
func planned(like model.World) (model.World, place.Plan, func()) {
	templates, names := map[string]*corev1.Pod{}, make([]string, len(like.Pods))
	for i := range like.Pods {
		app := like.Pods[i].Labels["app"]
		if templates[app] == nil {
			templates[app] = waitingPod(&like.Pods[i])
		}
		names[i] = like.Pods[i].Name
	}
	var picture model.World
	var plan place.Plan
	run := func() {
		w := world.New()
		f := &following{sink: w}
		w.Begin()
		for _, c := range like.Classes {
			w.Apply(model.Change{Object: c})
		}
		for _, p := range like.Pools {
			w.Apply(model.Change{Object: p})
		}
		for _, n := range like.Namespaces {
			w.Apply(model.Change{Object: n})
		}
		for i := range like.Pods {
			p := templates[like.Pods[i].Labels["app"]]
			p.Name, p.UID = names[i], types.UID(like.Pods[i].UID)
			w.ApplyPod(f.shared.pod(p))
		}
		w.Synced()
		for _, cat := range like.Catalogs {
			w.SetCatalog(cat)
		}
		picture = w.Snapshot()
		plan = place.Decide(place.Input{World: picture})
	}
	run()
	return picture, plan, run
}

// TestPlansFromPodsOfTheAPI: the plan for pods that came from the watch is that for the same pods made by hand.
func TestPlansFromPodsOfTheAPI(t *testing.T) {
	like := workload.World(workload.Families(), workload.Shapes(300, 1))
	picture, got, _ := planned(like)
	want := place.Decide(place.Input{World: like})
	if len(got.Unscheduled) > 0 || got.Price != want.Price || len(got.NewClaims) != len(want.NewClaims) {
		t.Errorf("%d machines for %s, %d pods left; by hand %d for %s", len(got.NewClaims), got.Price, len(got.Unscheduled), len(want.NewClaims), want.Price)
	}
	for _, bad := range audit.Check(picture, got) {
		t.Error(bad)
	}
}

// BenchmarkPodsToPlan measures from v1.Pod objects to the plan: decoding, mirror, picture, decision.
func BenchmarkPodsToPlan(b *testing.B) {
	for _, n := range []int{10_000, 150_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			like := workload.World(workload.Families(), workload.Shapes(n, 1))
			_, plan, run := planned(like)
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
			b.ReportMetric(float64(len(plan.NewClaims)), "machines")
			b.ReportMetric(float64(len(plan.Unscheduled)), "left")
		})
	}
}
