package judge_test

import (
	"fmt"
	"testing"

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
	name := fmt.Sprintf("seed %d", seed)
	h := hear(t, hearing{name: name, world: worldgen.Related(seed), choose: func(i, n int) int { return (i + int(seed)) % n }})
	h.lands(t, name)
	for _, l := range h.plan.Unscheduled {
		t.Errorf("%s: left over: %s: %s", name, l.Pod, words(l))
	}
	return h.answer.Accepted
}
