package judge

import (
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Evicted is the picture in which the pods that a plan speaks of run nowhere any more: those of nodes that are leaving are evicted or end already, and what
// takes their place waits like any other pod. All others count where they are, until they are gone.
func Evicted(w model.World, spoken func(model.PodKey) bool) model.World {
	w.Pods = slices.Clone(w.Pods)
	for i := range w.Pods {
		if p := &w.Pods[i]; p.Node != "" && spoken(p.Key()) {
			p.Node, p.DeletedAt = "", time.Time{}
		}
	}
	return w
}

// Leaving names the nodes on their way out: they are being deleted, or the claim that they were bought with is.
func Leaving(w model.World) map[string]bool {
	out, claims := map[string]bool{}, map[string]bool{}
	for _, c := range w.Claims {
		if c.Deleting() && c.ProviderID != "" {
			claims[c.ProviderID] = true
		}
		if c.Deleting() && c.NodeName != "" {
			out[c.NodeName] = true
		}
	}
	for _, n := range w.Nodes {
		if n.Deleting() || claims[n.ProviderID] {
			out[n.Name] = true
		}
	}
	return out
}

// closed gives the nodes that we let go the taint that they all get first, so that they take nobody who does not tolerate it.
func closed(w model.World, gone map[string]bool) model.World {
	w.Nodes = slices.Clone(w.Nodes)
	for i := range w.Nodes {
		if n := &w.Nodes[i]; gone[n.Name] && n.Managed() && !n.HasTaint(model.TaintDisrupted) {
			n.Taints = append(slices.Clone(n.Taints), model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
		}
	}
	return w
}

// without is the picture when the nodes and all that still ran there are gone.
func without(w model.World, gone map[string]bool) model.World {
	w.Nodes = slices.DeleteFunc(slices.Clone(w.Nodes), func(n model.Node) bool { return gone[n.Name] })
	w.Pods = slices.DeleteFunc(slices.Clone(w.Pods), func(p model.Pod) bool { return gone[p.Node] })
	return w
}
