package meter

import "slices"

// nodeLabels are the labels of metrics about nodes, with the labels of nodes that their values come
// from. Two keys that end alike would be one label: the karpenter.azure.com one counts. The label
// "cluster" is not among them: where Prometheus gives its targets a label of that name, dashboards
// would filter by the wrong one.
func nodeLabels() [][2]string {
	const k, a, s = "karpenter.azure.com/", "kubernetes.azure.com/", "karpenter.azure.com/sku-"
	return [][2]string{
		{"nodepool", "karpenter.sh/nodepool"}, {"zone", "topology.kubernetes.io/zone"},
		{"region", "topology.kubernetes.io/region"},
		{"instance_type", "node.kubernetes.io/instance-type"}, {"arch", "kubernetes.io/arch"},
		{"os", "kubernetes.io/os"}, {"capacity_type", "karpenter.sh/capacity-type"},
		{"windows_build", "node.kubernetes.io/windows-build"},
		{"sku_name", s + "name"}, {"sku_family", s + "family"}, {"sku_series", s + "series"},
		{"sku_version", s + "version"}, {"sku_cpu", s + "cpu"}, {"sku_memory", s + "memory"},
		{"sku_networking_accelerated", s + "networking-accelerated"},
		{"sku_storage_premium_capable", s + "storage-premium-capable"},
		{"sku_storage_ephemeralos_maxsize", s + "storage-ephemeralos-maxsize"},
		{"sku_storage_ultra_ssd", s + "storage-ultra-ssd"}, {"sku_gpu_name", s + "gpu-name"},
		{"sku_gpu_manufacturer", s + "gpu-manufacturer"}, {"sku_gpu_count", s + "gpu-count"},
		{"placement_scope", k + "placement-scope"}, {"mode", a + "mode"},
		{"scalesetpriority", a + "scalesetpriority"}, {"priority", a + "priority"},
		{"os_sku", a + "os-sku"}, {"fips_enabled", a + "fips_enabled"},
	}
}

// ofNode are the labels of metrics about nodes, in the order of nodeLabels.
func ofNode() string {
	out := ""
	for _, l := range nodeLabels() {
		out += l[0] + " "
	}
	return out + "node_name phase managed"
}

// Seen lists the metrics that are read from the cluster as it is when they are asked for.
func Seen() []Metric {
	return slices.Concat(seenNodes(), seenPools(), seenPods(), seenConditions())
}

func seenNodes() []Metric {
	const p, all = "karpenter_nodes_", " resource_type"
	return []Metric{
		{Name: p + "allocatable", Kind: Gauge, Labels: ofNode() + all, Profile: Lean, State: true,
			Help: "What nodes have for pods, those of nobody's NodePool, too."},
		{Name: p + "total_pod_requests", Kind: Gauge, Labels: ofNode() + all, Profile: Lean,
			State: true, Help: "What pods on them ask for, those of DaemonSets included."},
		{Name: p + "total_daemon_requests", Kind: Gauge, Labels: ofNode() + all, Profile: Lean,
			State: true, Help: "The part of DaemonSets in it."},
		{Name: p + "total_pod_limits", Kind: Gauge, Labels: ofNode() + all, Profile: Standard,
			State: true, Help: "Limits of the pods on them, where they have some (cpu, memory)."},
		{Name: p + "total_daemon_limits", Kind: Gauge, Labels: ofNode() + all, Profile: Standard,
			State: true, Help: "The part of DaemonSets in it."},
		{Name: p + "system_overhead", Kind: Gauge, Labels: ofNode() + all, Profile: Standard,
			State: true, Help: "What nodes keep for themselves: capacity less allocatable."},
		{Name: p + "current_lifetime_seconds", Kind: Gauge, Labels: ofNode(), Unit: seconds,
			Profile: Standard, State: true, Help: "Age of nodes."},
		{Name: "karpenter_cluster_utilization_percent", Kind: Gauge, Labels: "resource_type",
			Unit: "percent", Profile: Standard, State: true,
			Help: "What pods on all nodes ask for, of what all nodes have for pods."},
		{Name: "karpenter_cluster_state_node_count", Kind: Gauge, Profile: Lean,
			Help: "Nodes that the controller knows of."},
		{Name: "karpenter_cluster_state_synced", Kind: Gauge, Profile: Lean,
			Help: "1 when the picture of the cluster is whole."},
		{Name: "karpenter_cluster_state_unsynced_time_seconds", Kind: Gauge, Unit: seconds,
			Profile: Lean, Help: "For how long it has not been; 0 when it is."},
	}
}

