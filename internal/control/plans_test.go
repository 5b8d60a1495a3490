package control

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Loops that look at one picture share what was planned for it, and the next picture has plans of its own.
func TestOnePictureIsPlannedForOnce(t *testing.T) {
	c, _, _ := fragile(t)
	wholes, fits := 0, 0
	c.Decide = func(in place.Input) place.Plan { wholes++; return place.Decide(in) }
	c.plans.ask = func(w model.World) []place.Nomination { fits++; return place.Fits(w) }
	c.World.Begin()
	apply := func(objects ...model.Object) {
		for _, o := range objects {
			c.World.Apply(model.Change{Object: o})
		}
	}
	room := model.Resources{CPU: 4_000, Memory: 8 << 30, Pods: 10}
	waits := func(name string) model.Pod {
		return model.Pod{Namespace: "d", Name: name, UID: name, Unschedulable: true,
			Requests: model.Resources{CPU: 1_000, Memory: 1 << 30, Pods: 1}}
	}
	apply(model.Node{Name: "n", Ready: model.True, Capacity: room, Allocatable: room,
		Labels: map[string]string{model.LabelHostname: "n"}}, waits("a"))
	c.World.Synced()
	p := c.provisioner()
	pass := func() []string {
		w := c.World.Snapshot()
		p.decide(w, nil, 1)
		roomOf(c.plans.fits(w))
		return slices.Sorted(maps.Keys(c.disruptionInput(w, new(time.Duration)).Expected()))
	}
	for range 3 {
		if got := pass(); !slices.Equal(got, []string{"n"}) {
			t.Errorf("pods are expected on %v, want n", got)
		}
	}
	if wholes != 1 || fits != 1 {
		t.Errorf("one picture: %d plans and %d answers of what fits, want one of each", wholes, fits)
	}
	apply(waits("b"))
	pass()
	if wholes != 2 || fits != 2 {
		t.Errorf("a second picture: %d plans and %d answers of what fits, want two of each", wholes, fits)
	}
}
