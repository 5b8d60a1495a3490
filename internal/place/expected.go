package place

import (
	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/explain"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/model"
)

// Fits says where pods fit on what is there or on its way: those that wait, and those that kube-scheduler has not looked
// at yet. Pools are not asked: nothing is bought. It is worked out anew from each picture, so that no memory of earlier
// plans is needed. O(waiting pods × nodes).
func Fits(w model.World) []answer.Nomination {
	w = w.Indexed()
	pods := alike.Waiting(&w)
	for p := range w.Index.Unbound().All() {
		if p.Unjudged() { // who is listed already, like those who wait, counts once
			pods = append(pods, p)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	w.Pools = nil
	return decide(Input{World: w, spent: new(int)}, pods).Existing
}

// Expected names the nodes on which pods are about to land, of what fits (Fits). Such a node is not empty in any sense that
// matters, although no pod is bound to it.
func Expected(fits []answer.Nomination) map[string]bool {
	out := map[string]bool{}
	for _, f := range fits {
		if f.Node != "" {
			out[f.Node] = true
		}
	}
	return out
}

// OptionsOrWhy is offer.Options that also says, when there are none, which constraint took the last offering away.
func OptionsOrWhy(claim model.Claim, cat model.Catalog) ([]answer.Option, answer.Refusal) {
	if out := offer.Options(claim, cat); len(out) > 0 {
		return out, answer.Refusal{}
	}
	return nil, explain.NoOptions(claim, cat)
}

// Waiting lists the pods that need a place: those that wait for a node we could buy, those that will (see siblings), and those whose node is leaving.
// The latter are left out while nothing may move them (do-not-disrupt, or a disruption budget that allows nobody to
// go): a machine bought for them would stand empty, be removed, and be bought again.
func Waiting(w model.World) []model.Pod {
	var out []model.Pod
	w = w.Indexed()
	for _, p := range alike.Waiting(&w) {
		out = append(out, *p)
	}
	return out
}

func pointers(list []model.Pod) []*model.Pod {
	out := make([]*model.Pod, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
