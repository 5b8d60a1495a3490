package place

import (
	"maps"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

func TestMovesFollowThePlan(t *testing.T) {
	claim := func(name, pods string) model.Claim {
		return model.Claim{Name: name, ProviderID: "vm/" + name, Annotations: map[string]string{planned.Annotation: pods}}
	}
	w := model.World{
		Claims: []model.Claim{claim("a", "d/1,d/2"), claim("b", "d/3"), claim("c", ""), claim("e", "d/4")},
		Nodes:  []model.Node{{Name: "n", ProviderID: "vm/b"}, {Name: "old"}},
	}
	fit := func(pod, node, claim string) answer.Nomination {
		return answer.Nomination{Pod: model.PodKey{Namespace: "d", Name: pod}, Node: node, Claim: claim}
	}
	got := Moves(w, answer.Plan{Existing: []answer.Nomination{
		fit("1", "", "a"),   // stays
		fit("2", "n", ""),   // goes to the node of b
		fit("3", "", "c"),   // goes to a claim on its way
		fit("4", "old", ""), // goes to a node of nobody's
		fit("5", "", "a"),   // was never planned for
	}})
	want := map[string]string{"a": "d/1", "b": "d/2", "c": "d/3"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOptionsAreTurnedAmongZonesOnly(t *testing.T) {
	var list []answer.Option
	add := func(typ, zone string, price model.Price) {
		list = append(list, answer.Option{Key: model.OfferingKey{Type: typ, Zone: zone, CapacityType: model.OnDemand}, Price: price})
	}
	add("D2", "1", 10)
	add("D2", "2", 10)
	add("D2", "3", 10)
	add("D2", "0", 10)
	add("D4", "1", 20)
	first := map[string]int{}
	for i := range 300 {
		got := offer.Turned(list, model.Claim{Name: offer.ClaimName(answer.NewClaim{Pool: "p"}, i, 0)})
		first[got[0].Key.Zone]++
		if len(got) != len(list) || got[3] != list[3] || got[4] != list[4] {
			t.Fatalf("what differs in more than the zone moved: %v", got)
		}
	}
	for _, zone := range []string{"1", "2", "3"} {
		if first[zone] < 50 {
			t.Errorf("zone %s is first %d times of 300", zone, first[zone])
		}
	}
}
