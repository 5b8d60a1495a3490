// Package workload answers: what do realistic worlds look like?
//
// It makes worlds for benchmarks and large tests: catalogues, pending pods in the mixes that are worth measuring, and
// clusters that run. Everything follows from the numbers given and a seed, so two runs ask the same question. It judges
// nothing and is used by no part of the product.
package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Class is the class that every world here sells machines for.
func Class() model.ClassRef {
	return model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
}

// Epoch is when every world here was made. Objects are a second apart.
func Epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// Steps is a catalogue of n sizes that grow in even steps: size i has i cores, 2i GiB and room for 10i pods, less 100m
// and 10 MiB that the system keeps. Each has five offerings of one price: on-demand in three zones, spot in two. Prices
// are linear: a tenth of a dollar per core and per 10^9 bytes. These are the sizes of the benchmark that users of
// Karpenter know.
func Steps(n int) model.Catalog {
	cat := model.Catalog{Class: Class(), Epoch: 1}
	for i := int64(1); i <= int64(n); i++ {
		capacity := model.Resources{CPU: i * 1000, Memory: 2 * i * gib, Ephemeral: 20 * gib, Pods: 10 * i}
		price := model.Dollars(0.1*float64(i) + 0.1*float64(capacity.Memory)/1e9)
		t := size(fmt.Sprintf("step-%03d", i), "step", capacity)
		t.Allocatable.CPU -= 100
		t.Allocatable.Memory -= 10 * mib
		for _, o := range []struct{ zone, kind string }{{"zone-1", model.OnDemand}, {"zone-1", model.Spot}, {"zone-2", model.OnDemand},
			{"zone-2", model.Spot}, {"zone-3", model.OnDemand}} {
			t.Offerings = append(t.Offerings, offering(t.Name, o.zone, o.kind, price))
		}
		cat.Types = append(cat.Types, t)
	}
	return cat
}

// Families is a catalogue of 3 families (2, 4 and 8 GiB per core) in 2 generations with the sizes 2 to 64 cores, sold in
// 3 zones on demand and as spot. Prices per core differ by family, generation and zone, and size steps are a little
// unequal, as clouds have them.
func Families() model.Catalog {
	cat := model.Catalog{Class: Class(), Epoch: 1}
	for fi, f := range []struct {
		name  string
		ratio int64
		core  float64
	}{{"c", 2, 0.0425}, {"m", 4, 0.0480}, {"r", 8, 0.0630}} {
		for gen := 1; gen <= 2; gen++ {
			for si, cores := range []int64{2, 4, 8, 16, 32, 48, 64} {
				t := size(fmt.Sprintf("%s%d-%02d", f.name, gen, cores), fmt.Sprintf("%s%d", f.name, gen),
					model.Resources{CPU: cores * 1000, Memory: cores * f.ratio * gib, Ephemeral: 128 * gib, Pods: 110})
				t.Allocatable.CPU -= 60 + cores*5
				t.Allocatable.Memory -= 550*mib + t.Capacity.Memory/25
				core := f.core * (1 - 0.06*float64(gen-1)) * (1 + 0.004*float64((si+fi)%3))
				for z, zone := range zones() {
					at := model.Dollars(core * float64(cores) * (1 + 0.01*float64(z)))
					t.Offerings = append(t.Offerings, offering(t.Name, zone, model.OnDemand, at), offering(t.Name, zone, model.Spot, at*2/5))
				}
				sortOfferings(t.Offerings)
				cat.Types = append(cat.Types, t)
			}
		}
	}
	slices.SortFunc(cat.Types, func(a, b model.InstanceType) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return cat
}

func zones() []string { return []string{"zone-1", "zone-2", "zone-3"} }

func sortOfferings(list []model.Offering) {
	slices.SortFunc(list, func(a, b model.Offering) int {
		if a.Price != b.Price {
			return int(a.Price - b.Price)
		}
		return a.Key().Compare(b.Key())
	})
}

func size(name, family string, capacity model.Resources) model.InstanceType {
	return model.InstanceType{Name: name, Family: family, Capacity: capacity, Allocatable: capacity,
		Labels: map[string]string{model.LabelInstanceType: name, model.LabelArch: "amd64", model.LabelOS: "linux"}}
}

func offering(typ, zone, kind string, price model.Price) model.Offering {
	return model.Offering{Type: typ, Zone: zone, CapacityType: kind, Price: price, Available: true,
		Labels: map[string]string{model.LabelZone: zone, model.LabelCapacityType: kind}}
}

// World is a world with one open pool that sells cat and has the pods.
func World(cat model.Catalog, pods []model.Pod) model.World {
	after := time.Duration(0)
	ready := []model.Condition{{Type: model.Ready, Status: model.True}}
	return model.World{
		Pools:      []model.Pool{{Name: "general", UID: "pool-general", Class: Class(), Conditions: ready, ConsolidateAfter: &after, Policy: model.WhenEmptyOrUnderutilized}},
		Classes:    []model.Class{{Ref: Class(), UID: "class-default", Conditions: ready, Azure: &model.AzureClass{}}},
		Catalogs:   map[model.ClassRef]model.Catalog{Class(): cat},
		Namespaces: []model.Namespace{{Name: "default", Labels: map[string]string{"kubernetes.io/metadata.name": "default"}}},
		Pods:       pods,
	}
}

// Teams is World with a pool for each team, and pods that belong to the teams in turn, five at a time: none may use
// another team's nodes.
func Teams(cat model.Catalog, pods []model.Pod, teams int) model.World {
	w := World(cat, pods)
	base := w.Pools[0]
	w.Pools = nil
	for i := range teams {
		p := base
		p.Name = fmt.Sprintf("team-%02d", i)
		p.UID, p.Labels = p.Name, map[string]string{"team": p.Name}
		w.Pools = append(w.Pools, p)
	}
	for i := range w.Pods {
		w.Pods[i].NodeSelector = map[string]string{"team": w.Pools[i/5%teams].Name}
	}
	return w
}

// maker makes pods one after the other.
type maker struct {
	r    *rand.Rand
	pods []model.Pod
}

func newMaker(seed uint64) *maker { return &maker{r: rand.New(rand.NewPCG(seed, 0x6b6172))} }

// add makes a waiting pod like p.
func (m *maker) add(p model.Pod) {
	n := len(m.pods)
	p.Namespace, p.Name, p.UID = "default", fmt.Sprintf("pod-%06d", n), fmt.Sprintf("uid-%06d", n)
	p.Created, p.Unschedulable, p.GraceSeconds, p.Requests.Pods = Epoch().Add(time.Duration(n)*time.Millisecond), true, 30, 1
	m.pods = append(m.pods, p)
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// shape draws requests: log-normal cores around a median of 0.4, about 3 GiB per core, in steps that people write.
func (m *maker) shape() model.Resources {
	cpu := math.Exp(m.r.NormFloat64()*0.9) * 400
	ratio := math.Exp(m.r.NormFloat64()*0.5) * 3
	cpu = min(max(cpu, 20), 12_000)
	memory := min(max(cpu/1000*ratio*1024, 32), 48*1024)
	return model.Resources{CPU: int64(cpu/10) * 10, Memory: int64(memory/16) * 16 * mib}
}

func is(key, value string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: []string{value}}}}
}
