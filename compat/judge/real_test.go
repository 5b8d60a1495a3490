package judge_test

import (
	"testing"

	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// TestRealisticPlansLand: of several hundred pods in realistic mixes every one is placed and lands, in the order of the
// plan or one near it.
func TestRealisticPlansLand(t *testing.T) {
	for _, c := range []struct {
		name string
		w    model.World
	}{
		{"no topology", workload.World(workload.Families(), workload.Shapes(400, 7))},
		{"topology", workload.World(workload.Families(), workload.Topology(400, 7))},
		{"upstream's mix", workload.World(workload.Steps(400), workload.Diverse(400, 7))},
		{"wishes", workload.World(workload.Families(), workload.Wishes(200, 7))},
	} {
		h := hear(t, hearing{name: c.name, world: c.w, ask: func(q *judge.Question) { q.Orders = 2 }})
		a := h.answer
		t.Logf("%s: %d pods land on %d machines", c.name, a.Accepted, len(h.question.Machines))
		if a.Accepted != len(c.w.Pods) {
			t.Errorf("%s: %d of %d pods land, %d are left; refused: %.600s", c.name, a.Accepted, len(c.w.Pods), len(h.plan.Unscheduled), a.Text())
		}
	}
}
