package place_test

import (
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// evenly is a world of 20,000 pods that would rather be spread over zones, if soft is set, and of spot machines that cost the same in
// every zone, as Azure's do.
func evenly(soft bool) model.World {
	cat := workload.Families()
	for i := range cat.Types {
		t := &cat.Types[i]
		cheapest := map[string]model.Price{}
		for _, o := range t.Offerings {
			if old, ok := cheapest[o.CapacityType]; !ok || o.Price < old {
				cheapest[o.CapacityType] = o.Price
			}
		}
		for j := range t.Offerings {
			t.Offerings[j].Price = cheapest[t.Offerings[j].CapacityType]
		}
		slices.SortFunc(t.Offerings, func(a, b model.Offering) int { return a.Key().Compare(b.Key()) })
	}
	pods := workload.Shapes(20_000, 1)
	for i := range pods {
		if soft {
			pods[i].Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, HonorAffinity: true,
				Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{pods[i].Labels["app"]}}}}}}
		}
	}
	return workload.World(cat, pods)
}

// TestPodsTiedToZonesDoNotMakeAFleetLean: where some apps have to be spread over zones, their pods tie the machines to these that they share with others.
// Those are in all zones alike, so that no size in one zone is more than a quarter of the spot machines.
func TestPodsTiedToZonesDoNotMakeAFleetLean(t *testing.T) {
	for _, every := range []int{2, 10} {
		w := evenly(true)
		apps := map[string]int{}
		for i := range w.Pods {
			p := &w.Pods[i]
			name := p.Labels["app"]
			if _, known := apps[name]; !known {
				apps[name] = len(apps)
			}
			if p.Spread[0].Hard = true; apps[name]%every != 0 {
				p.Spread = nil
			}
		}
		p := place.Decide(place.Input{World: w})
		pools, most, spot, tied := map[model.OfferingKey]int{}, 0, 0, 0
		for _, b := range p.NewClaims {
			k := b.Options[0].Key
			if k.CapacityType != model.Spot {
				continue
			}
			pools[k]++
			spot++
			most = max(most, pools[k])
			if !slices.ContainsFunc(b.Options, func(o place.Option) bool { return o.Key.Zone != k.Zone }) {
				tied++
			}
		}
		t.Logf("every %d.: %d machines, %d spot, %d tied to a zone, the largest spot pool has %d, %s", every, len(p.NewClaims), spot, tied, most, p.Price)
		if spot < 100 || tied*2 < spot || len(p.Unscheduled) > 0 {
			t.Fatalf("%d spot machines, %d tied, %d pods left: there is nothing to judge", spot, tied, len(p.Unscheduled))
		}
		if most*4 > spot {
			t.Errorf("%d of %d spot machines are of one size in one zone", most, spot)
		}
	}
}

// TestAFleetDoesNotLeanOnOneSpotPool: of machines that cost the same in every zone, no size in one zone is more than two fifths, whether or
// not the pods would rather be spread; and that they would costs no more than a tenth of what such a preference may cost (5 %).
func TestAFleetDoesNotLeanOnOneSpotPool(t *testing.T) {
	price := map[bool]model.Price{}
	for _, soft := range []bool{false, true} {
		p := place.Decide(place.Input{World: evenly(soft)})
		price[soft] = p.Price
		pools, most, spot := map[model.OfferingKey]int{}, 0, 0
		for _, b := range p.NewClaims {
			if k := b.Options[0].Key; k.CapacityType == model.Spot {
				pools[k]++
				spot++
				most = max(most, pools[k])
			}
		}
		t.Logf("soft %v: %d machines, %d spot, the largest spot pool has %d, %s", soft, len(p.NewClaims), spot, most, p.Price)
		if spot < 100 || len(p.Unscheduled) > 0 {
			t.Fatalf("%d spot machines, %d pods left: there is nothing to judge", spot, len(p.Unscheduled))
		}
		if most*5 > spot*2 {
			t.Errorf("%d of %d spot machines are of one size in one zone", most, spot)
		}
	}
	if price[true] > price[false]+price[false]/200 {
		t.Errorf("soft spread costs %s instead of %s", price[true], price[false])
	}
}
