package place

import (
	"fmt"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Options ranks the offerings that a claim may be launched with now: its requirements hold, its requests (daemons
// included) fit, and they are on sale. Best first: price, then zonal before regional, then name. Empty when none is left.
func Options(claim model.Claim, cat model.Catalog) []Option {
	out, _ := OptionsOrWhy(claim, cat)
	return out
}

// OptionsOrWhy is Options that also says, when there are none, which constraint took the last offering away.
func OptionsOrWhy(claim model.Claim, cat model.Catalog) ([]Option, Refusal) {
	sh := newShelf(cat)
	r := Refusal{Pool: claim.Pool}
	want := require.New(claim.Requirements)
	matching := sh.filter(sh.all, want)
	fitting := newSet(len(sh.items))
	matching.each(func(i int) {
		if claim.Requests.FitsIn(sh.items[i].t.Allocatable) {
			fitting.add(i)
		}
	})
	var out []Option
	fitting.and(sh.available).each(func(i int) {
		out = append(out, Option{Key: sh.items[i].o.Key(), Price: sh.items[i].o.Price})
	})
	if len(out) > 0 {
		return out, Refusal{}
	}
	names := newDims([]*group{{requests: claim.Requests, pods: []*model.Pod{{}}}}, nil)
	s := &seller{shelf: sh, names: names}
	for _, it := range sh.items {
		s.room = append(s.room, names.vec(it.t.Allocatable))
	}
	for _, x := range []Removed{{Why: model.WhyRequirements, Offerings: len(sh.items) - matching.count()},
		{Why: model.WhyResources, Offerings: matching.count() - fitting.count()}, {Why: model.WhyUnavailable, Offerings: fitting.count()}} {
		if x.Offerings > 0 {
			r.Removed = append(r.Removed, x)
		}
	}
	switch {
	case len(sh.items) == 0:
		r.Why, r.Detail = model.WhyNoOfferings, fmt.Sprintf("the cloud has nothing on offer for class %s (yet)", claim.Class)
	case matching.first() < 0:
		r.Why, r.Detail = model.WhyRequirements, "the claim's requirements exclude every offering: "+want.String()
	case fitting.first() < 0:
		r.Why, r.Detail = model.WhyResources, s.sizeText(matching, names.vec(claim.Requests))
	default:
		r.Why, r.Detail = model.WhyUnavailable, s.soldOutText(fitting)
	}
	return nil, r
}
