package place_test

import (
	"math"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// TestRoomInFlightGoesToRealPodsFirst: a claim was bought for pods that only stand for room. They are expected there, until real pods
// come: these get the room, and another machine is bought for the others.
func TestRoomInFlightGoesToRealPodsFirst(t *testing.T) {
	const rest = "type D2 cpu=2 memory=8Gi alloc.cpu=2 zones=1,2 price=0.1\npool p\npod room x2 cpu=1\n"
	w := parsed(t, rest)
	first := place.Decide(place.Input{World: w})
	if len(first.NewClaims) != 1 || len(first.NewClaims[0].Pods) != 2 {
		t.Fatalf("want one machine for both:\n%s", first)
	}
	claim := buy(w, first).Claims[0]
	w.Claims = []model.Claim{claim}
	if again := place.Decide(place.Input{World: w}); len(again.NewClaims) > 0 || len(again.Existing) != 2 {
		t.Errorf("room is bought twice:\n%s", again)
	}
	w = parsed(t, rest+"pod real x2 cpu=1 created=10s\n")
	w.Claims = []model.Claim{claim}
	after := place.Decide(place.Input{World: w})
	if len(after.Existing) != 2 || after.Existing[0].Pod.Name != "real-0" || len(after.NewClaims) != 1 || len(after.NewClaims[0].Pods) != 2 {
		t.Errorf("real pods did not get the room:\n%s", after)
	}
	if f := audit.Check(w, after); len(f) > 0 {
		t.Errorf("%v\n%s", f, after)
	}
}

// parsed reads a world in which pods named room stand for room only.
func parsed(t *testing.T, text string) model.World {
	t.Helper()
	w, err := worldtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; p.Name == "room-0" || p.Name == "room-1" {
			p.Virtual, p.Priority = true, math.MinInt32
		}
	}
	return w
}
