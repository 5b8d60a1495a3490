package place

import (
	"fmt"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// NoOptions says why no offering will do for the claim: which constraint took the last one away.
func NoOptions(claim model.Claim, cat model.Catalog) Refusal {
	want := require.New(claim.Requirements)
	sh := newOfferingIndex(cat)
	r := Refusal{Pool: claim.Pool}
	matching := sh.filter(sh.all, want)
	fitting := bitset.New(len(sh.items))
	matching.Each(func(i int) {
		if claim.Requests.FitsIn(sh.items[i].t.Allocatable) {
			fitting.Add(i)
		}
	})
	names := newDims([]*podClass{{requests: claim.Requests, pods: []*model.Pod{{}}}}, nil)
	s := &nodePool{offerings: sh, names: names}
	for _, it := range sh.items {
		s.room = append(s.room, names.vec(it.t.Allocatable))
	}
	for _, x := range []Removed{{Why: model.WhyRequirements, Offerings: len(sh.items) - matching.Count()},
		{Why: model.WhyResources, Offerings: matching.Count() - fitting.Count()}, {Why: model.WhyUnavailable, Offerings: fitting.Count()}} {
		if x.Offerings > 0 {
			r.Removed = append(r.Removed, x)
		}
	}
	switch {
	case len(sh.items) == 0:
		r.Why, r.Detail = model.WhyNoOfferings, fmt.Sprintf("the cloud has nothing on offer for class %s (yet)", claim.Class)
	case matching.First() < 0:
		r.Why, r.Detail = model.WhyRequirements, sh.blame("the claim's", want)
	case fitting.First() < 0:
		r.Why, r.Detail = model.WhyResources, sizeText(s, matching, names.vec(claim.Requests))
	default:
		r.Why, r.Detail = model.WhyUnavailable, soldOutText(s, fitting)
	}
	return r
}
