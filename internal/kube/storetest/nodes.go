package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

func nodeTaints(t *testing.T, w World) {
	b := newBench(t, w)
	keep := model.Taint{Key: "keep", Value: "1", Effect: model.NoSchedule}
	b.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1", Taints: []model.Taint{
		{Key: model.TaintUnregistered, Effect: model.NoExecute}, keep,
	}})
	n := see(t, b.p, model.Node{Name: "n"}, any1)
	step := func(p kube.NodePatch, want ...model.Taint) {
		t.Helper()
		must(t, b.s.PatchNode(t.Context(), "n", p))
		see(t, b.p, n, func(n model.Node) bool {
			var ours []model.Taint // a control plane adds taints of its own
			for _, x := range n.Taints {
				if !strings.HasPrefix(x.Key, "node.kubernetes.io/") && !strings.HasPrefix(x.Key, "node.cloudprovider.kubernetes.io/") {
					ours = append(ours, x)
				}
			}
			return slices.Equal(ours, want)
		})
	}
	a := model.Taint{Key: "a", Value: "1", Effect: model.NoSchedule}
	aExec := model.Taint{Key: "a", Value: "1", Effect: model.NoExecute}
	a2 := model.Taint{Key: "a", Value: "2", Effect: model.NoSchedule}
	step(kube.NodePatch{DropTaints: []string{model.TaintUnregistered}, AddTaints: []model.Taint{a}}, keep, a)
	step(kube.NodePatch{AddTaints: []model.Taint{aExec}}, keep, a, aExec)
	step(kube.NodePatch{AddTaints: []model.Taint{a2}}, keep, a2, aExec)
	step(kube.NodePatch{DropTaints: []string{"a", "never-there"}}, keep)
}

func nodeFinalizer(t *testing.T, w World) {
	b := newBench(t, w)
	b.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1", Labels: map[string]string{"mine": "1"}})
	must(t, b.s.PatchNode(t.Context(), "n", kube.NodePatch{AddFinalizer: true,
		Labels: map[string]string{model.LabelRegistered: "true"}, Annotations: map[string]string{"note": "x"}}))
	n := see(t, b.p, model.Node{Name: "n"}, func(n model.Node) bool { return n.Labels[model.LabelRegistered] == "true" })
	if n.Labels["mine"] != "1" || n.Annotations["note"] != "x" || n.ProviderID != "azure:///vm/1" || !slices.Contains(n.Finalizers, model.Finalizer) {
		t.Errorf("after the patch: %+v", n)
	}
	must(t, b.s.DeleteNode(t.Context(), "n"))
	must(t, b.s.DeleteNode(t.Context(), "n"))
	see(t, b.p, n, func(n model.Node) bool { return n.Deleting() })
	must(t, b.s.PatchNode(t.Context(), "n", kube.NodePatch{UID: n.UID, DropFinalizer: true}))
	gone(t, b.p, n)
}

func ownedNode(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	b.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1"})
	for range 2 {
		must(t, b.s.PatchNode(t.Context(), "n", kube.NodePatch{OwnerClaim: "c", OwnerUID: c.UID, AddFinalizer: true}))
	}
	must(t, b.s.DeleteClaim(t.Context(), "c"))
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{DropFinalizer: true}))
	see(t, b.p, model.Node{Name: "n"}, func(n model.Node) bool { return n.Deleting() })
	must(t, b.s.PatchNode(t.Context(), "n", kube.NodePatch{DropFinalizer: true}))
	gone(t, b.p, model.Node{Name: "n"})
}

// withPods puts a node and two pods of app "web" on it.
func withPods(t *testing.T, b bench) (x, y model.Pod) {
	t.Helper()
	b.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1"})
	for _, name := range []string{"x", "y"} {
		b.PutPod(t, model.Pod{Namespace: "default", Name: name, Node: "n", Labels: map[string]string{"app": "web"}, GraceSeconds: 600})
	}
	up := func(p model.Pod) bool { return p.Node == "n" && p.PodReady }
	x = see(t, b.p, model.Pod{Namespace: "default", Name: "x"}, up)
	y = see(t, b.p, model.Pod{Namespace: "default", Name: "y"}, up)
	return x, y
}

func evict(t *testing.T, w World) {
	b := newBench(t, w)
	x, y := withPods(t, b)
	b.PutBudget(t, "web", map[string]string{"app": "web"}, 1)
	see(t, b.p, model.PDB{Namespace: "default", Name: "web"}, func(p model.PDB) bool { return p.Allowed == 1 })
	grace := int64(300)
	must(t, b.s.RemovePod(t.Context(), kube.Removal{Pod: x.Key(), UID: x.UID, GraceSeconds: &grace}))
	got := see(t, b.p, x, func(p model.Pod) bool { return p.Deleting() })
	if got.GraceSeconds != 300 {
		t.Errorf("terminating with %d s of grace, want 300", got.GraceSeconds)
	}
	if left := time.Until(got.DeletedAt); left > 300*time.Second || left < 300*time.Second-2*Patience {
		t.Errorf("its grace ends at %v, %v from now, want 300 s from a moment ago", got.DeletedAt, left)
	}
	code(t, b.s.RemovePod(t.Context(), kube.Removal{Pod: y.Key(), UID: y.UID}), kube.Blocked)
	b.DeletePod(t, "x")
	gone(t, b.p, x)
	code(t, b.s.RemovePod(t.Context(), kube.Removal{Pod: x.Key(), UID: x.UID}), kube.NotFound)
}

func force(t *testing.T, w World) {
	b := newBench(t, w)
	x, y := withPods(t, b)
	b.PutBudget(t, "web", map[string]string{"app": "web"}, 0)
	code(t, b.s.RemovePod(t.Context(), kube.Removal{Pod: x.Key(), UID: x.UID}), kube.Blocked)
	grace, now := int64(30), int64(0)
	must(t, b.s.RemovePod(t.Context(), kube.Removal{Pod: x.Key(), UID: x.UID, Force: true, GraceSeconds: &grace}))
	if got := see(t, b.p, x, func(p model.Pod) bool { return p.Deleting() }); got.GraceSeconds != 30 {
		t.Errorf("terminating with %d s of grace, want 30", got.GraceSeconds)
	}
	must(t, b.s.RemovePod(t.Context(), kube.Removal{Pod: y.Key(), UID: y.UID, Force: true, GraceSeconds: &now}))
	gone(t, b.p, y)
}

func removeWrongUID(t *testing.T, w World) {
	b := newBench(t, w)
	x, _ := withPods(t, b)
	other := "11111111-2222-4333-8444-555555555555"
	code(t, b.s.RemovePod(t.Context(), kube.Removal{Pod: x.Key(), UID: other}), kube.NotFound)
	code(t, b.s.RemovePod(t.Context(), kube.Removal{Pod: x.Key(), UID: other, Force: true}), kube.NotFound)
	b.PutPod(t, model.Pod{Namespace: "default", Name: "z", Node: "n"})
	see(t, b.p, model.Pod{Namespace: "default", Name: "z"}, any1)
	if got := see(t, b.p, x, any1); got.Deleting() {
		t.Error("the pod is going although another was meant")
	}
}
