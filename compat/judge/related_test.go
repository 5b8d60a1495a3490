package judge_test

import (
	"testing"

	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
)

// relatedWorlds is how many worlds of pods that look for each other are judged.
const relatedWorlds = 100

// TestRelatedPodsLand asks kube-scheduler about plans for chains of affinity and for apps in two node groups. All pods of these worlds can have a
// place, so none may be left over.
func TestRelatedPodsLand(t *testing.T) {
	landed := 0
	for seed := range uint64(relatedWorlds) {
		landed += related(t, seed)
	}
	if landed < 8*relatedWorlds {
		t.Errorf("%d pods in %d worlds: there is little to judge", landed, relatedWorlds)
	}
}

// BenchmarkRelatedPodsLand judges b.N worlds beyond those of the test.
func BenchmarkRelatedPodsLand(b *testing.B) {
	landed := 0
	for i := range b.N {
		landed += related(b, uint64(relatedWorlds+i))
	}
	b.ReportMetric(float64(landed)/float64(b.N), "pods/world")
}

func related(t testing.TB, seed uint64) int {
	t.Helper()
	w := worldgen.Related(seed)
	plan := place.Decide(place.Input{World: w})
	for _, f := range audit.Check(w, plan) {
		t.Errorf("seed %d: the audit objects: %s", seed, f)
	}
	for _, l := range plan.Left {
		t.Errorf("seed %d: left over: %s: %s", seed, l.Pod, words(l))
	}
	q, err := judge.Plan(w, plan, func(i, n int) int { return (i + int(seed)) % n })
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	a, err := judge.Ask(t.Context(), q)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if len(a.Rejected) > 0 {
		t.Errorf("seed %d: kube-scheduler refuses: %s", seed, a.Rejected[0])
	}
	return a.Accepted
}
