package place_test

import (
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// TestMoreWorkIsNeverDearer: a plan with more work limit leaves no more pods, and costs no more.
func TestMoreWorkIsNeverDearer(t *testing.T) {
	for _, c := range mixes(1) {
		var last place.Plan
		for i, limit := range []int{place.DefaultLimit / 8, place.DefaultLimit / 2, 2 * place.DefaultLimit} {
			p := place.Decide(place.Input{World: c.world, Limit: limit})
			more, fewer := len(p.Unscheduled), len(last.Unscheduled)
			if i > 0 && (more > fewer || more == fewer && p.Price > last.Price) {
				t.Errorf("%s: %s and %d pods left with a limit of %d, %s and %d with less", c.name, p.Price, more, limit, last.Price, fewer)
			}
			last = p
		}
	}
}

// TestFewerConstraintsAreHardlyDearer: pods that may go anywhere cost at most half a per cent more than the same pods, every
// third of which is bound to a zone.
func TestFewerConstraintsAreHardlyDearer(t *testing.T) {
	for _, c := range append(mixes(1), mixes(2)...) {
		bound := c.world
		bound.Pods = slices.Clone(bound.Pods)
		for i := range bound.Pods {
			if i%3 == 0 {
				bound.Pods[i].NodeSelector = map[string]string{model.LabelZone: "zone-1"}
			}
		}
		free, tight := place.Decide(place.Input{World: c.world}), place.Decide(place.Input{World: bound})
		if len(free.Unscheduled) > len(tight.Unscheduled) || free.Price.Float() > 1.005*tight.Price.Float() {
			t.Errorf("%s: %s, and %s when every third is bound to a zone", c.name, free.Price, tight.Price)
		}
	}
}

// mixes are users of every kind, with and without ties between pods.
func mixes(seed uint64) []crowd {
	var out []crowd
	add := func(name string, pods []model.Pod) {
		out = append(out, crowd{name, workload.World(workload.Families(), pods)})
	}
	for _, k := range workload.Kinds()[:5] { // the others want accelerators, which nobody sells here
		add(k.Name, k.Pods(150, seed))
	}
	add("shapes", workload.Shapes(300, seed))
	add("topology", workload.Topology(300, seed))
	add("diverse", workload.Diverse(300, seed))
	return out
}
