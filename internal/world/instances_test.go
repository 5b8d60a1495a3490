package world_test

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// A look at one machine and a list of all: the younger question counts, whichever answer comes first.
func TestTheYoungerQuestionCounts(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 2, 3, 0, s, 0, time.UTC) }
	m := func(name string, s model.InstanceState) model.Instance {
		return model.Instance{ID: "id-" + name, Name: name, State: s}
	}
	w := world.New()
	states := func() string {
		out := ""
		for _, i := range w.Snapshot().Instances {
			out += i.Name + "=" + string(i.State) + " "
		}
		return out
	}
	stopped := m("b", model.Stopped)
	w.SetInstance("id-b", &stopped, at(5))
	if !w.SeenAt("id-b").IsZero() || w.Snapshot().InstancesSeen {
		t.Error("a look is taken for a list")
	}
	w.SetInstances([]model.Instance{m("c", model.Running), m("b", model.Running), m("a", model.Running)}, at(3))
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() {}, "a=running b=stopped c=running "},
		{func() { w.SetInstance("id-c", nil, at(6)) }, "a=running b=stopped "},
		{func() { w.SetInstances([]model.Instance{m("c", model.Running), m("b", model.Running)}, at(4)) }, "b=stopped "},
		{func() { x := m("b", model.Running); w.SetInstance("id-b", &x, at(4)) }, "b=stopped "},
		{func() { w.SetInstances([]model.Instance{m("c", model.Running), m("b", model.Running)}, at(7)) }, "b=running c=running "},
		{func() { w.SetInstance("id-b", nil, at(6)) }, "b=running c=running "},
	} {
		c.do()
		if got := states(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if w.SeenAt("id-b") != at(7) || w.LookedAt("id-b") != at(5) || w.SeenAt("id-z") != at(7) {
		t.Errorf("seen %s, looked %s, never seen %s", w.SeenAt("id-b"), w.LookedAt("id-b"), w.SeenAt("id-z"))
	}
	w.SetInstances(nil, at(7).Add(20*time.Minute))
	if !w.LookedAt("id-b").IsZero() {
		t.Error("looks are remembered for ever")
	}
}
