package simulate

import (
	"errors"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
)

// An engine that panics ends in an error that can be reported, not in a dead process.
func TestAnEngineThatPanicsIsAnError(t *testing.T) {
	broken := func(in place.Input) place.Plan {
		var none []place.NewClaim
		return place.Plan{NewClaims: none[:len(in.World.Pods)+1]}
	}
	_, err := ask(broken, Question{})
	var p *Panicked
	if !errors.As(err, &p) || !strings.Contains(p.Message, "slice bounds out of range") || !strings.Contains(p.Stack, "TestAnEngineThatPanics") {
		t.Errorf("got %v", err)
	}
	if a, err := ask(place.Decide, Question{}); err != nil || len(a.Plan.NewClaims) > 0 {
		t.Errorf("the engine itself: %v, %v", a.Plan, err)
	}
}
