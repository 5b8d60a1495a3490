package bench

import (
	"math"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// Worlds that are hard on a planner.
func manyTerms(pods int) model.World {
	return workload.World(workload.Families(), workload.ManyTerms(pods, 40, 1))
}
func hostPairs(pods int) model.World {
	return workload.World(workload.Families(), workload.HostPairs(pods, 1))
}
func hundredPools(pods int) model.World {
	return workload.Teams(workload.Families(), workload.Shapes(pods, 1), 100)
}
func oddShapes(pods int) model.World {
	return workload.World(workload.Families(), workload.OddShapes(pods, 1))
}

// TestHardInputsGrowGently: eight times the pods take at most 8^1.3 times the processor time, measured in one run.
func TestHardInputsGrowGently(t *testing.T) {
	const times, exponent = 8, 1.3
	for _, c := range []struct {
		name  string
		world func(pods int) model.World
		pods  int
	}{{"forty terms", manyTerms, 500}, {"pairs on a host", hostPairs, 1_500}, {"odd shapes", oddShapes, 3_000}, {"a hundred pools", hundredPools, 1_000}, {"a hundred large pools", hundredPools, 4_000}} {
		small, large := c.world(c.pods), c.world(times*c.pods)
		most := math.Pow(times, exponent)
		more, a, b := ratio(most, func() { decide(small) }, func() { decide(large) })
		got := math.Log(more) / math.Log(times)
		t.Logf("%s: %v for %d pods, %v for %d: to the power of %.2f", c.name, a, c.pods, b, times*c.pods, got)
		if more > most {
			t.Errorf("%s: %d pods take %v, %d take %v: to the power of %.2f, at most %.2f", c.name, c.pods, a, times*c.pods, b, got, exponent)
		}
	}
}

// TestNothingForSaleIsFoundOutSoon: pods of many sizes that look for each other by zone, for whom nothing can be bought, take at most five times what
// their plan takes where all have a place. (Who could join whom was once asked in every order of those who look for each other.)
func TestNothingForSaleIsFoundOutSoon(t *testing.T) {
	w := workload.World(workload.Families(), workload.Diverse(300, 3))
	none := w
	none.Pools = nil
	more, a, b := ratio(5, func() { decide(w) }, func() { decide(none) })
	t.Logf("%v where all have a place, %v where nobody has", a, b)
	if more > 5 {
		t.Errorf("%v where all have a place, %v where nobody has", a, b)
	}
}

// TestManyTermsCostTheirReading: pods with forty OR-ed terms allocate about what they do without, and at most six times their time: each
// of the terms has to be read.
func TestManyTermsCostTheirReading(t *testing.T) {
	const pods = 2_000
	with, without := manyTerms(pods), oddShapes(pods)
	a, b := testing.AllocsPerRun(1, func() { decide(with) }), testing.AllocsPerRun(1, func() { decide(without) })
	took, y, x := ratio(6, func() { decide(without) }, func() { decide(with) })
	t.Logf("allocations %.0f, without the terms %.0f; time %v, without %v", a, b, x, y)
	if a > 2*b || took > 6 {
		t.Errorf("forty terms: %.0f allocations and %v, without them %.0f and %v", a, x, b, y)
	}
}
