// Package worldgen answers: which small worlds could go wrong?
//
// It draws worlds of a dozen pods, a few nodes, two pools and six types from a seed, with every constraint a pod may
// have at some probability, so that constraints meet each other more often than in any real cluster. Some of the nodes leave. Everything follows
// from the seed. It judges nothing, and its worlds are not typical (workload's are).
package worldgen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Sizes of a world. Small on purpose: one can draw it on paper, and a dumb judge can try everything.
const (
	MaxPods  = 12 // that wait
	MaxNodes = 6
	pools    = 2
	types    = 6
	gib      = int64(1) << 30
)

// Driver is the CSI driver of every volume.
const Driver = "disk.csi.example.com"

// Labels that types and nodes carry beside the well-known ones.
const (
	LabelCores  = "karpenter.azure.com/sku-cpu"    // a number
	LabelFamily = "karpenter.azure.com/sku-family" // "D" or "E"
	LabelRack   = "example.com/rack"               // only some nodes that exist have it
	LabelTeam   = "example.com/team"               // pools may set it
)

// Epoch is when every world here was made.
func Epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Class is the class that every world here sells machines for.
func Class() model.ClassRef {
	return model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
}

// Small returns the world of a seed. All its objects are valid, its lists sorted, and pods that run fit where they run;
// whether the pods that wait can be placed is left to chance.
func Small(seed uint64) model.World {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x736d616c6c))}
	ready := []model.Condition{{Type: model.Ready, Status: model.True}}
	g.w.Classes = []model.Class{{Ref: Class(), UID: "class-default", Conditions: ready, Azure: &model.AzureClass{}}}
	g.w.Namespaces = []model.Namespace{
		{Name: "other", Labels: map[string]string{"kubernetes.io/metadata.name": "other", "env": "test"}},
		{Name: "shop", Labels: map[string]string{"kubernetes.io/metadata.name": "shop", "env": "live"}},
	}
	g.w.Catalogs = map[model.ClassRef]model.Catalog{Class(): g.catalog()}
	for i := range pools {
		g.w.Pools = append(g.w.Pools, g.pool(i))
	}
	g.daemon()
	for i := range g.r.IntN(MaxNodes + 1) {
		g.node(i)
	}
	g.running()
	g.claimInFlight()
	g.waiting()
	g.daemons()
	g.leave(seed)
	slices.SortFunc(g.w.Claims, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(g.w.Pods, func(a, b model.Pod) int { return strings.Compare(a.Key().String(), b.Key().String()) })
	return g.w
}

type gen struct {
	r    *rand.Rand
	w    model.World
	free map[string]model.Resources // room on nodes
	n    int                        // pods made
}

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

func pick[T any](g *gen, from ...T) T { return from[g.r.IntN(len(from))] }

// some returns a non-empty part of the list, in its order.
func some[T any](g *gen, from ...T) []T {
	var out []T
	for _, x := range from {
		if g.chance(50) {
			out = append(out, x)
		}
	}
	if len(out) == 0 {
		out = append(out, pick(g, from...))
	}
	return out
}

func zones() []string { return []string{"zone-1", "zone-2", "zone-3"} }

