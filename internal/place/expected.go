package place

import "github.com/karpenter-aks/karpenter/model"

// Expected names the nodes on which pods are about to land: pods that wait and fit there, and pods that kube-scheduler has
// not looked at yet. Such a node is not empty in any sense that matters, although no pod is bound to it. It is worked out
// anew from each picture, so that no memory of earlier plans is needed. O(waiting pods × nodes), nothing is bought.
func Expected(w model.World) map[string]bool {
	w = w.Indexed()
	pods := Waiting(w)
	for p := range w.Index.Unbound().All() {
		if p.Unjudged() {
			pods = append(pods, *p)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	w.Pools = nil // no pools: only what is there is asked
	out := map[string]bool{}
	for _, f := range Decide(Input{World: w, Pods: pods}).Existing {
		if f.Node != "" {
			out[f.Node] = true
		}
	}
	return out
}

// OptionsOrWhy is offer.Options that also says, when there are none, which constraint took the last offering away.
func OptionsOrWhy(claim model.Claim, cat model.Catalog) ([]Option, Refusal) {
	if out := Options(claim, cat); len(out) > 0 {
		return out, Refusal{}
	}
	return nil, NoOptions(claim, cat)
}
