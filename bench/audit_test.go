package bench

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// mixes are 10,000 pods of each kind, with what is sold to them.
func mixes(t testing.TB) map[string]model.World {
	azure, err := Azure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const pods = 10_000
	families, steps := workload.Families(), workload.Steps(400)
	return map[string]model.World{
		"diverse on Azure": workload.World(azure, workload.Diverse(pods, 1)),
		"diverse":          workload.World(steps, workload.Diverse(pods, 1)),
		"topology":         workload.World(families, workload.Topology(pods, 1)),
		"shapes":           workload.World(families, workload.Shapes(pods, 1)),
		"wishes":           workload.World(steps, workload.Wishes(pods, 1)),
	}
}

// BenchmarkAudit prints what the audit of a plan costs, and how many times as much as deciding that is.
func BenchmarkAudit(b *testing.B) {
	for name, w := range mixes(b) {
		b.Run(name, func(b *testing.B) {
			plan := place.Decide(place.Input{World: w})
			if bad := audit.Check(w, plan); len(bad) > 0 {
				b.Fatal(bad)
			}
			b.ReportAllocs()
			for b.Loop() {
				audit.Check(w, plan)
			}
			b.StopTimer()
			share, _, _ := ratio(0, func() { decide(w) }, func() { audit.Check(w, plan) })
			b.ReportMetric(share, "x-deciding")
		})
	}
}

// TestTheAuditAllocatesLittle: what purchases have in common is looked at once, and what pods have in common, too.
func TestTheAuditAllocatesLittle(t *testing.T) {
	const most = 6 // per pod; about twice what was measured when the floor was set
	for name, w := range mixes(t) {
		plan := place.Decide(place.Input{World: w})
		got := testing.AllocsPerRun(1, func() { audit.Check(w, plan) }) / float64(len(w.Pods))
		t.Logf("%s: %.1f allocations per pod", name, got)
		if got > most {
			t.Errorf("%s: %.1f allocations per pod, at most %d", name, got, most)
		}
	}
}
