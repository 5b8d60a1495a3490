package place_test

import (
	"fmt"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// BenchmarkMixes measures whole decisions, from pods to new claims, in pods per second.
func BenchmarkMixes(b *testing.B) {
	for _, c := range []struct {
		name string
		cat  model.Catalog
		pods func(int, uint64) []model.Pod
		n    []int
	}{
		{"diverse", workload.Steps(400), workload.Diverse, []int{1000, 5000, 10_000, 20_000}},
		{"wishes", workload.Steps(400), workload.Wishes, []int{4000}},
		{"topology", workload.Families(), workload.Topology, []int{10_000, 50_000}},
		{"shapes", workload.Families(), workload.Shapes, []int{10_000, 150_000}},
	} {
		for _, n := range c.n {
			b.Run(fmt.Sprintf("%s/pods=%d", c.name, n), func(b *testing.B) {
				w := workload.World(c.cat, c.pods(n, 42))
				var p place.Plan
				for b.Loop() {
					p = place.Decide(place.Input{World: w})
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
				b.ReportMetric(p.Price.Float(), "$/h")
				b.ReportMetric(float64(len(p.NewClaims)), "machines")
				b.ReportMetric(float64(len(p.Unscheduled)), "left")
				b.ReportMetric((p.Price.Float()/floorPrice(w, model.Spot)-1)*100, "%above-floor")
			})
		}
	}
}
