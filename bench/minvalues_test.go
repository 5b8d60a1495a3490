package bench

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// sample is about how much processor time a measurement takes at least.
const sample = 40 * time.Millisecond

// wanting is the world with minValues for a label in its pool.
func wanting(w model.World, key string, n int) model.World {
	pool := w.Pools[0]
	pool.Requirements = append(pool.Requirements[:len(pool.Requirements):len(pool.Requirements)], model.Requirement{Key: key, Op: model.Exists, MinValues: n})
	w.Pools = []model.Pool{pool}
	return w
}

// TestChoiceCostsLittle: whatever number of values a pool asks for, and of whatever label, a plan takes at most twice the processor time of
// the plan without that, measured in one run, and twice the allocations. Sizes of which few have as many are dear in machines, not in time.
func TestChoiceCostsLittle(t *testing.T) {
	const most = 2.0
	const name = "karpenter.azure.com/sku-name"
	azure, err := Azure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	zoned := workload.World(azure, workload.Shapes(500, 2))
	for i := range zoned.Pods {
		zoned.Pods[i].NodeSelector = map[string]string{model.LabelZone: location + "-" + []string{"1", "2", "3"}[i%3]}
	}
	limited := workload.World(azure, workload.Shapes(500, 3))
	limited.Pools[0].Limits = map[string]int64{model.ResourceCPU: 1 << 40}
	for _, c := range []struct {
		name string
		w    model.World
		keys []string
	}{
		{"one pod", workload.World(azure, []model.Pod{workload.Shapes(1, 1)[0]}), []string{name}},
		{"shapes", workload.World(azure, workload.Shapes(500, 1)), []string{model.LabelInstanceType, name, "karpenter.azure.com/sku-family"}},
		{"shapes, each in a zone", zoned, []string{model.LabelInstanceType}},
		{"shapes, under a limit", limited, []string{model.LabelInstanceType}},
		{"topology", workload.World(azure, workload.Topology(500, 1)), []string{model.LabelInstanceType}},
		{"diverse", workload.World(workload.Steps(400), workload.Diverse(500, 1)), []string{model.LabelInstanceType}},
	} {
		allocs := testing.AllocsPerRun(1, func() { decide(c.w) })
		// A plan of ten milliseconds is made a few times in a row: it matters then whether the collector runs once or twice.
		again := 1 + int(sample/cpu(func() { decide(c.w) }))
		often := func(w model.World) func() {
			return func() {
				for range again {
					decide(w)
				}
			}
		}
		for _, key := range c.keys {
			for _, n := range []int{2, 15, 30, 50} {
				w := wanting(c.w, key, n)
				took, _, _ := ratio(most, often(c.w), often(w))
				got := testing.AllocsPerRun(1, func() { decide(w) }) / allocs
				t.Logf("%s, %d of %s: %.2f times the time, %.2f times the allocations", c.name, n, key, took, got)
				if took > most || got > most {
					t.Errorf("%s: asking for %d of %s takes %.2f times the time and %.2f times the allocations, at most %.1f", c.name, n, key, took, got, most)
				}
			}
		}
	}
}
