package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

func overlayStatus(t *testing.T, w World) {
	b := newBench(t, w)
	want := model.Overlay{Name: "o", Weight: 7, PriceAdjustment: "-12.5%", Capacity: map[string]int64{"x.com/y": 3},
		Requirements: []model.Requirement{{Key: model.LabelZone, Op: model.In, Values: []string{"a", "b"}}, {Key: "team", Op: model.Exists}}}
	w.PutOverlay(t, want)
	got := see(t, b.p, model.Overlay{Name: "o"}, any1)
	if got.UID == "" || got.Generation == 0 {
		t.Errorf("told without UID or generation: %+v", got)
	}
	want.UID, want.Generation = got.UID, got.Generation
	if !reflect.DeepEqual(got, want) {
		t.Errorf("told\n%+v\nwant\n%+v", got, want)
	}
	since := present().Add(-time.Minute)
	want.Conditions = []model.Condition{
		{Type: model.ValidationSucceeded, Status: model.False, Reason: "Conflict", Message: "with p", Since: since, ObservedGeneration: got.Generation},
		{Type: model.Ready, Status: model.False, Reason: "UnhealthyDependents", Since: since, ObservedGeneration: got.Generation},
	}
	must(t, b.s.PatchOverlay(t.Context(), "o", kube.OverlayPatch{Conditions: want.Conditions}))
	got = see(t, b.p, got, func(o model.Overlay) bool { return len(o.Conditions) == 2 })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after the patch\n%+v\nwant\n%+v", got, want)
	}
	code(t, b.s.PatchOverlay(t.Context(), "nobody", kube.OverlayPatch{}), kube.NotFound)
}

func bufferStatus(t *testing.T, w World) {
	b := newBench(t, w)
	pod := model.Pod{Labels: map[string]string{"app": "web"}, NodeSelector: map[string]string{"team": "a"}, Requests: model.Resources{CPU: 1500, Pods: 1}}
	for _, kind := range []string{model.KindPodTemplate, model.KindDeployment} {
		x := model.Template{Kind: kind, Namespace: "default", Name: "web", Pod: pod}
		if kind == model.KindDeployment {
			x.Replicas = 4
		}
		w.PutTemplate(t, x)
		got := see(t, b.p, x, any1)
		if got.Replicas != x.Replicas || !reflect.DeepEqual(got.Pod.Labels, pod.Labels) || !reflect.DeepEqual(got.Pod.NodeSelector, pod.NodeSelector) ||
			!reflect.DeepEqual(got.Pod.Requests, pod.Requests) || got.Pod.Node != "" {
			t.Errorf("told\n%+v\nwant\n%+v", got, x)
		}
	}
	three, quarter := int32(3), int32(25)
	first := model.Buffer{Namespace: "default", Name: "a", Template: "web", Replicas: &three, Limits: map[string]int64{model.ResourceCPU: 4500}, Strategy: model.BufferActive}
	second := model.Buffer{Namespace: "default", Name: "b", Scalable: &model.ScalableRef{Group: "apps", Kind: model.KindDeployment, Name: "web"},
		Percentage: &quarter, Strategy: model.BufferActive}
	for _, want := range []model.Buffer{first, second} {
		w.PutBuffer(t, want)
		got := see(t, b.p, want, any1)
		if got.UID == "" || got.Generation == 0 {
			t.Errorf("told without UID or generation: %+v", got)
		}
		want.UID, want.Generation = got.UID, got.Generation
		if !reflect.DeepEqual(got, want) {
			t.Errorf("told\n%+v\nwant\n%+v", got, want)
		}
	}
	got := see(t, b.p, first, any1)
	since := present().Add(-time.Minute)
	want := got
	want.Conditions = []model.Condition{{Type: model.ReadyForProvisioning, Status: model.True, Reason: "Resolved", Since: since, ObservedGeneration: got.Generation}}
	want.StatusReplicas, want.StatusTemplate, want.StatusTemplateGeneration, want.StatusStrategy = &three, "web", 1, model.BufferActive
	must(t, b.s.PatchBuffer(t.Context(), first.Key(), kube.BufferPatch{Conditions: want.Conditions,
		Resolved: &kube.BufferResolved{Replicas: 3, Template: "web", TemplateGeneration: 1, Strategy: model.BufferActive}}))
	got = see(t, b.p, first, func(b model.Buffer) bool { return len(b.Conditions) > 0 })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after the patch\n%+v\nwant\n%+v", got, want)
	}
	zero := int32(0)
	want.StatusReplicas, want.StatusTemplate, want.StatusTemplateGeneration = &zero, "", 0
	must(t, b.s.PatchBuffer(t.Context(), first.Key(), kube.BufferPatch{Resolved: &kube.BufferResolved{Strategy: model.BufferActive}}))
	got = see(t, b.p, first, func(b model.Buffer) bool { return b.StatusTemplate == "" })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after the second patch\n%+v\nwant\n%+v", got, want)
	}
	code(t, b.s.PatchBuffer(t.Context(), model.PodKey{Namespace: "default", Name: "nobody"}, kube.BufferPatch{}), kube.NotFound)
}
