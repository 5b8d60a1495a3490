package meter

// Library is a metric that a library counts by itself, or that a library which we use has registered.
type Library struct {
	Name    string
	Kind    Kind
	Labels  string
	Profile Profile
	From    string
	Help    string
}

// Libraries lists what comes from libraries; the metrics of the Go runtime and of the process, go_…
// and process_…, come beside them.
func Libraries() []Library {
	return []Library{
		{"leader_election_master_status", Gauge, "name", Lean, "controller-runtime",
			"1 in the process that leads; name is that of the lease."},
		{"client_go_request_total", Counter, "code method", Standard, "operatorpkg",
			"Requests to the API server, by the status of the answer."},
		{"client_go_request_duration_seconds", Histogram, "verb group version kind subresource",
			Standard, "operatorpkg", "Time of requests to the API server."},
	}
}

// FromLibraries names those of them that are in controller-runtime's registry.
func FromLibraries() []string { return []string{"leader_election_master_status"} }

// Absent is a metric that users may ask for and that there is not, with the reason.
type Absent struct{ Names, Why string }

// Without lists what there is not.
func Without() []Absent {
	const p, c, v = "karpenter_", "controller_runtime_", "karpenter_voluntary_disruption_"
	return []Absent{
		{v + "consolidation_timeouts_total", "looks at nodes are bounded by work, not by time: " +
			"none " +
			"of them times out"},
		{p + "consolidation_score, " + p + "consolidation_moves_total", "they are of the " +
			"evaluator " +
			"of the policy Balanced; here moves are weighed by what they save"},
		{p + "nodepools_cost_tracker_errors_total", "the cost of a NodePool is worked out anew " +
			"each " +
			"time, from what is offered; there is no account that could be wrong"},
		{p + "pods_disruption_initiated_total", "no release of Karpenter has it"},
		{p + "cloudprovider_instance_launch_failures_total", "of AWS; here " +
			"karpenter_instance_vm_create_failure_total"},
		{c + "reconcile_timeouts_total, " + c + "terminal_reconcile_errors_total", "steps have " +
			"no " +
			"time of their own to run out, and none is given up: what failed is tried again"},
		{"rest_client_requests_total", "client_go_request_total says it; Karpenter registers " +
			"this " +
			"one, and it stays empty"},
		{"leader_election_slowpath_total", "its library does not register it"},
		{"label cluster of karpenter_nodes_…", "it would hide the cluster that Prometheus names"},
		{"labels instance_memory, instance_cpu, instance_network_bandwidth of karpenter_nodes_…",
			"of AWS; here sku_memory and sku_cpu"},
		{"event ConsolidationApproved of Nodes, NodeClaims and NodePools",
			"of the policy Balanced"},
		{"reason RegistrationHookPending of Registered", "nothing has a say before a node may " +
			"join"},
		{"reason DRADriverPoolsNotPublished of Initialized", "pods that claim devices are not " +
			"provisioned for"},
		{"reason ClusterConfigDrift of Drifted", "of machines of an agent pool, which are not " +
			"bought here"},
		{"reason KubernetesUpgrade of ImagesReady", "one look sees the new version and its images"},
		{"reason DiskEncryptionSetRBACMissing of ValidationSucceeded", "Azure says so of the " +
			"first machine; karpenter doctor does before"},
		{"reason CheckingClusterRequirementsFailed of LocalDNSReady", "nothing of the cluster is " +
			"asked for it"},
		{"conditions of Nodes other than Ready and those that say a node does not work or is " +
			"taken " +
			"away", "nothing is decided by them, and kube-state-metrics has them"},
	}
}
