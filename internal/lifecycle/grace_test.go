package lifecycle_test

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/model"
)

// When the node's grace is over, volumes that are still attached do not keep the machine, even while somebody else keeps the node.
func TestVolumesDoNotOutlastTheGrace(t *testing.T) {
	now := start.Add(time.Hour)
	for reason, want := range map[string]lifecycle.Do{model.GraceElapsed: lifecycle.Terminate, "AwaitingVolumeDetachment": lifecycle.Wait} {
		got := lifecycle.Next(lifecycle.View{Now: now, ListedAt: now,
			Claim: model.Claim{Name: "c", ProviderID: "id", DeletedAt: start, Finalizers: []string{model.Finalizer}, Conditions: []model.Condition{
				{Type: model.Registered, Status: model.True, Since: start}, {Type: model.Drained, Status: model.True, Since: start},
				{Type: model.VolumesDetached, Status: model.False, Reason: reason, Since: start}}},
			Nodes:    []model.Node{{Name: "n", ProviderID: "id", DeletedAt: start, Finalizers: []string{"example.com/other"}}},
			Instance: &model.Instance{ID: "id", State: model.Running}})
		if got.Do != want {
			t.Errorf("%s: %s (%s), want %s", reason, got.Do, got.Why, want)
		}
	}
}
