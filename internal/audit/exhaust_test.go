package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// tiny draws a world of at most four waiting pods, two types and two zones.
func tiny(t *rapid.T) (model.World, string) {
	var b strings.Builder
	n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	for i := range 2 {
		fmt.Fprintf(&b, "type T%d cpu=%d memory=%dGi zones=%s price=0.%02d%s\n", i, n("cpu", 1, 8), n("memory", 1, 16), pick("zones", "1", "2", "1,2"), n("price", 1, 99),
			pick("extra", "", " sold-out=1/on-demand", " label.karpenter.azure.com/sku-family=D"))
	}
	fmt.Fprintf(&b, "pool p%s\n", pick("pool", "", " limit.cpu=9", " limit.nodes=2", " taint=gpu:NoSchedule", " req=team:In:a,b", " req=topology.kubernetes.io/zone:In:1"))
	if n("daemons", 0, 1) == 1 {
		fmt.Fprintf(&b, "daemon d cpu=%dm tolerate=*\n", n("daemon", 1, 900))
	}
	for i := range n("pods", 1, 4) {
		fmt.Fprintf(&b, "pod w%d cpu=%dm memory=%dMi%s\n", i, n("pod-cpu", 1, 50)*100, n("pod-memory", 1, 80)*100,
			pick("pod-extra", "", "", " select.team=a", " select.team=b", " tolerate=*", " select.topology.kubernetes.io/zone=2", " affinity=karpenter.azure.com/sku-family:DoesNotExist"))
	}
	w, err := worldtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return w, b.String()
}

func TestNobodyIsLeftOverForNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := tiny(t)
		p := place.Decide(place.Input{World: w})
		if f := audit.Check(w, p); len(f) > 0 {
			t.Fatalf("unsound: %v\nworld:\n%s\nplan:\n%s", f, text, p)
		}
		if missed := audit.Missed(w, p); len(missed) > 0 {
			t.Fatalf("left over for nothing: %v\nworld:\n%s\nplan:\n%s", missed, text, p)
		}
	})
}

func TestTheExhaustiveSearchFindsTheCheapestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := tiny(t)
		best := audit.Exhaust(w, w.Pods)
		if f := audit.Check(w, best); len(f) > 0 {
			t.Fatalf("unsound: %v\nworld:\n%s\nplan:\n%s", f, text, best)
		}
		if missed := audit.Missed(w, best); len(missed) > 0 {
			t.Fatalf("the search left over %v\nworld:\n%s\nplan:\n%s", missed, text, best)
		}
		p := place.Decide(place.Input{World: w})
		if len(p.Left) < len(best.Left) || len(p.Left) == len(best.Left) && p.Price < best.Price {
			t.Fatalf("the engine does better than every plan\nworld:\n%s\nengine:\n%s\nsearch:\n%s", text, p, best)
		}
	})
}
