package place_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// TestEveryMechanismIsNeeded: nobody keeps what nothing fails without. A scenario changes, or a plan for some hundred
// pods gets dearer. What each earns on many worlds is measured by make ablate.
func TestEveryMechanismIsNeeded(t *testing.T) {
	needed := map[place.Mechanism]string{}
	scenario.Each(t, "testdata/scenarios", func(q *scenario.Question) {
		if cmd, _ := q.Command(); cmd != "decide" {
			return
		}
		in := asked(q)
		whole := place.Decide(in).String()
		for _, m := range place.Mechanisms() {
			in.Without = []place.Mechanism{m}
			if needed[m] == "" && place.Decide(in).String() != whole {
				needed[m] = q.Path()
			}
		}
	})
	for _, c := range crowds() {
		open := slices.DeleteFunc(place.Mechanisms(), func(m place.Mechanism) bool { return needed[m] != "" })
		if len(open) == 0 {
			break
		}
		whole := place.Decide(place.Input{World: c.world})
		for _, m := range open {
			if p := place.Decide(place.Input{World: c.world, Without: []place.Mechanism{m}}); p.Price > whole.Price {
				needed[m] = c.name
			}
		}
	}
	for _, m := range place.Mechanisms() {
		t.Logf("%s: %s", m, needed[m])
		if needed[m] == "" {
			t.Errorf("%s: nothing needs it", m)
		}
	}
}

// crowd is a world of more pods than a scenario can show, or of more constraints.
type crowd struct {
	name  string
	world model.World
}

func crowds() []crowd {
	var out []crowd
	add := func(name string, pods []model.Pod) {
		out = append(out, crowd{name, workload.World(workload.Families(), pods)})
	}
	add("250 pods with disks", workload.Disks(250, 1))
	add("60 large pods", workload.LargePods(60, 60))
	add("250 large pods", workload.LargePods(250, 250))
	add("1,000 pods of some shapes", workload.Shapes(1_000, 1))
	add("2,000 pods of some shapes", workload.Shapes(2_000, 1))
	add("1,000 pods with ties", workload.Topology(1_000, 1))
	for seed := range uint64(200) {
		out = append(out, crowd{fmt.Sprintf("small world %d", seed), worldgen.Small(seed)})
	}
	teams := workload.Teams(workload.Families(), workload.Shapes(1_000, 1), 20)
	return append(out, crowd{"1,000 pods of twenty teams", teams})
}
