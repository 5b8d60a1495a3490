package meter

import (
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/karpenter-aks/karpenter/model"
)

// resources are those that are told of nodes.
func (v *view) resources(n *model.Node) []string {
	switch v.set.Profile() {
	case Lean:
		return []string{model.ResourceCPU, model.ResourceMemory}
	case Standard:
		return []string{model.ResourceCPU, model.ResourceMemory, model.ResourcePods}
	}
	return n.Capacity.Max(n.Allocatable).Names()
}

// load is what pods on one node come to.
type load struct{ used, daemons, limits, daemonLimits model.Resources }

func loadOf(on model.NodePods) load {
	out := load{used: on.Used, daemons: on.Daemons}
	for _, p := range on.Pods {
		if p.Terminal || p.Limits == nil {
			continue
		}
		limits := model.Resources{CPU: p.Limits.CPU, Memory: p.Limits.Memory}
		out.limits = out.limits.Add(limits)
		if p.DaemonSet {
			out.daemonLimits = out.daemonLimits.Add(limits)
		}
	}
	return out
}

func (v *view) nodes() {
	v.tell("karpenter_cluster_state_node_count", float64(len(v.w.Nodes)))
	var have, asked model.Resources
	names := append(labelNames(), "node_name", "phase", "managed")
	for i := range v.w.Nodes {
		n := &v.w.Nodes[i]
		there := loadOf(v.w.Index.On(n.Name))
		have, asked = have.Add(n.Allocatable), asked.Add(there.used)
		v.node(n, pairs(names, nodeValues(n)), there)
	}
	for _, r := range have.Names() {
		share := float64(asked.Get(r)) / float64(have.Get(r))
		v.tell("karpenter_cluster_utilization_percent", 100*share, resourceLabel(r))
	}
}

func labelNames() []string {
	var out []string
	for _, l := range nodeLabels() {
		out = append(out, l[0])
	}
	return out
}

// nodeValues are the values of the labels of ofNode.
func nodeValues(n *model.Node) []string {
	var out []string
	for _, l := range nodeLabels() {
		out = append(out, n.Labels[l[1]])
	}
	return append(out, n.Name, "", boolean(n.Managed()))
}

// node tells of one node. Zero is told of what pods may ask for: that nobody does is news as well.
func (v *view) node(n *model.Node, labels []*dto.LabelPair, there load) {
	const p = "karpenter_nodes_"
	v.share(p+"current_lifetime_seconds", v.now.Sub(n.Created).Seconds(), labels)
	limited := []string{model.ResourceCPU, model.ResourceMemory}
	for _, r := range v.resources(n) {
		all := with(labels, "resource_type", resourceLabel(r))
		v.share(p+"allocatable", amount(r, n.Allocatable.Get(r)), all)
		v.share(p+"total_pod_requests", amount(r, there.used.Get(r)), all)
		v.share(p+"total_daemon_requests", amount(r, there.daemons.Get(r)), all)
		kept := n.Capacity.Get(r) - n.Allocatable.Get(r)
		v.share(p+"system_overhead", amount(r, max(0, kept)), all)
		if slices.Contains(limited, r) {
			v.share(p+"total_pod_limits", amount(r, there.limits.Get(r)), all)
			v.share(p+"total_daemon_limits", amount(r, there.daemonLimits.Get(r)), all)
		}
	}
}

// share tells a value with labels that other metrics have, too.
func (v *view) share(name string, value float64, labels []*dto.LabelPair) {
	f := v.families[name]
	if f != nil {
		v.to <- f.shared(value, labels)
	}
}
