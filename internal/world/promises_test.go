package world

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

func TestOurOwnNominationHidesNoPod(t *testing.T) {
	pod := model.Pod{Namespace: "d", Name: "p-1", Unschedulable: true, Nominated: "n"}
	claim := func(pods string) model.Claim {
		return model.Claim{Name: "c", UID: "c", NodeName: "n", Annotations: map[string]string{planned.Annotation: pods}}
	}
	for name, tc := range map[string]struct {
		told []model.Object
		ours bool
	}{
		"nobody planned":           {[]model.Object{pod}, false},
		"planned":                  {[]model.Object{claim("d/p,d/p-1"), pod}, true},
		"planned, told later":      {[]model.Object{pod, claim("d/p-1,d/p-2")}, true},
		"another pod was planned":  {[]model.Object{claim("d/p-10,d/p-11"), pod}, false},
		"planned for another node": {[]model.Object{model.Claim{Name: "c", NodeName: "m", Annotations: claim("d/p-1").Annotations}, pod}, true},
		"the claim has no node":    {[]model.Object{model.Claim{Name: "c", Annotations: claim("d/p-1").Annotations}, pod}, true},
		"planned no more":          {[]model.Object{claim("d/p-1"), pod, claim("d/p-2")}, false},
	} {
		w := New()
		put(w, model.Node{Name: "n"})
		put(w, model.Node{Name: "n", ProviderID: "vm"})
		for _, o := range tc.told {
			put(w, o)
			w.Snapshot()
		}
		p := w.Snapshot().Flat().Pods[0]
		if p.Provisionable() != tc.ours || (p.Promised == "n") != tc.ours || (p.Nominated == "n") == tc.ours {
			t.Errorf("%s: nominated %q, promised %q, waits for us %v", name, p.Nominated, p.Promised, p.Provisionable())
		}
		w.Apply(model.Change{Object: model.Claim{Name: "c"}, Gone: true})
		if p := w.Snapshot().Flat().Pods[0]; p.Promised != "" || p.Nominated != "n" {
			t.Errorf("%s: without the claim: nominated %q, promised %q", name, p.Nominated, p.Promised)
		}
		w.Apply(model.Change{Object: model.Node{Name: "n"}, Gone: true})
		if p := w.Snapshot().Flat().Pods[0]; !p.Provisionable() || p.Promised != "n" {
			t.Errorf("%s: without the node: nominated %q, promised %q", name, p.Nominated, p.Promised)
		}
		put(w, model.Node{Name: "n", ProviderID: "vm"})
		if p := w.Snapshot().Flat().Pods[0]; p.Provisionable() || p.Nominated != "n" {
			t.Errorf("%s: the node is back: nominated %q, promised %q", name, p.Nominated, p.Promised)
		}
	}
}
