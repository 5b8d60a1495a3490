package control

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// TestAwaitedNodesStayAMoment follows one node: a pod is expected on it, is gone for a moment, comes back, and is gone for good. Then one that is
// expected lands there and leaves.
func TestAwaitedNodesStayAMoment(t *testing.T) {
	var a awaited
	now := time.Date(2026, 1, 1, 0, 0, 0, 500, time.UTC)
	claims := []model.Claim{{Name: "c", NodeName: "a"}}
	for i, step := range []struct {
		after    time.Duration
		lands    bool
		expected bool
		stays    bool
		wait     time.Duration
	}{
		{0, false, false, false, 0},
		{time.Second, false, true, true, 0},
		{time.Hour, false, true, true, 0},
		{time.Hour, false, false, true, awaitedFor},
		{5 * time.Second, false, false, true, awaitedFor - 5*time.Second},
		{5 * time.Second, false, true, true, 0},
		{time.Second, false, false, true, awaitedFor},
		{awaitedFor, false, false, false, 0},
		{time.Second, false, false, false, 0},
		{time.Second, false, true, true, 0},
		{time.Minute, true, false, false, 0},
	} {
		if step.lands {
			claims[0].LastPodEvent = now.Truncate(time.Second)
		}
		now = now.Add(step.after)
		var expected map[string]bool
		if step.expected {
			expected = map[string]bool{"a": true}
		}
		if nodes, wait := a.with(now, claims, expected); nodes["a"] != step.stays || wait != step.wait || nodes["b"] {
			t.Errorf("step %d: stays %v for %v, want %v for %v", i, nodes["a"], wait, step.stays, step.wait)
		}
	}
}
