package worldgen

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// Choice draws a world of one or two pools that want a choice of machines, each by one to three labels with minValues, over a catalogue that
// somebody really sells from; a few workloads wait, and nothing runs.
func Choice(seed uint64, cat model.Catalog) model.World {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x63686f696365))}
	ready := []model.Condition{{Type: model.Ready, Status: model.True}}
	g.w = model.World{Classes: []model.Class{{Ref: cat.Class, UID: "class-default", Conditions: ready, Azure: &model.AzureClass{}}},
		Namespaces: []model.Namespace{{Name: "shop", Labels: map[string]string{"env": "live"}}}, Catalogs: map[model.ClassRef]model.Catalog{cat.Class: cat}}
	for i := range 1 + g.r.IntN(2) {
		p := model.Pool{Name: fmt.Sprintf("pool-%d", i), UID: fmt.Sprintf("uid-pool-%d", i), Class: cat.Class, Created: Epoch(), Conditions: ready,
			Policy: model.WhenEmptyOrUnderutilized, Requirements: g.wants(cat)}
		if g.chance(30) {
			p.Weight = 10
		}
		if g.chance(15) {
			p.Limits = map[string]int64{model.ResourceCPU: pick(g, int64(16000), 64000)}
		}
		g.w.Pools = append(g.w.Pools, p)
	}
	zones := values(cat, model.LabelZone)
	for i := range 1 + g.r.IntN(4) {
		app := fmt.Sprint("w", i)
		p := model.Pod{Namespace: "shop", Name: app, Unschedulable: true, GraceSeconds: 30, Labels: map[string]string{"app": app},
			Requests: model.Resources{CPU: pick(g, int64(100), 500, 1000, 3500, 7000), Memory: pick(g, gib/4, gib, 4*gib, 14*gib), Pods: 1}}
		own := &model.Selector{Requirements: []model.Requirement{req("app", model.In, app)}}
		switch g.r.IntN(7) {
		case 0:
			p.NodeSelector = map[string]string{model.LabelZone: pick(g, zones...)}
		case 1:
			p.NodeSelector = map[string]string{model.LabelArch: "arm64"}
		case 2:
			p.Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, Hard: true, Selector: own, HonorAffinity: true}}
		case 3:
			p.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Selector: own, Namespaces: []string{"shop"}}}
		case 4:
			p.Affinity = []model.Term{{req(LabelFamily, pick(g, model.In, model.NotIn), some(g, "D", "E", "F")...)}}
		}
		for range 1 + g.r.IntN(6) {
			g.add(p)
		}
	}
	return g.sorted()
}

// wants draws the requirements of a pool: of one to three labels it wants several values, of some it names which.
func (g *gen) wants(cat model.Catalog) []model.Requirement {
	keys := []string{model.LabelInstanceType, "karpenter.azure.com/sku-name", LabelFamily, LabelCores, model.LabelZone, model.LabelCapacityType, model.LabelArch}
	g.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	var out []model.Requirement
	for _, k := range keys[:1+g.r.IntN(3)] {
		have := values(cat, k)
		r := req(k, model.Exists)
		if len(have) < 50 && g.chance(40) {
			r = req(k, model.In, some(g, have...)...)
			have = r.Values
		}
		r.MinValues = min(len(have), pick(g, 2, 2, 3, 5, 10, 15, 30))
		out = append(out, r)
	}
	if g.chance(40) && !slices.ContainsFunc(out, func(r model.Requirement) bool { return r.Key == model.LabelCapacityType }) {
		out = append(out, req(model.LabelCapacityType, model.In, pick(g, model.OnDemand, model.Spot)))
	}
	return out
}

// values lists the values that a label has in a catalogue.
func values(cat model.Catalog, key string) []string {
	var out []string
	for _, t := range cat.Types {
		if v := t.Labels[key]; v != "" {
			out = append(out, v)
		}
		for _, o := range t.Offerings {
			if v := o.Labels[key]; v != "" {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
