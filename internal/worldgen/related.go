package worldgen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Related returns a world of a seed in which pods have a lot to do with each other: chains in which each wants to be near the one before, on its machine or
// in its zone, and apps that run in two node groups, of two architectures or of two pools with taints, and are spread over zones. All
// of its pods can have a place.
func Related(seed uint64) model.World {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x72656c61746564))}
	ready := []model.Condition{{Type: model.Ready, Status: model.True}}
	g.w.Classes = []model.Class{{Ref: Class(), UID: "class-default", Conditions: ready, Azure: &model.AzureClass{}}}
	g.w.Namespaces = []model.Namespace{{Name: "shop"}}
	g.w.Catalogs = map[model.ClassRef]model.Catalog{Class(): g.evenCatalog()}
	for _, name := range []string{"blue", "general", "red"} {
		p := model.Pool{Name: name, UID: "uid-" + name, Class: Class(), Created: Epoch(), Conditions: ready, Policy: model.WhenEmptyOrUnderutilized}
		if name != "general" {
			p.Taints = []model.Taint{{Key: "team", Value: name, Effect: model.NoSchedule}}
		}
		g.w.Pools = append(g.w.Pools, p)
	}
	for i := range g.r.IntN(3) {
		name, all := fmt.Sprintf("node-%d", i), model.Resources{CPU: 3000, Memory: 12 * gib, Pods: 30}
		zone := pick(g, zones()...)
		g.w.Nodes = append(g.w.Nodes, model.Node{Name: name, UID: "uid-" + name, ProviderID: "test:///" + name, Ready: model.True, Capacity: all, Allocatable: all,
			Labels: map[string]string{model.LabelHostname: name, model.LabelZone: zone, model.LabelArch: "amd64", model.LabelOS: "linux",
				model.LabelPool: "general", model.LabelInitialized: "true", model.LabelRegistered: "true"}})
	}
	for c := range 1 + g.r.IntN(2) {
		g.chain(c)
	}
	for a := range 1 + g.r.IntN(2) {
		g.twoGroups(a)
	}
	slices.SortFunc(g.w.Pods, func(a, b model.Pod) int { return strings.Compare(a.Key().String(), b.Key().String()) })
	return g.w
}

// evenCatalog sells three sizes of two architectures in every zone.
func (g *gen) evenCatalog() model.Catalog {
	cat := model.Catalog{Class: Class(), Epoch: 1}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, cores := range []int64{4, 8, 16} {
			all := model.Resources{CPU: cores * 1000, Memory: cores * 4 * gib, Ephemeral: 32 * gib, Pods: 30}
			t := model.InstanceType{Name: fmt.Sprintf("%s-%02d", arch, cores), Family: arch, Capacity: all, Allocatable: all}
			t.Labels = map[string]string{model.LabelInstanceType: t.Name, model.LabelArch: arch, model.LabelOS: "linux"}
			for _, z := range zones() {
				price := 0.05 * float64(cores) * (0.95 + 0.1*g.r.Float64())
				t.Offerings = append(t.Offerings, model.Offering{Type: t.Name, Zone: z, CapacityType: model.OnDemand, Price: model.Dollars(price), Available: true,
					Labels: map[string]string{model.LabelZone: z, model.LabelCapacityType: model.OnDemand}})
			}
			slices.SortFunc(t.Offerings, func(a, b model.Offering) int { return int(a.Price - b.Price) })
			cat.Types = append(cat.Types, t)
		}
	}
	return cat
}

// waits is a pod of the app that waits.
func waits(name, app string, cpu int64) model.Pod {
	return model.Pod{Namespace: "shop", Name: name, Labels: map[string]string{"app": app}, Unschedulable: true, GraceSeconds: 30,
		Requests: model.Resources{CPU: cpu, Memory: gib, Pods: 1}}
}

func app(name string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{req("app", model.In, name)}}
}

// chain adds three to five pods, each near the one before or near an earlier one; the last may have up to three replicas, and some link may be bound to a zone. One
// machine of the largest size holds them all.
func (g *gen) chain(c int) {
	links, bound := 3+g.r.IntN(3), g.r.IntN(6)
	for i := range links {
		name := fmt.Sprintf("chain-%d-%d", c, i)
		p := waits(name, name, pick(g, int64(500), 1000, 2000))
		if i > 0 {
			before := i - 1
			if g.chance(25) {
				before = g.r.IntN(i)
			}
			p.PodAffinity = []model.PodTerm{{Key: pick(g, model.LabelHostname, model.LabelHostname, model.LabelZone),
				Selector: app(fmt.Sprintf("chain-%d-%d", c, before)), Namespaces: []string{"shop"}}}
		}
		if i == bound {
			p.NodeSelector = map[string]string{model.LabelZone: pick(g, zones()...)}
		}
		n := 1
		if i == links-1 {
			n += g.r.IntN(3)
		}
		for range n {
			g.add(p)
		}
	}
}

// twoGroups adds an app whose pods run in two node groups that share no nodes, and are spread over zones.
func (g *gen) twoGroups(a int) {
	name := fmt.Sprintf("both-%d", a)
	byTaint := g.chance(50)
	for side, arch := range []string{"amd64", "arm64"} {
		p := waits(fmt.Sprintf("%s-%d", name, side), name, pick(g, int64(500), 1000, 2000))
		p.Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: int32(1 + g.r.IntN(2)), Hard: true, Selector: app(name), HonorAffinity: true, HonorTaints: byTaint}}
		if byTaint {
			team := []string{"blue", "red"}[side]
			p.Tolerations = []model.Toleration{{Key: "team", Op: "Equal", Value: team, Effect: model.NoSchedule}}
			p.NodeSelector = map[string]string{model.LabelPool: team}
		} else {
			p.NodeSelector = map[string]string{model.LabelArch: arch}
		}
		for range 1 + g.r.IntN(6) {
			g.add(p)
		}
	}
}
