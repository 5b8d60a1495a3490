package market

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

func TestWhatWasTakenBackIsBoughtLastOfItsLike(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	option := func(name string, price model.Price) Option {
		return Option{Offering: model.Offering{Type: name, Zone: "1", CapacityType: model.Spot, Price: price}}
	}
	list := []Option{option("a", 100), option("b", 100), option("c", 108), option("d", 111), option("e", 200)}
	for _, c := range []struct {
		claim string
		risky []string
		later time.Duration
		want  []string
	}{
		{"nothing is known", nil, 0, []string{"a", "b", "c", "d", "e"}},
		{"behind what costs a tenth more, before what costs more", []string{"a"}, 0, []string{"b", "c", "a", "d", "e"}},
		{"two, in their order", []string{"b", "a"}, 0, []string{"c", "a", "b", "d", "e"}},
		{"all are: as if none was", []string{"a", "b", "c", "d", "e"}, 0, []string{"a", "b", "c", "d", "e"}},
		{"what nothing is like stays", []string{"e"}, 0, []string{"a", "b", "c", "d", "e"}},
		{"after a while all is forgiven", []string{"a"}, 30 * time.Minute, []string{"a", "b", "c", "d", "e"}},
	} {
		m := New(nil, Config{})
		for _, name := range c.risky {
			m.TakenBack(option(name, 0).Offering.Key(), now)
		}
		var got []string
		for _, o := range m.ranked(Request{Options: list}, now.Add(c.later)) {
			got = append(got, o.Offering.Type)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.claim, got, c.want)
		}
	}
}

func TestRisksAreBounded(t *testing.T) {
	m := New(nil, Config{})
	for i := range 3 * maxRisks {
		m.TakenBack(model.OfferingKey{Type: string(rune(i))}, time.Unix(0, 0))
	}
	if n := len(m.risks); n > maxRisks {
		t.Errorf("%d offerings are remembered, want at most %d", n, maxRisks)
	}
}
