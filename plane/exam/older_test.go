package exam

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/model"
)

// olderCRD takes a field and the generation of conditions out of the NodePools' CRD, as if it were older than we are: what the API server prunes
// is named, the rest is written, and with the CRD of today nothing is.
func olderCRD(t *testing.T, s *apikube.Store, api client.Client) {
	today := &unstructured.Unstructured{}
	today.SetAPIVersion("apiextensions.k8s.io/v1")
	today.SetKind("CustomResourceDefinition")
	must(t, api.Get(t.Context(), client.ObjectKey{Name: "nodepools.karpenter.sh"}, today))
	spec := func() map[string]any {
		o := today.DeepCopy()
		return o.Object["spec"].(map[string]any)
	}
	replace := func(spec map[string]any) {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(today.GroupVersionKind())
		must(t, api.Get(t.Context(), client.ObjectKeyFromObject(today), now))
		now.Object["spec"] = spec
		must(t, api.Update(t.Context(), now))
	}
	older := spec()
	version := older["versions"].([]any)[0].(map[string]any)
	status, _, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status", "properties")
	must(t, err)
	delete(status, "nodes")
	unstructured.RemoveNestedField(status, "conditions", "items", "properties", "observedGeneration")
	must(t, unstructured.SetNestedMap(version, status, "schema", "openAPIV3Schema", "properties", "status", "properties"))
	replace(older)

	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "older"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "c"}
	pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{}
	must(t, api.Create(t.Context(), pool))
	nodes := int64(0)
	write := func() []string {
		nodes++
		err := s.PatchPool(t.Context(), "older", kube.PoolPatch{Nodes: &nodes, Conditions: []model.Condition{
			{Type: model.Ready, Status: model.True, Reason: "Ready", ObservedGeneration: nodes}}})
		if err == nil {
			return nil
		}
		e, ok := err.(*kube.Error)
		if !ok || e.Code != kube.Pruned {
			t.Fatalf("patch: %v", err)
		}
		return e.More
	}
	want := []string{"status.conditions[].observedGeneration", "status.nodes"}
	await(t, "the older CRD to prune", func(context.Context) bool { return slices.Equal(write(), want) })
	got := &karpv1.NodePool{}
	must(t, api.Get(t.Context(), client.ObjectKey{Name: "older"}, got))
	if len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Type != model.Ready {
		t.Errorf("the rest was not written: %+v", got.Status)
	}
	replace(spec())
	await(t, "the CRD of today to keep everything", func(context.Context) bool { return write() == nil })
	must(t, api.Delete(t.Context(), pool))
}
