package lifecycle_test

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/model"
)

// What pool and class are to blame for is told apart from what was sold out or taken away.
func TestWhatBecameOfAMachine(t *testing.T) {
	refused := []model.Condition{{Type: model.Launched, Status: model.False, Reason: "LaunchFailed", Message: "bad image"}}
	for _, tc := range []struct {
		name            string
		step            lifecycle.Step
		reason, message string
		ended           bool
	}{
		{"it registers", lifecycle.Step{Do: lifecycle.Register}, "", "", true},
		{"it waits", lifecycle.Step{Do: lifecycle.Wait, Why: model.WhyAwaitingNode}, "", "", false},
		{"no node came", lifecycle.Step{Do: lifecycle.Delete, Why: model.WhyRegisterTimeout, Message: "no node"}, "RegistrationFailed", "no node", true},
		{"never accepted", lifecycle.Step{Do: lifecycle.Delete, Why: model.WhyLaunchTimeout, Message: "late"}, "Denied", "no rights", true},
		{"accepted and not made", lifecycle.Step{Do: lifecycle.Delete, Why: model.WhyInstanceFailed, Conditions: refused}, "LaunchFailed", "bad image", true},
		{"sold out", lifecycle.Step{Do: lifecycle.Delete, Why: model.WhyNoCapacity, Conditions: refused}, "", "", false},
		{"taken away", lifecycle.Step{Do: lifecycle.Delete, Why: model.WhyInstanceGone}, "", "", false},
		{"no longer wanted", lifecycle.Step{Do: lifecycle.Delete, Why: model.WhyExpired}, "", "", false},
	} {
		c := model.Claim{Conditions: []model.Condition{{Type: model.Launched, Status: model.Unknown, Reason: "Denied", Message: "no rights"}}}
		reason, message, ended := lifecycle.Joined(c, tc.step)
		if reason != tc.reason || message != tc.message || ended != tc.ended {
			t.Errorf("%s: %q, %q, %v", tc.name, reason, message, ended)
		}
	}
	bare := lifecycle.Step{Do: lifecycle.Delete, Why: model.WhyLaunchTimeout, Message: "late"}
	reason, message, _ := lifecycle.Joined(model.Claim{}, bare)
	if reason != "LaunchFailed" || message != "late" {
		t.Errorf("of a claim that says nothing: %q, %q", reason, message)
	}
}
