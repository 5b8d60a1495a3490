package control

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// parts are the pods, by UID, that a plan for all was cut short for. They are planned for one part after the other before the next plan for all: that would be cut
// short for the same ones. A restart forgets them, and finds them again.
type parts []map[string]bool

// cutFor splits the pods that a plan left because it was cut short, and names the pools in which their turn did not come.
func cutFor(w model.World, plan place.Plan) (out parts, pools []string) {
	left := map[model.PodKey]bool{}
	for _, l := range plan.Left {
		for _, r := range l.Refusals {
			if r.Why == model.WhyPlanCut {
				left[l.Pod] = true
				pools = append(pools, r.Pool)
			}
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	pods := slices.DeleteFunc(place.Waiting(w), func(p model.Pod) bool { return !left[p.Key()] })
	for _, list := range place.Parts(w, pods) {
		part := map[string]bool{}
		for i := range list {
			part[list[i].UID] = true
		}
		out = append(out, part)
	}
	slices.Sort(pools)
	return out, slices.Compact(pools)
}

// next takes the first part of which somebody still waits, together with the pods that machines were bought for: these hold their places. nil when there is none.
func (p *parts) next(w model.World) []model.Pod {
	planned := place.Planned(&w, place.Staying)
	waiting := place.Waiting(w)
	for len(*p) > 0 {
		part := (*p)[0]
		*p = (*p)[1:]
		if slices.ContainsFunc(waiting, func(x model.Pod) bool { return part[x.UID] }) {
			return slices.DeleteFunc(waiting, func(x model.Pod) bool { return !part[x.UID] && !planned[x.Key()] })
		}
	}
	return nil
}
