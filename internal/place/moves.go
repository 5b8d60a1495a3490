package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

// Moves returns what AnnotationPods should say on claims from now on, by claim: pods that were planned for one claim and go to another, because
// kube-scheduler gave their room to others, are listed there. Claims about which nothing changes are not in it. O(pods).
func Moves(w model.World, p answer.Plan) map[string]string {
	lists, at := map[string][]model.PodKey{}, map[model.PodKey]string{}
	claimOf := map[string]string{} // by node
	byProvider := map[string]string{}
	for _, c := range w.Claims {
		if c.Deleting() {
			continue
		}
		lists[c.Name] = planned.Pods(c)
		if c.ProviderID != "" {
			byProvider[c.ProviderID] = c.Name
		}
	}
	for _, n := range w.Nodes {
		if c, ok := byProvider[n.ProviderID]; ok {
			claimOf[n.Name] = c
		}
	}
	newest := slices.SortedStableFunc(slices.Values(w.Claims), func(a, b model.Claim) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(b.Name, a.Name))
	})
	for _, c := range newest {
		for _, k := range lists[c.Name] {
			at[k] = c.Name
		}
	}
	changed := map[string]bool{}
	for _, f := range p.Existing {
		from, was := at[f.Pod]
		to := cmp.Or(f.Claim, claimOf[f.Node])
		if !was || to == "" || from == to {
			continue
		}
		lists[from] = slices.DeleteFunc(slices.Clone(lists[from]), func(k model.PodKey) bool { return k == f.Pod })
		if lists[to] = slices.Clone(lists[to]); !slices.Contains(lists[to], f.Pod) {
			lists[to] = append(lists[to], f.Pod)
		}
		changed[from], changed[to] = true, true
	}
	out := make(map[string]string, len(changed))
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		out[name] = planned.Text(lists[name])
	}
	return out
}
