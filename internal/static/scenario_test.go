package static_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/internal/static"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// TestScenarios asks Decide about the first pool of the worlds in testdata. Names of new claims are hashes, so only
// their number is printed, and what each would buy.
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata", scenario.Commands{"decide": func(q *scenario.Question) string {
		w := q.World()
		return show(static.Decide(w, w.Pools[0]))
	}})
}

func show(d static.Decision) string {
	var b strings.Builder
	if n := len(d.Create); n > 0 {
		p := d.Create[0].Purchase
		fmt.Fprintf(&b, "create %d: %s at %s, requests %s, pods %d\n", n, p.Options[0].Key, p.Options[0].Price, p.Requests, len(p.Pods))
	}
	for _, name := range d.Delete {
		fmt.Fprintf(&b, "delete %s\n", name)
	}
	if d.Why != "" {
		fmt.Fprintf(&b, "held back: %s: %s\n", d.Why, d.Detail)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func world(t *testing.T, text string) model.World {
	t.Helper()
	w, err := worldtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Whatever part of a decision has been carried out, the next one does the rest and no more.
func TestHalfDoneIsFinished(t *testing.T) {
	w := world(t, "type D2 cpu=2 memory=8Gi zones=1 price=0.10\npool p replicas=7")
	all := static.Decide(w, w.Pools[0])
	if len(all.Create) != 7 {
		t.Fatalf("%d claims are created, want 7", len(all.Create))
	}
	rapid.Check(t, func(r *rapid.T) {
		half, now := w, all.Create
		half.Claims = nil
		var want []string
		for _, c := range now {
			if rapid.Bool().Draw(r, "done") {
				half.Claims = append(half.Claims, offer.Claim(c.Purchase, w.Pools[0], w.Classes[0], c.Name))
			} else {
				want = append(want, c.Name)
			}
		}
		var got []string
		for _, c := range static.Decide(half, w.Pools[0]).Create {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("with %d done: %v is created, want %v", len(half.Claims), got, want)
		}
	})
}

// A machine that goes is replaced under a name of its own, because the old one's is taken until it is gone.
func TestAReplacementHasANameOfItsOwn(t *testing.T) {
	w := world(t, "type D2 cpu=2 memory=8Gi zones=1 price=0.10\npool p replicas=1")
	first := static.Decide(w, w.Pools[0]).Create[0]
	old := offer.Claim(first.Purchase, w.Pools[0], w.Classes[0], first.Name)
	old.DeletedAt = time.Unix(1, 0)
	w.Claims = []model.Claim{old}
	d := static.Decide(w, w.Pools[0])
	if len(d.Create) != 1 || d.Create[0].Name == first.Name {
		t.Errorf("%+v, want one claim of another name than %s", d.Create, first.Name)
	}
}

func TestOneDecisionIsBounded(t *testing.T) {
	w := world(t, "type D2 cpu=2 memory=8Gi zones=1 price=0.10\npool p replicas=100000")
	if n := len(static.Decide(w, w.Pools[0]).Create); n != static.MostAtOnce {
		t.Errorf("%d claims at once, want %d", n, static.MostAtOnce)
	}
}
