package bench

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// sparse is a cluster of which only a share of the pods is left.
func sparse(nodes, pods int, topology bool, share float64, seed uint64) model.World {
	w := workload.Cluster(nodes, pods, topology, seed)
	r := rand.New(rand.NewPCG(seed, 7))
	w.Pods = slices.DeleteFunc(w.Pods, func(model.Pod) bool { return r.Float64() >= share })
	zero := time.Duration(0)
	for i := range w.Pools {
		w.Pools[i].Policy, w.Pools[i].ConsolidateAfter = model.WhenEmptyOrUnderutilized, &zero
	}
	for i := range w.Claims {
		w.Claims[i].Conditions = initialized()
	}
	return w
}

func initialized() (out []model.Condition) {
	for _, typ := range []string{model.Launched, model.Registered, model.Initialized, model.Consolidatable} {
		out = append(out, model.Condition{Type: typ, Status: model.True, Since: workload.Epoch()})
	}
	return out
}

func sweep(w model.World) disrupt.Decision {
	return disrupt.Decide(disrupt.Input{World: w, Now: workload.Epoch().Add(24 * time.Hour), Sweep: true})
}

// carriedOut is the world when all moves are over: what is bought is there as its first option says.
func carriedOut(w model.World, d disrupt.Decision) model.World {
	gone, at := map[string]bool{}, map[model.PodKey]string{}
	w.Index = nil
	for _, m := range d.Moves {
		for _, n := range m.Nodes {
			gone[n] = true
		}
		for _, c := range m.Claims {
			gone[c] = true
		}
		for _, f := range m.Fits {
			at[f.Pod] = f.Node
		}
		for i, b := range m.Buy {
			n, c := bought(w, b, m.Record.Replacements[i])
			w.Nodes, w.Claims = append(slices.Clip(w.Nodes), n), append(slices.Clip(w.Claims), c)
			for _, k := range b.Pods {
				at[k] = n.Name
			}
		}
	}
	w.Nodes = slices.DeleteFunc(slices.Clone(w.Nodes), func(n model.Node) bool { return gone[n.Name] })
	w.Claims = slices.DeleteFunc(slices.Clone(w.Claims), func(c model.Claim) bool { return gone[c.Name] })
	w.Pods = slices.Clone(w.Pods)
	for i := range w.Pods {
		p := &w.Pods[i]
		if to, ok := at[p.Key()]; ok {
			p.Node = to
		}
	}
	slices.SortFunc(w.Nodes, func(a, b model.Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.Claims, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
	return w
}

func bought(w model.World, b place.NewClaim, name string) (model.Node, model.Claim) {
	pool := w.Pools[slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })]
	key := b.Options[0].Key
	t, _ := w.Catalog(b.Pool, b.Class).Type(key.Type)
	n := model.Node{Name: "node-" + name, ProviderID: "id-" + name, Capacity: t.Capacity, Allocatable: t.Allocatable, Ready: model.True,
		Taints: pool.Taints, AttachLimits: t.AttachLimits, Labels: map[string]string{}}
	maps.Copy(n.Labels, pool.Labels)
	maps.Copy(n.Labels, t.Labels)
	maps.Copy(n.Labels, map[string]string{model.LabelHostname: n.Name, model.LabelPool: b.Pool, model.LabelZone: key.Zone,
		model.LabelCapacityType: key.CapacityType, model.LabelRegistered: "true", model.LabelInitialized: "true",
		"karpenter.azure.com/aksnodeclass": b.Class.Name})
	c := offer.Claim(b, pool, w.Classes[0], name)
	c.Annotations, c.NodeName, c.ProviderID, c.Capacity, c.Allocatable = nil, n.Name, n.ProviderID, n.Capacity, n.Allocatable
	maps.Copy(c.Labels, n.Labels)
	c.Conditions = initialized()
	return n, c
}

func cost(w model.World) model.Price {
	var sum model.Price
	for _, c := range w.Claims {
		t, _ := w.Catalog(c.Pool, c.Class).Type(c.Labels[model.LabelInstanceType])
		for _, o := range t.Offerings {
			if o.Zone == c.Labels[model.LabelZone] && o.CapacityType == c.Labels[model.LabelCapacityType] {
				sum += o.Price
			}
		}
	}
	return sum
}

// TestAtRestAClusterCostsLittleMoreThanItMust has half of the pods go, and moves what is worth moving until nothing is. What is left costs
// little more than a plan for the same pods and no machine at all; without constraints also little more than a bound that nothing is below.
func TestAtRestAClusterCostsLittleMoreThanItMust(t *testing.T) {
	const overBound, overPlan = 1.05, 1.10
	for _, c := range []struct {
		name     string
		topology bool
	}{{"plain", false}, {"topology", true}} {
		t.Run(c.name, func(t *testing.T) {
			w := sparse(40, 1200, c.topology, 0.5, 3)
			before, moved, looks := cost(w), 0, 0
			for range 30 {
				d := sweep(w)
				if len(d.Moves) == 0 {
					break
				}
				looks++
				for _, m := range d.Moves {
					moved += m.Pods
				}
				w = carriedOut(w, d)
			}
			least, after, plan := bound.Best(bound.FromWorld(w, w.Pods), 20).Value, cost(w), fresh(w)
			t.Logf("%s before, %s at rest after %d looks and %d moves of %d pods; a fresh plan costs %s, the bound is %s", before, after, looks,
				moved, len(w.Pods), plan, least)
			if d := sweep(w); len(d.Moves) > 0 {
				t.Errorf("after 30 looks %d moves are left", len(d.Moves))
			}
			if after.Float() > overPlan*plan.Float() || !c.topology && after.Float() > overBound*least.Float() {
				t.Errorf("at rest the cluster costs %s, a plan %s, the bound is %s", after, plan, least)
			}
		})
	}
}

// fresh is what a plan for the pods costs when there is no machine.
func fresh(w model.World) model.Price {
	w.Index, w.Nodes, w.Claims, w.Pods = nil, nil, nil, slices.Clone(w.Pods)
	for i := range w.Pods {
		w.Pods[i].Node, w.Pods[i].Unschedulable = "", true
	}
	return place.Decide(place.Input{World: w}).Price
}

// BenchmarkSweep judges every node of a large cluster.
func BenchmarkSweep(b *testing.B) {
	for _, c := range []struct {
		share    float64
		topology bool
	}{{0.5, false}, {0.5, true}, {1, false}, {1, true}} {
		b.Run(fmt.Sprintf("share=%v/topology=%v/nodes=5000", c.share, c.topology), func(b *testing.B) {
			w := sparse(5000, 150_000, c.topology, c.share, 42).Indexed()
			moves := 0
			for b.Loop() {
				moves = len(sweep(w).Moves)
			}
			b.ReportMetric(float64(w.Index.Running())/1000, "kpods")
			b.ReportMetric(float64(moves), "moves")
		})
	}
}