func seenPools() []Metric {
	const p, i = "karpenter_nodepools_", "karpenter_cloudprovider_instance_type_"
	return []Metric{
		{Name: p + "limit", Kind: Gauge, Labels: "nodepool resource_type", Profile: Lean,
			State: true, Help: "Limits of NodePools."},
		{Name: p + "usage", Kind: Gauge, Labels: "nodepool resource_type", Profile: Lean,
			State: true, Help: "What the nodes of NodePools add up to, as their status says."},
		{Name: p + "cost_total", Kind: Gauge, Labels: "nodepool", Unit: dollars, Profile: Lean,
			State: true,
			Help:  "What the machines of NodePools cost, as offered now; overlays count."},
		{Name: p + "allowed_disruptions", Kind: Gauge, Labels: "nodepool reason", Profile: Lean,
			Help: "How many nodes budgets let leave at the same time, those that do included."},
		{Name: p + "nodes_consuming_budgets", Kind: Gauge, Labels: "nodepool reason", Profile: Lean,
			Help: "Nodes that leave or are not ready, and so count against budgets."},
		{Name: "karpenter_voluntary_disruption_eligible_nodes", Kind: Gauge, Labels: "reason",
			Profile: Lean, Help: "Nodes that may be looked at for the reason: conditions say so."},
		{Name: i + "offering_price_estimate", Kind: Gauge, Unit: dollars, Profile: Lean,
			Labels: "instance_type capacity_type zone",
			Help:   "Prices of the types in use (full: of all)."},
		{Name: i + "offering_available", Kind: Gauge, Labels: "instance_type capacity_type zone",
			Profile: Full, Help: "1 where it may be had, 0 where it is sold out."},
		{Name: i + "cpu_cores", Kind: Gauge, Labels: "instance_type", Profile: Full,
			Help: "Cores of the types that are sold."},
		{Name: i + "memory_bytes", Kind: Gauge, Labels: "instance_type", Unit: "bytes",
			Profile: Full, Help: "Memory of the types that are sold."},
	}
}

func seenPods() []Metric {
	const p = "karpenter_pods_"
	return []Metric{
		{Name: p + "state", Kind: Gauge, Profile: Lean, State: true,
			Labels: "name namespace owner node scheduled nodepool zone arch capacity_type " +
				"instance_type phase ready managed",
			Help: "Pods of the cluster, counted by all labels but name, owner and node (full: " +
				"1 for each)."},
		{Name: p + "unstarted_time_seconds", Kind: Gauge, Labels: "name namespace", Unit: seconds,
			Profile: Standard, State: true,
			Help: "Age of pods that are not ready, of the oldest that had to wait for a node."},
		{Name: p + "unbound_time_seconds", Kind: Gauge, Labels: "name namespace", Unit: seconds,
			Profile: Standard, State: true, Help: "Age of the oldest pods without a node."},
		{Name: p + "provisioning_unstarted_time_seconds", Kind: Gauge, Labels: "name namespace",
			Unit: seconds, Profile: Standard, State: true,
			Help: "Since the first plan that had a place for them, of those that are not ready."},
		{Name: p + "provisioning_unbound_time_seconds", Kind: Gauge, Labels: "name namespace",
			Unit: seconds, Profile: Standard, State: true,
			Help: "Since the first plan that had a place for them, of those without a node."},
		{Name: p + "provisioning_scheduling_undecided_time_seconds", Kind: Gauge, Unit: seconds,
			Labels: "name namespace", Profile: Standard, State: true,
			Help: "Since they were first seen, of those that no plan has decided about."},
		{Name: "karpenter_scheduler_pending_pods_by_effective_zone_count", Kind: Gauge,
			Labels: "controller zone", Profile: Lean,
			Help: "Pods waiting for a node by the one zone that they ask for; flexible, or none."},
	}
}

func seenConditions() []Metric { return ofKinds(holding) }

func holding(f naming) []Metric {
	const labels = "namespace name type status reason"
	return []Metric{
		{Name: f.prefix + "status_condition_count", Kind: Gauge, Profile: f.profile, State: true,
			Labels: f.before + labels + f.extra,
			Help:   "1 for each condition of " + f.of + " as it is."},
		{Name: f.prefix + "status_condition_current_status_seconds", Kind: Gauge, Unit: seconds,
			Labels: f.before + labels + f.extra, Profile: max(f.profile, Standard), State: true,
			Help: "For how long conditions of " + f.of + " have been what they are."},
		{Name: f.prefix + "termination_current_time_seconds", Kind: Gauge, Unit: seconds,
			Labels: f.before + "namespace name" + f.extra, Profile: f.profile, State: true,
			Help: "For how long " + f.of + " that are deleted have been."},
	}
}
