package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// TestPlansBeyondLand asks kube-scheduler about plans for worlds with reserved capacity, what one pool alone is sold, room that buffers keep,
// and pods that are none of our business. These must not be planned for, and no more is bought of what is reserved than there is.
func TestPlansBeyondLand(t *testing.T) {
	tally := map[string]int{}
	for seed := range uint64(worlds) {
		beyond(t, seed, tally)
	}
	t.Logf("%v", tally)
	if tally["landed"] < 3*worlds || tally["reserved"] < worlds/4 || tally["kept free"] < worlds/4 {
		t.Errorf("%v: there is little to judge", tally)
	}
}

// BenchmarkPlansBeyondLand judges b.N worlds beyond those of the test.
func BenchmarkPlansBeyondLand(b *testing.B) {
	tally := map[string]int{}
	for i := range b.N {
		beyond(b, uint64(worlds+i), tally)
	}
	b.ReportMetric(float64(tally["landed"])/float64(b.N), "pods/world")
}

func beyond(t testing.TB, seed uint64, tally map[string]int) {
	t.Helper()
	w := worldgen.Beyond(seed)
	name := fmt.Sprintf("seed %d", seed)
	h := hear(t, hearing{name: name, world: w})
	h.lands(t, name)
	tally["landed"] += h.answer.Accepted
	for _, x := range h.question.Placements {
		if strings.HasPrefix(x.Pod.Name, "idle-") {
			t.Errorf("seed %d: %s waits for nothing from us, and is planned for", seed, x.Pod)
		}
		if strings.HasPrefix(x.Pod.Name, "spare:") {
			tally["kept free"]++
		}
	}
	bought := map[model.OfferingKey]int64{}
	for _, b := range h.plan.NewClaims {
		if k := b.Options[0].Key; k.CapacityType == model.Reserved {
			bought[k]++
			tally["reserved"]++
		}
	}
	for k, n := range bought {
		typ, _ := w.Catalogs[worldgen.Class()].Type(k.Type)
		for _, o := range typ.Offerings {
			if o.Key() == k && n > *o.Supply {
				t.Errorf("seed %d: %d of %s are bought, %d are reserved", seed, n, k, *o.Supply)
			}
		}
	}
}
