package drift_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/drift"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/model"
)

// TestScenarios asks Wanted about the views in testdata: "drift" and lines that say what is not as it was when the claim was made.
//
//	pool none hash=new version=v4 require=key:value,value…     class none hash=new version=v4 kubernetes=1.38.0 image=/img/2 unready
//	claim label=key:value hash=new classHash=new version=v2 image=/IMG/1 drifted     node kubelet=1.36.0 identity=other
//	catalog none | other     identity abc
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata", scenario.Commands{"drift": func(q *scenario.Question) string {
		v := view(q)
		want := drift.Want(v.Pool, v.Class, v.Catalog, v.KubeletIdentity)
		f := want.Of(&v.Claim, &v.Node)
		out := "as it should be\n"
		if f.Reason != "" {
			out = fmt.Sprintf("%s: %s\n", f.Reason, f.Message)
		}
		if f.Patience > 0 {
			out += fmt.Sprintf("  if it lasts %s\n", f.Patience)
		}
		notes := want.Backfill(&v.Claim)
		for _, k := range slices.Sorted(maps.Keys(notes)) {
			out += fmt.Sprintf("  write %s=%s\n", k, notes[k])
		}
		return out
	}})
}

// situation is a claim and all that it is compared with.
type situation struct {
	Claim           model.Claim
	Node            model.Node
	Pool            *model.Pool
	Class           *model.Class
	Catalog         model.Catalog
	KubeletIdentity string
}

func view(q *scenario.Question) situation {
	ref := model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
	v := situation{
		Pool: &model.Pool{Name: "p", Hash: "old", HashVersion: "v3"},
		Class: &model.Class{
			Ref:               ref,
			Hash:              "old",
			HashVersion:       "v3",
			KubernetesVersion: "1.37.1",
			Images:            []model.Image{{ID: "/img/1"}},
			Conditions: []model.Condition{
				{Type: model.ImagesReady, Status: model.True},
				{Type: model.KubernetesVersionReady, Status: model.True},
			},
		},
		Catalog: model.Catalog{Class: ref, Types: []model.InstanceType{{Name: "D4"}}},
		Node: model.Node{
			Name:           "n",
			KubeletVersion: "v1.37.1",
			Labels:         map[string]string{drift.LabelKubeletIdentity: "abc"},
		},
		Claim: model.Claim{Name: "c", Pool: "p", Class: ref, ImageID: "/img/1",
			Labels: map[string]string{model.LabelInstanceType: "D4", model.LabelZone: "z-1"},
			Annotations: map[string]string{
				model.AnnotationPoolHash:                        "old",
				model.AnnotationPoolHashVersion:                 "v3",
				"karpenter.azure.com/aksnodeclass-hash":         "old",
				"karpenter.azure.com/aksnodeclass-hash-version": "v3",
			}},
	}
	for _, l := range q.Lines() {
		switch l.Noun {
		case "pool":
			pool(&v, l)
		case "class":
			class(&v, l)
		case "claim":
			claim(&v, l)
		case "node":
			for _, w := range l.Words {
				if w.Key == "kubelet" {
					v.Node.KubeletVersion = w.Value
				} else {
					v.Node.Labels[drift.LabelKubeletIdentity] = w.Value
				}
			}
		case "catalog":
			v.Catalog.Types = []model.InstanceType{{Name: "D8"}}
			if l.Rest == "none" {
				v.Catalog.Types = nil
			}
		case "identity":
			v.KubeletIdentity = l.Rest
		default:
			q.Fatalf("unknown noun %q", l.Noun)
		}
	}
	return v
}

func pool(v *situation, l scenario.Line) {
	for _, w := range l.Words {
		switch w.Key {
		case "none":
			v.Pool = nil
		case "hash":
			v.Pool.Hash = w.Value
		case "version":
			v.Pool.HashVersion = w.Value
		case "require":
			key, values, _ := strings.Cut(w.Value, ":")
			v.Pool.Requirements = append(
				v.Pool.Requirements,
				model.Requirement{Key: key, Op: model.In, Values: strings.Split(values, ",")},
			)
		}
	}
}

func class(v *situation, l scenario.Line) {
	for _, w := range l.Words {
		switch w.Key {
		case "none":
			v.Class = nil
		case "hash":
			v.Class.Hash = w.Value
		case "version":
			v.Class.HashVersion = w.Value
		case "kubernetes":
			v.Class.KubernetesVersion = w.Value
		case "image":
			v.Class.Images = []model.Image{{ID: w.Value}}
		case "unready":
			v.Class.Conditions = nil
		}
	}
}

func claim(v *situation, l scenario.Line) {
	for _, w := range l.Words {
		switch w.Key {
		case "label":
			key, value, _ := strings.Cut(w.Value, ":")
			v.Claim.Labels[key] = value
		case "image":
			v.Claim.ImageID = w.Value
		case "version":
			v.Claim.Annotations[model.AnnotationPoolHashVersion] = w.Value
		case "drifted":
			v.Claim.Conditions = []model.Condition{{Type: model.Drifted, Status: model.True}}
		case "unhashed":
			delete(v.Claim.Annotations, model.AnnotationPoolHash)
		}
	}
}
