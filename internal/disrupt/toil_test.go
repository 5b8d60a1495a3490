package disrupt

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// half is a cluster of which half of the pods left, and of which every node may leave.
func half(nodes int, topology bool) model.World {
	w := workload.Cluster(nodes, 30*nodes, topology, 42)
	r := rand.New(rand.NewPCG(42, 7))
	w.Pods = slices.DeleteFunc(w.Pods, func(model.Pod) bool { return r.IntN(2) == 0 })
	for i := range w.Pools {
		p := &w.Pools[i]
		p.Policy, p.ConsolidateAfter, p.Budgets = model.WhenEmptyOrUnderutilized, new(time.Duration), []model.DisruptionBudget{{Nodes: "100%"}}
	}
	for i := range w.Claims {
		w.Claims[i].Conditions = append(slices.Clone(w.Claims[i].Conditions), model.Condition{Type: model.Consolidatable, Status: model.True})
	}
	return w
}

// toil is what one full look at all nodes costs, and how many moves it begins.
func toil(w model.World) (place.Toil, int) {
	s := survey(Input{World: w, Now: workload.Epoch().Add(24 * time.Hour), Sweep: true})
	s.judge(s.candidates)
	return place.ToilOf(s.whatIf()), len(s.out.Moves)
}

// A full look is counted, not timed: of four times as many nodes, with as many pods on each, it costs about four times as much, and never more than so
// much for each node. Nodes that left once stayed in the way of those who ask where pods come to be: that cost 1.3 million looks here, not 32,000.
func TestAFullLookCostsWhatTheClusterHas(t *testing.T) {
	const nodes, ratio = 200, 6
	most := place.Toil{Questions: 2, Work: 400, Looks: 200} // for each node
	for _, topology := range []bool{false, true} {
		few, _ := toil(half(nodes, topology))
		many, moves := toil(half(4*nodes, topology))
		t.Logf("topology=%v: %d nodes %+v, %d nodes %+v with %d moves", topology, nodes, few, 4*nodes, many, moves)
		if moves == 0 || few.Questions == 0 || few.Work == 0 || few.Looks == 0 {
			t.Errorf("topology=%v: nothing was moved, or not counted", topology)
		}
		for _, c := range []struct {
			what            string
			few, many, most int
		}{
			{"questions", few.Questions, many.Questions, most.Questions},
			{"work", few.Work, many.Work, most.Work},
			{"looks", few.Looks, many.Looks, most.Looks},
		} {
			if c.many > ratio*c.few || c.many > 4*nodes*c.most {
				t.Errorf("topology=%v: %d nodes cost %d %s, and %d nodes %d: want at most %d times as many, and %d for each node",
					topology, nodes, c.few, c.what, 4*nodes, c.many, ratio, c.most)
			}
		}
	}
}
