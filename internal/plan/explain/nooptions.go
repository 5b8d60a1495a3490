package explain

import (
	"fmt"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// NoOptions says why no offering will do for the claim: which constraint took the last one away.
func NoOptions(claim model.Claim, cat model.Catalog) answer.Refusal {
	want := require.New(claim.Requirements)
	sh := offerings.New(cat)
	r := answer.Refusal{Pool: claim.Pool}
	matching := sh.Filter(sh.All, want)
	fitting := matching.Where(func(i int) bool {
		return claim.Requests.FitsIn(sh.Items[i].Type.Allocatable)
	})
	class := &problem.PodClass{Requests: claim.Requests, Pods: []*model.Pod{{}}}
	names := problem.NewDims([]*problem.PodClass{class}, nil)
	s := &problem.NodePool{Offerings: sh, Names: names}
	for _, it := range sh.Items {
		s.Room = append(s.Room, names.Vec(it.Type.Allocatable))
	}
	for _, x := range []answer.Removed{
		{Why: model.WhyRequirements, Offerings: len(sh.Items) - matching.Count()},
		{Why: model.WhyResources, Offerings: matching.Count() - fitting.Count()},
		{Why: model.WhyUnavailable, Offerings: fitting.Count()},
	} {
		if x.Offerings > 0 {
			r.Removed = append(r.Removed, x)
		}
	}
	switch {
	case len(sh.Items) == 0:
		r.Why = model.WhyNoOfferings
		r.Detail = fmt.Sprintf("the cloud has nothing on offer for class %s (yet)", claim.Class)
	case matching.First() < 0:
		r.Why, r.Detail = model.WhyRequirements, sh.Blame("the claim's", want)
	case fitting.First() < 0:
		r.Why, r.Detail = model.WhyResources, sizeText(s, matching, names.Vec(claim.Requests))
	default:
		r.Why, r.Detail = model.WhyUnavailable, soldOutText(s, fitting)
	}
	return r
}
