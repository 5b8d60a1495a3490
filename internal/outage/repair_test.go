package outage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/model"
)

func TestSicknessOf(t *testing.T) {
	healthy := func(s model.Status) []model.Condition {
		return []model.Condition{{Type: model.NodeHealthy, Status: s, Since: noon.Add(time.Minute)}}
	}
	for _, c := range []struct {
		claim string
		node  model.Node
		want  string
		due   time.Duration
	}{
		{"ready", model.Node{Ready: model.True, Conditions: healthy(model.True)}, "", 0},
		{"not ready", model.Node{Ready: model.False}, "Ready", 10 * time.Minute},
		{"silent", model.Node{Ready: model.Unknown}, "Ready", 10 * time.Minute},
		{"has said nothing yet, younger than that", model.Node{Ready: model.Unknown,
			Created: noon.Add(time.Minute)}, "Ready", 11 * time.Minute},
		{"says so itself", model.Node{Ready: model.True, Conditions: healthy(model.False)},
			model.NodeHealthy, time.Minute},
		{"its agent is silent", model.Node{Ready: model.True, Conditions: healthy(model.Unknown)},
			"", 0},
		{"what is due first", model.Node{Ready: model.False, Conditions: healthy(model.False)},
			model.NodeHealthy, time.Minute},
		{"is taken back", model.Node{Ready: model.True, Conditions: []model.Condition{
			{Type: model.PreemptionScheduled, Status: model.True}}}, "", 0},
	} {
		c.node.ReadySince = noon
		got, ok := outage.SicknessOf(&c.node)
		if ok != (c.want != "") || got.Condition != c.want || ok && got.Due.Sub(noon) != c.due {
			t.Errorf("%s: %+v, want %q after %s", c.claim, got, c.want, c.due)
		}
	}
}

// A fifth, rounded up, may be unhealthy; one more and nobody is repaired.
func TestTooManyAreUnhealthy(t *testing.T) {
	const initialized = model.LabelInitialized
	for _, c := range []struct{ nodes, most int }{{1, 1}, {4, 1}, {5, 1}, {6, 2}, {11, 3}} {
		for _, sick := range []int{c.most, c.most + 1} {
			w := model.World{}
			for i := range c.nodes {
				n := model.Node{Name: fmt.Sprintf("n%02d", i), Ready: model.True,
					Labels: map[string]string{model.LabelPool: "p", initialized: "true"}}
				if i < sick {
					n.Ready = model.False
				}
				w.Nodes = append(w.Nodes, n)
			}
			w.Nodes = append(w.Nodes, model.Node{Name: "z-foreign", Ready: model.False})
			w = w.Indexed()
			wards := outage.Survey(&w)
			full := sick > c.most && c.nodes > c.most
			if got := wards.Full("p"); (got != "") != full {
				t.Errorf("%d of %d: %q, want full %v", sick, c.nodes, got, full)
			}
			if got := wards.Full(""); (got != "") != full {
				t.Errorf("%d of %d in the cluster: %q, want full %v", sick, c.nodes, got, full)
			}
		}
	}
}
