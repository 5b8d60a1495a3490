package alike

import (
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/model"
)

// Leavers names the nodes on their way out: they are being deleted, or the claim that they were bought with is. The world has an index.
func Leavers(w *model.World) map[string]bool {
	type key struct{}
	return w.Index.Memo(key{}, func() any {
		leaving := map[string]bool{}
		byProvider := map[string]bool{}
		for i := range w.Claims {
			if c := &w.Claims[i]; c.Deleting() {
				leaving[c.NodeName] = c.NodeName != ""
				byProvider[c.ProviderID] = c.ProviderID != ""
			}
		}
		for i := range w.Nodes {
			if n := &w.Nodes[i]; n.Deleting() || byProvider[n.ProviderID] {
				leaving[n.Name] = true
			}
		}
		return leaving
	}).(map[string]bool)
}

// Waiting lists the pods that need a place: those that wait for a node we could buy, those that will (see siblings), and
// those whose node is leaving. The latter are left out while nothing may move them (do-not-disrupt, or a disruption budget
// that allows nobody to go): a machine bought for them would stand empty, be removed, and be bought again. Where the cloud takes
// the machine away, all of its pods go whatever protects them. The world has an index. O(unbound pods + pods of leaving nodes).
func Waiting(w *model.World) []*model.Pod {
	leaving := Leavers(w)
	var stuck map[model.PodKey]bool
	if len(leaving) > 0 {
		stuck = unmovable(w)
	}
	soon := siblings(w)
	var out []*model.Pod
	for p := range w.Index.Unbound().All() {
		if p.Provisionable() || soon(p) {
			out = append(out, p)
		}
	}
	for _, node := range slices.Sorted(maps.Keys(leaving)) {
		n := w.Index.Node(node)
		anyway := n != nil && outage.Interrupted(n)
		for _, p := range w.Index.On(node).Pods {
			if leaving[node] && p.Reschedulable() &&
				(anyway || p.Deleting() || p.DoNotDisrupt != "true" && !stuck[p.Key()]) {
				out = append(out, p)
			}
		}
	}
	if len(leaving) > 0 {
		slices.SortStableFunc(out, model.ComparePods)
	}
	return out
}

// unmovable lists pods that a disruption budget keeps where they are.
func unmovable(w *model.World) map[model.PodKey]bool {
	stuck := map[model.PodKey]bool{}
	for _, b := range w.PDBs {
		if b.Allowed > 0 {
			continue
		}
		for _, k := range b.Pods {
			if stuck[k] {
				continue
			}
			p := w.Index.Pod(k)
			stuck[k] = !b.AlwaysAllowUnready || p != nil && p.PodReady
		}
	}
	return stuck
}
