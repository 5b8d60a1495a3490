package place_test

import (
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// TestChainsAndAppsInTwoGroupsHaveTheirPlaces plans for worlds in which every pod can have a place: nobody is left over, and the audit agrees.
func TestChainsAndAppsInTwoGroupsHaveTheirPlaces(t *testing.T) {
	for seed := range uint64(200) {
		for _, l := range related(t, seed) {
			t.Errorf("seed %d: %s is left over", seed, l)
		}
	}
}

// BenchmarkRelatedPodsLeftOver counts, in worlds beyond those of the test, pods that are left over although all could have a place.
func BenchmarkRelatedPodsLeftOver(b *testing.B) {
	left := 0
	for i := range b.N {
		left += len(related(b, uint64(200+i)))
	}
	b.ReportMetric(float64(left)/float64(b.N), "pods/world")
	if left*200 > b.N+200 {
		b.Errorf("%d pods are left over in %d worlds", left, b.N)
	}
}

func related(t testing.TB, seed uint64) (left []model.PodKey) {
	t.Helper()
	w := worldgen.Related(seed)
	p := place.Decide(place.Input{World: w})
	for _, l := range p.Unscheduled {
		left = append(left, l.Pod)
	}
	for _, f := range audit.Check(w, p) {
		t.Errorf("seed %d: %s", seed, f)
	}
	if !slices.ContainsFunc(w.Pods, func(p model.Pod) bool { return len(p.PodAffinity) > 0 }) {
		t.Errorf("seed %d: no pod is near another", seed)
	}
	return left
}
