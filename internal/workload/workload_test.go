package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

func TestASeedMakesOneWorld(t *testing.T) {
	for name, f := range map[string]func(int, uint64) []model.Pod{"diverse": workload.Diverse, "wishes": workload.Wishes, "shapes": workload.Shapes, "topology": workload.Topology} {
		if d := cmp.Diff(f(300, 7), f(300, 7)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got := len(f(300, 7)); got != 300 {
			t.Errorf("%s: %d pods, want 300", name, got)
		}
	}
	if d := cmp.Diff(workload.Cluster(20, 200, true, 7), workload.Cluster(20, 200, true, 7)); d != "" {
		t.Error(d)
	}
	if cmp.Equal(workload.Shapes(300, 7), workload.Shapes(300, 8)) {
		t.Error("another seed made the same pods")
	}
}

func TestMixesHaveTheirShares(t *testing.T) {
	of := map[string]int{}
	for _, p := range workload.Diverse(1000, 1) {
		switch {
		case len(p.Spread) > 0:
			of[p.Spread[0].Key]++
		case len(p.PodAffinity) > 0:
			of["near"]++
		case len(p.PodAntiAffinity) > 0:
			of["alone"]++
		default:
			of["free"]++
		}
	}
	if d := cmp.Diff(map[string]int{model.LabelZone: 200, model.LabelHostname: 200, "near": 200, "alone": 200, "free": 200}, of); d != "" {
		t.Error(d)
	}
}

func TestNobodyOverfillsARunningNode(t *testing.T) {
	w := workload.Cluster(100, 3000, false, 3)
	if len(w.Pods) < 2900 {
		t.Errorf("only %d of 3000 pods found a node", len(w.Pods))
	}
	free := map[string]model.Resources{}
	for _, n := range w.Nodes {
		free[n.Name] = n.Allocatable
	}
	for _, p := range w.Pods {
		if !p.Requests.FitsIn(free[p.Node]) {
			t.Fatalf("%s does not fit on %s", p.Name, p.Node)
		}
		free[p.Node] = free[p.Node].Sub(p.Requests)
	}
}

func TestCataloguesGrowWithPrice(t *testing.T) {
	cat := workload.Steps(400)
	if len(cat.Types) != 400 || len(cat.Types[0].Offerings) != 5 {
		t.Fatalf("%d types, %d offerings", len(cat.Types), len(cat.Types[0].Offerings))
	}
	for _, cat := range []model.Catalog{cat, workload.Families()} {
		for i, x := range cat.Types {
			if i > 0 && cat.Types[i-1].Name >= x.Name {
				t.Errorf("%s after %s", x.Name, cat.Types[i-1].Name)
			}
			for _, o := range x.Offerings {
				if o.Price <= 0 || !o.Available {
					t.Errorf("%s: %+v", x.Name, o)
				}
			}
		}
	}
}
