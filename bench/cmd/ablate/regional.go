package main

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/model"
)

// regional is the world in a region where every third size is not sold in zones: what it costs least in any of
// them it costs outside.
func regional(w model.World, seed uint64) model.World {
	r := rand.New(rand.NewPCG(seed, 0x726567696f6e))
	w.Catalogs = maps.Clone(w.Catalogs)
	byName := func(a, b model.ClassRef) int { return strings.Compare(a.String(), b.String()) }
	for _, class := range slices.SortedFunc(maps.Keys(w.Catalogs), byName) {
		cat := w.Catalogs[class]
		cat.Types = slices.Clone(cat.Types)
		for i := range cat.Types {
			if r.IntN(3) == 0 {
				cat.Types[i].Offerings = outside(cat.Types[i].Offerings)
			}
		}
		w.Catalogs[class] = cat
	}
	return w
}

// outside is the cheapest offering of each capacity type, outside zones. Capacity that was reserved stays in its zone.
func outside(list []model.Offering) (out []model.Offering) {
	for _, o := range list {
		i := slices.IndexFunc(out, func(x model.Offering) bool { return x.CapacityType == o.CapacityType })
		if o.CapacityType != model.Reserved {
			o.Zone = offerings.Regional
		}
		switch {
		case i < 0 || o.CapacityType == model.Reserved:
			out = append(out, o)
		case o.Available && (!out[i].Available || o.Price < out[i].Price):
			out[i] = o
		}
	}
	return out
}
