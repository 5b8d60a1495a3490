package lifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/model"
)

// TestOnlyMachinesWithNewsToComeAreFollowed says who is looked at, and when, ten minutes after the start.
func TestOnlyMachinesWithNewsToComeAreFollowed(t *testing.T) {
	now := start.Add(10 * time.Minute)
	cond := func(typ string, ago time.Duration) model.Condition {
		return model.Condition{Type: typ, Status: model.True, Since: now.Add(-ago)}
	}
	claim := func(name string, deleted time.Duration, conds ...model.Condition) model.Claim {
		c := model.Claim{Name: name, ProviderID: "id-" + name, Conditions: conds}
		if deleted > 0 {
			c.DeletedAt = now.Add(-deleted)
		}
		return c
	}
	node := func(name string, ready model.Status, ago time.Duration) model.Node {
		return model.Node{Name: name, ProviderID: "id-" + name, Ready: ready, ReadySince: now.Add(-ago), Labels: map[string]string{model.LabelPool: "p"}}
	}
	refused := claim("refused", time.Second)
	refused.ProviderID = ""
	orphan := node("orphan", model.Unknown, time.Minute)
	orphan.DeletedAt = now.Add(-time.Second)
	w := model.World{
		Claims: []model.Claim{
			claim("new", 0), claim("launched", 0, cond(model.Launched, 2*time.Second)),
			claim("joined", 0, cond(model.Launched, 20*time.Second)),
			claim("serves", 0, cond(model.Launched, time.Hour), cond(model.Registered, time.Hour)),
			claim("silent", 0, cond(model.Launched, time.Hour), cond(model.Registered, time.Hour)),
			claim("drains", time.Minute, cond(model.Launched, time.Hour), cond(model.Registered, time.Hour)),
			claim("ends", 40*time.Second, cond(model.InstanceTerminating, 30*time.Second)),
			refused,
		},
		Nodes: []model.Node{node("joined", model.False, time.Second), node("serves", model.True, time.Hour), node("silent", model.Unknown, time.Second),
			node("drains", model.True, time.Hour), orphan},
		Instances: []model.Instance{{ID: "id-launched"}, {ID: "id-joined"}, {ID: "id-serves"}, {ID: "id-silent"}, {ID: "id-drains"}, {ID: "id-ends"}},
	}
	got := lifecycle.Follow(w, lifecycle.Sight{
		IDOf:     func(claim string) string { return "id-" + claim },
		SeenAt:   func(id string) time.Time { return now.Add(-10 * time.Second) },
		LookedAt: func(string) time.Time { return time.Time{} },
	})
	var b strings.Builder
	for _, l := range got {
		b.WriteString(l.ID + " " + l.Due.Sub(now).String() + "; ")
	}
	// "ends" was seen twenty seconds into its end: the next look comes half as long after.
	if want := "id-ends 0s; id-orphan -1s; id-refused -1s; id-silent -1s; id-launched 3s; id-joined -5s; "; sorted(b.String()) != sorted(want) {
		t.Errorf("got  %s\nwant %s", b.String(), want)
	}
	for i := range got[1:] {
		if got[i+1].Due.Before(got[i].Due) {
			t.Errorf("not in order: %s", b.String())
		}
	}
}

func sorted(s string) string {
	parts := strings.Split(strings.TrimSuffix(s, "; "), "; ")
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}