// catalog draws six types of two families and two architectures. Not every zone has every type, and some are sold out.
func (g *gen) catalog() model.Catalog {
	cat := model.Catalog{Class: Class(), Epoch: 1}
	for i := range types {
		cores, family, arch := pick(g, int64(2), 4, 8), pick(g, "D", "E"), "amd64"
		if g.chance(25) {
			arch = "arm64"
		}
		ratio := map[string]int64{"D": 4, "E": 8}[family]
		all := model.Resources{CPU: cores * 1000, Memory: cores * ratio * gib, Ephemeral: 32 * gib, Pods: pick(g, int64(4), 30)}
		t := model.InstanceType{Name: fmt.Sprintf("t%d-%s%d-%s", i, family, cores, arch), Family: family, Capacity: all, Allocatable: all,
			AttachLimits: map[string]int64{Driver: pick(g, int64(1), 2, 4)}}
		if g.chance(20) {
			t.Capacity = t.Capacity.With("example.com/gpu", 1)
			t.Allocatable = t.Allocatable.With("example.com/gpu", 1)
		}
		t.Allocatable.CPU -= 100
		t.Allocatable.Memory -= gib / 2
		t.Labels = map[string]string{model.LabelInstanceType: t.Name, model.LabelArch: arch, model.LabelOS: "linux",
			LabelCores: fmt.Sprint(cores), LabelFamily: family}
		base := 0.05 * float64(cores) * (1 + float64(ratio)/20) * (0.9 + 0.2*g.r.Float64())
		for _, z := range some(g, zones()...) {
			for _, kind := range some(g, model.OnDemand, model.Spot) {
				price := base * (0.95 + 0.1*g.r.Float64())
				if kind == model.Spot {
					price *= 0.4
				}
				o := model.Offering{Type: t.Name, Zone: z, CapacityType: kind, Price: model.Dollars(price), Available: !g.chance(8),
					Labels: map[string]string{model.LabelZone: z, model.LabelCapacityType: kind}}
				if !o.Available {
					o.Unavailable = "sold out"
				}
				t.Offerings = append(t.Offerings, o)
			}
		}
		slices.SortFunc(t.Offerings, func(a, b model.Offering) int {
			if a.Price != b.Price {
				return int(a.Price - b.Price)
			}
			return a.Key().Compare(b.Key())
		})
		cat.Types = append(cat.Types, t)
	}
	slices.SortFunc(cat.Types, func(a, b model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return cat
}

func req(key string, op model.Operator, values ...string) model.Requirement {
	return model.Requirement{Key: key, Op: op, Values: values}
}

// pool draws what a pool allows: taints, labels, zones, capacity types, sizes, limits.
func (g *gen) pool(i int) model.Pool {
	after := time.Duration(0)
	p := model.Pool{Name: fmt.Sprintf("pool-%d", i), UID: fmt.Sprintf("uid-pool-%d", i), Class: Class(), Created: Epoch(),
		Conditions: []model.Condition{{Type: model.Ready, Status: model.True}}, ConsolidateAfter: &after, Policy: model.WhenEmptyOrUnderutilized,
		Labels: map[string]string{}, Limits: map[string]int64{}}
	if g.chance(40) {
		p.Weight = pick(g, 10, 20)
	}
	if g.chance(40) {
		p.Labels[LabelTeam] = pick(g, "red", "blue")
	}
	if g.chance(25) {
		p.Taints = append(p.Taints, model.Taint{Key: "dedicated", Value: pick(g, "red", "blue"), Effect: model.NoSchedule})
	}
	if g.chance(10) {
		p.Taints = append(p.Taints, model.Taint{Key: "old", Effect: model.PreferNoSchedule})
	}
	if g.chance(20) {
		p.StartupTaints = append(p.StartupTaints, model.Taint{Key: "example.com/starting", Effect: model.NoSchedule})
	}
	if g.chance(30) {
		p.Requirements = append(p.Requirements, req(model.LabelCapacityType, model.In, pick(g, model.OnDemand, model.Spot)))
	}
	if g.chance(25) {
		p.Requirements = append(p.Requirements, req(model.LabelZone, pick(g, model.In, model.NotIn), pick(g, zones()...)))
	}
	if g.chance(20) {
		p.Requirements = append(p.Requirements, req(LabelCores, pick(g, model.Gt, model.Gte, model.Lt, model.Lte), pick(g, "2", "4", "8")))
	}
	if g.chance(10) {
		r := req(model.LabelInstanceType, model.Exists)
		r.MinValues = 2
		p.Requirements = append(p.Requirements, r)
	}
	if g.chance(15) {
		p.Limits[model.ResourceCPU] = pick(g, int64(8000), 16000)
	}
	if g.chance(10) {
		p.Limits[model.ResourceNodes] = pick(g, int64(2), 4)
	}
	return p
}

func (g *gen) daemon() {
	if !g.chance(50) {
		return
	}
	d := model.Daemon{Namespace: "kube-system", Name: "agent", Pod: model.Pod{Namespace: "kube-system", Name: "agent", DaemonSet: true,
		Labels: map[string]string{"app": "agent"}, Requests: model.Resources{CPU: 200, Memory: gib / 4, Pods: 1}}}
	if g.chance(60) {
		d.Pod.Tolerations = []model.Toleration{{Op: "Exists"}}
	}
	if g.chance(30) {
		d.Pod.NodeSelector = map[string]string{model.LabelArch: "amd64"}
	}
	if g.chance(20) {
		d.Pod.HostPorts = []model.HostPort{{Protocol: "TCP", Port: 8080}}
	}
	g.w.Daemons = append(g.w.Daemons, d)
}
