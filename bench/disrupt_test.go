package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/atrest"
	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// brimful is a cluster that was bought for its pods: a plan for all of them at once, carried out. Hardly any room is left.
func brimful(pods int, topology bool, seed uint64) model.World {
	from := workload.Shapes
	if topology {
		from = workload.Topology
	}
	w := workload.World(workload.Families(), from(pods, seed))
	zero, at := time.Duration(0), map[model.PodKey]string{}
	for i := range w.Pools {
		w.Pools[i].Policy, w.Pools[i].ConsolidateAfter = model.WhenEmptyOrUnderutilized, &zero
	}
	for i, b := range place.Decide(place.Input{World: w}).NewClaims {
		n, c := joined(w, Bought{b, b.Options[0].Key, fmt.Sprintf("full-%05d", i)})
		w.Nodes, w.Claims = append(w.Nodes, n), append(w.Claims, c)
		for _, k := range b.Pods {
			at[k] = n.Name
		}
	}
	for i := range w.Pods {
		p := &w.Pods[i]
		p.Node, p.Unschedulable, p.PodReady, p.Started = at[p.Key()], false, true, workload.Epoch()
	}
	w.Pods = slices.DeleteFunc(w.Pods, func(p model.Pod) bool { return p.Node == "" })
	return w.Indexed()
}

// fullness is how much of the nodes is asked for, of cpu or of memory.
func fullness(w model.World) float64 {
	var cpu, memory, cores, bytes float64
	for i := range w.Nodes {
		n := &w.Nodes[i]
		used := w.Index.On(n.Name).Used
		cpu, memory = cpu+float64(used.CPU), memory+float64(used.Memory)
		cores, bytes = cores+float64(n.Allocatable.CPU), bytes+float64(n.Allocatable.Memory)
	}
	return max(cpu/cores, memory/bytes)
}

func sweep(w model.World) disrupt.Decision {
	return disrupt.Decide(disrupt.Input{World: w, Now: workload.Epoch().Add(24 * time.Hour), Sweep: true})
}

// TestAtRestAClusterCostsLittleMoreThanItMust has half of the pods go, and moves what is worth moving until nothing is. What is left costs
// little more than a plan for the same pods and no machine at all; without constraints also little more than a bound that nothing is below. Some is left for moves that
// would hold only if each pod went just where it was planned (decision 69).
func TestAtRestAClusterCostsLittleMoreThanItMust(t *testing.T) {
	const overBound, overPlan = 1.07, 1.06
	for _, c := range []struct {
		name     string
		topology bool
	}{{"plain", false}, {"topology", true}} {
		t.Run(c.name, func(t *testing.T) {
			w := Sparse(40, 1200, c.topology, 0.5, 3)
			before, moved, looks := Cost(w), 0, 0
			for range 30 {
				d := sweep(w)
				if len(d.Moves) == 0 {
					break
				}
				looks++
				for _, m := range d.Moves {
					moved += m.Pods
				}
				w = After(w, Moves(d))
			}
			least, after, plan := bound.Best(bound.FromWorld(w, w.Pods), 20).Value, Cost(w), fresh(w)
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
		share    float64 // of the pods are left; 0 = the nodes were bought for all of them
		topology bool
	}{{0.5, false}, {0.5, true}, {1, false}, {1, true}, {0, false}, {0, true}} {
		name := fmt.Sprintf("share=%v", c.share)
		if c.share == 0 {
			name = "full"
		}
		b.Run(fmt.Sprintf("%s/topology=%v/pods=150000", name, c.topology), func(b *testing.B) {
			w := brimful(150_000, c.topology, 42)
			if c.share > 0 {
				w = Sparse(5000, 150_000, c.topology, c.share, 42).Indexed()
			}
			moves := 0
			for b.Loop() {
				moves = len(sweep(w).Moves)
			}
			b.ReportMetric(float64(w.Index.Running())/1000, "kpods")
			b.ReportMetric(float64(moves), "moves")
			b.ReportMetric(float64(len(w.Nodes)), "nodes")
			b.ReportMetric(fullness(w)*100, "%full")
		})
	}
}

// BenchmarkRest holds a cluster without room against the least that it could cost.
func BenchmarkRest(b *testing.B) {
	w := brimful(150_000, true, 42)
	var r atrest.Report
	for b.Loop() {
		r = atrest.Judge(w, nil, bound.Quick)
	}
	b.ReportMetric((r.Price.Float()/r.Bound.Float()-1)*100, "%above-bound")
}

// BenchmarkWhatIfFull asks about nodes of a cluster that has no room left, as a sweep does: within what would be worth it; and whatever it costs.
func BenchmarkWhatIfFull(b *testing.B) {
	w := brimful(150_000, true, 42)
	for _, within := range []bool{true, false} {
		b.Run(fmt.Sprintf("within=%v/pods=150000", within), func(b *testing.B) {
			p := place.NewWhatIf(place.Input{World: w})
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				c := &w.Claims[i*37%len(w.Claims)]
				at := time.Now()
				if within {
					p.Within(PriceOf(w, c)*95/100, c.NodeName)
				} else {
					p.Without(c.NodeName)
				}
				took = append(took, time.Since(at))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "ns-p99")
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "ns-p50")
			b.ReportMetric(fullness(w)*100, "%full")
		})
	}
}

// TestAFullLookAtAFullClusterAllocatesLittle has a full look at a cluster without room allocate no more than so many plans for its pods do, and
// without constraints judge half of the nodes by a bound alone.
func TestAFullLookAtAFullClusterAllocatesLittle(t *testing.T) {
	const most, bounded = 30, 0.5
	for _, topology := range []bool{false, true} {
		w := brimful(10_000, topology, 42)
		empty := w
		empty.Index, empty.Nodes, empty.Claims, empty.Pods = nil, nil, nil, slices.Clone(w.Pods)
		for i := range empty.Pods {
			empty.Pods[i].Node, empty.Pods[i].Unschedulable = "", true
		}
		plan := testing.AllocsPerRun(1, func() { place.Decide(place.Input{World: empty}) })
		look := testing.AllocsPerRun(1, func() { sweep(w) })
		t.Logf("topology=%v, %.1f %% full: a look takes %.0f allocations, a plan %.0f: %.2f", topology, fullness(w)*100, look, plan, look/plan)
		if look > most*plan {
			t.Errorf("topology=%v: a look takes %.1f times the allocations of a plan, want at most %d", topology, look/plan, most)
		}
		n := 0
		for _, k := range sweep(w).Kept {
			if strings.Contains(k.Detail, "at least ") || strings.HasPrefix(k.Detail, "at most ") {
				n++
			}
		}
		if share := float64(n) / float64(len(w.Nodes)); !topology && share < bounded {
			t.Errorf("%.2f of the nodes were judged by a bound alone, want %.2f", share, bounded)
		}
	}
}
