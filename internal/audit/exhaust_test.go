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

// tied adds what pods ask of each other, of ports and of volumes to a tiny world, and now and then a node with a pod on it.
func tied(t *rapid.T) (model.World, string) {
	_, text := tiny(t)
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "type") {
			lines[i] += pick("attach", "", " attach.disk=1")
		}
		if strings.HasPrefix(l, "pod") {
			lines[i] += pick("app", "", " label.app=a", " label.app=a", " label.app=b") +
				pick("spread", "", "", "", " spread=zone:1:app=a", " spread=zone:2:app=b", " spread=host:1:app=a", " label.app=c spread=zone:1:app=c:min=2") +
				pick("pods", "", "", "", " apart=host:app=a", " apart=zone:app=b", " near=zone:app=a", " near=host:app=b") +
				pick("things", "", "", "", " port=80", " volume=v:disk", " volume=z:disk:topology.kubernetes.io/zone:In:1|topology.kubernetes.io/zone:In:2")
		}
	}
	if pick("node", "no", "no", "yes") == "yes" {
		lines = append(lines, "node n pool=p zone="+pick("node-zone", "1", "2")+" cpu=1 memory=1Gi initialized",
			"pod run node=n cpu=1"+pick("running", "", " label.app=a", " label.app=b", " label.app=a apart=zone:app=a", " apart=zone:app=b"))
	}
	text = strings.Join(lines, "\n")
	w, err := worldtext.Parse(text)
	if err != nil {
		t.Fatal(err, text)
	}
	return w, text
}

// waiting lists the pods without a node.
func waiting(w model.World) []model.Pod {
	var out []model.Pod
	for _, p := range w.Pods {
		if p.Node == "" {
			out = append(out, p)
		}
	}
	return out
}

func TestTheExhaustiveSearchPlacesNoFewerTiedPods(t *testing.T) {
	fewer, worlds := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w, text := tied(t)
		best := audit.Exhaust(w, waiting(w))
		p := place.Decide(place.Input{World: w})
		if f := audit.Check(w, best); len(f) > 0 {
			t.Fatalf("unsound: %v\nworld:\n%s\nplan:\n%s", f, text, best)
		}
		if len(p.Existing) == 0 && len(p.Unscheduled) < len(best.Unscheduled) {
			t.Fatalf("the engine places more than every plan does\nworld:\n%s\nengine:\n%s\nsearch:\n%s", text, p, best)
		}
		if worlds++; len(p.Unscheduled) > len(best.Unscheduled) {
			fewer++
		}
	})
	t.Logf("in %d of %d worlds the engine places fewer than could be", fewer, worlds)
}

// TestHardlyATiedPodIsLeftOverForNothing allows for worlds in which pods tie each other down so that the first plan which comes to
// mind leaves one of them out. The worlds are always the same ones.
func TestHardlyATiedPodIsLeftOverForNothing(t *testing.T) {
	const worlds, allowed = 1000, 10
	type drawn struct {
		w    model.World
		text string
	}
	draw := rapid.Custom(func(t *rapid.T) drawn { w, text := tied(t); return drawn{w, text} })
	left := 0
	for i := range worlds {
		d := draw.Example(i)
		p := place.Decide(place.Input{World: d.w})
		if f := audit.Check(d.w, p); len(f) > 0 {
			t.Fatalf("unsound: %v\nworld:\n%s\nplan:\n%s", f, d.text, p)
		}
		if missed := audit.Missed(d.w, p); len(missed) > 0 {
			left++
			t.Logf("left over for nothing: %v\nworld:\n%s\nplan:\n%s", missed, d.text, p)
		}
	}
	if left > allowed {
		t.Errorf("in %d of %d worlds pods are left over for nothing, want at most %d", left, worlds, allowed)
	}
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
		if len(p.Unscheduled) < len(best.Unscheduled) || len(p.Unscheduled) == len(best.Unscheduled) && p.Price < best.Price {
			t.Fatalf("the engine does better than every plan\nworld:\n%s\nengine:\n%s\nsearch:\n%s", text, p, best)
		}
	})
}
