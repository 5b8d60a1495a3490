package observe

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/model"
)

// What keeps a node is said of node and claim, when it changes and about every hour.
func TestWhatKeepsANodeIsSaidOnce(t *testing.T) {
	r, ear, _ := recorder(t)
	now := time.Unix(1_800_000_000, 0)
	heard := func() int {
		n := len(ear.heard)
		ear.heard = nil
		return n
	}
	tell := func(why model.Why) int {
		r.Kept([]disrupt.Kept{{Claim: "c", Node: "n", Why: why}}, now)
		return heard()
	}
	if n := tell(model.WhyNoCheaperHome); n != 2 {
		t.Errorf("at first %d events, want one of the claim and one of the node", n)
	}
	now = now.Add(time.Minute)
	if n := tell(model.WhyNotEmpty) + tell(model.WhyNoCheaperHome); n != 0 {
		t.Errorf("%d events although nothing changed", n)
	}
	if n := tell(model.WhyPDB); n != 2 {
		t.Errorf("%d events of another reason, want 2", n)
	}
	now = now.Add(time.Hour)
	if n := tell(model.WhyPDB); n != 2 {
		t.Errorf("%d events an hour later, want 2", n)
	}
}

// A pool whose budgets let no node leave is told so once, and a claim that nodes wait for, too.
func TestPoolsAndReplacementsAreTold(t *testing.T) {
	r, ear, _ := recorder(t)
	now := time.Unix(1_800_000_000, 0)
	r.Sink(deaf{}, func() time.Time { return now }).Apply(model.Change{Object: model.Claim{Name: "c", UID: "u", Pool: "p"}})
	heard := func(about string) (n int) {
		for _, e := range ear.heard {
			if KindOf(e.About)+" "+e.Reason == about {
				n++
			}
		}
		return n
	}
	for range 3 {
		r.Kept([]disrupt.Kept{{Claim: "c", Node: "n", Why: model.WhyBudget, Detail: "no more"}}, now)
		r.Replacing([]string{"c"}, now)
		now = now.Add(time.Minute)
	}
	if heard("NodePool DisruptionBlocked") != 1 || heard("NodeClaim DisruptionWaitingReadiness") != 1 {
		t.Errorf("heard %+v", ear.heard)
	}
	r.Replacing(nil, now)
	r.Replacing([]string{"c"}, now)
	if heard("NodeClaim DisruptionWaitingReadiness") != 2 {
		t.Errorf("not told of another wait: %+v", ear.heard)
	}
}
