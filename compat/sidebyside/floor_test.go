package sidebyside

import (
	"testing"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/internal/workload"
)

// TestNeverDearerThanUpstream: on the same catalogue we never pay more for the same pods.
func TestNeverDearerThanUpstream(t *testing.T) {
	azure, err := bench.Azure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	families := bench.OnDemand(workload.Families())
	for _, in := range []Input{
		{Name: "shapes on Azure", World: workload.World(azure, workload.Shapes(500, 1))},
		{Name: "shapes on Azure, at most 64 cores", World: workload.World(bench.Capped(azure, 64), workload.Shapes(500, 2))},
		{Name: "shapes on families", World: workload.World(families, workload.Shapes(500, 3))},
		{Name: "few shapes on families", World: workload.World(families, workload.Shapes(60, 4))},
		{Name: "many shapes on families", World: workload.World(bench.Capped(families, 16), workload.Shapes(800, 5))},
	} {
		r, err := Race(in)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%s: ours %s with %d machines, upstream %s with %d: %.1f %% less", in.Name, r.Ours.Price, r.Ours.Machines, r.Upstream.Price,
			r.Upstream.Machines, 100*r.Saving())
		if r.Ours.Left != 0 || r.Upstream.Left != 0 {
			t.Errorf("%s: we leave %d pods, upstream %d: prices of different pods do not compare", in.Name, r.Ours.Left, r.Upstream.Left)
		}
		if r.Ours.Price > r.Upstream.Price {
			t.Errorf("%s: ours costs %s, upstream's %s", in.Name, r.Ours.Price, r.Upstream.Price)
		}
	}
}
