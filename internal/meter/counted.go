package meter

import (
	"cmp"
	"slices"
	"strings"
)

const (
	seconds = "seconds"
	dollars = "dollars per hour"
)

// Counted lists the metrics that the loops count as they do things.
func Counted() []Metric {
	return slices.Concat(claimsAndNodes(), podsCounted(), planning(), disruption(), cloudCalls(),
		loops(), ownState(), transitions())
}

func claimsAndNodes() []Metric {
	const p = "karpenter_"
	return []Metric{
		{Name: p + "build_info", Kind: Gauge, Labels: "version goversion goarch " +
			"commit", Profile: Lean,
			Help: "1, with what was built and by what."},
		{Name: p + "nodeclaims_created_total", Kind: Counter, Profile: Lean,
			Labels: "reason nodepool min_values_relaxed",
			Help:   "NodeClaims written: reason provisioned, or why what they replace leaves."},
		{Name: p + "nodeclaims_terminated_total", Kind: Counter, Profile: Lean,
			Labels: "nodepool capacity_type zone",
			Help:   "NodeClaims gone with their machines."},
		{Name: p + "nodeclaims_disrupted_total", Kind: Counter, Profile: Lean,
			Labels: "reason nodepool capacity_type",
			Help:   "NodeClaims that the controller deleted, by why."},
		{Name: p + "nodeclaims_unhealthy_disrupted_total", Kind: Counter, Profile: Lean,
			Labels: "condition nodepool capacity_type image_id",
			Help:   "NodeClaims deleted because of a condition of their node."},
		{Name: p + "nodeclaims_instance_termination_duration_seconds", Kind: Histogram,
			Labels: "nodepool", Unit: seconds, Profile: Lean, Buckets: ofInstances,
			Help: "From asking the cloud to end a machine until it had none."},
		{Name: p + "nodeclaims_termination_duration_seconds", Kind: Histogram,
			Labels: "nodepool", Unit: seconds, Profile: Lean, Buckets: ofEnds,
			Help: "From a NodeClaim's deletion until nothing of it was left."},
		{Name: p + "nodes_created_total", Kind: Counter, Labels: "nodepool zone", Profile: Lean,
			Help: "Nodes that joined and were registered."},
		{Name: p + "nodes_terminated_total", Kind: Counter, Labels: "nodepool zone", Profile: Lean,
			Help: "Nodes let go, drained and with their volumes detached."},
		{Name: p + "nodes_drained_total", Kind: Counter, Labels: "nodepool", Profile: Lean,
			Help: "Nodes that no pod had to leave any more."},
		{Name: p + "nodes_termination_duration_seconds", Kind: Summary,
			Labels: "nodepool", Unit: seconds, Profile: Lean,
			Help: "From a Node's deletion until it was let go."},
		{Name: p + "nodes_lifetime_duration_seconds", Kind: Histogram,
			Labels: "nodepool", Unit: seconds, Profile: Lean, Buckets: ofLives,
			Help: "Age of Nodes when they were let go."},
		{Name: p + "orphans_removed_total", Kind: Counter, Labels: "kind", Profile: Lean, Own: true,
			Help: "Things in Azure or the cluster that belonged to no NodeClaim and were removed."},
	}
}

func podsCounted() []Metric {
	const p = "karpenter_pods_"
	return []Metric{
		{Name: p + "eviction_requests_total", Kind: Counter, Labels: "code", Profile: Lean,
			Help: "Evictions asked for, by the HTTP status of the answer."},
		{Name: p + "drained_total", Kind: Counter, Labels: "reason", Profile: Lean,
			Help: "Pods that left because their node does, by why it does."},
		{Name: p + "startup_duration_seconds", Kind: Summary, Unit: seconds, Profile: Lean,
			Help: "From a pod's creation until it was ready, of pods that had to wait for a node."},
		{Name: p + "bound_duration_seconds", Kind: Histogram, Unit: seconds, Profile: Lean,
			Buckets: ofWork, Help: "From a pod's creation until it had a node."},
		{Name: p + "provisioning_bound_duration_seconds", Kind: Histogram, Unit: seconds,
			Profile: Lean, Buckets: ofWork,
			Help: "From the first plan that had a place for a pod until it had a node."},
		{Name: p + "provisioning_startup_duration_seconds", Kind: Histogram, Unit: seconds,
			Profile: Lean, Buckets: ofWork,
			Help: "From the first plan that had a place for a pod until it was ready."},
		{Name: p + "scheduling_decision_duration_seconds", Kind: Histogram, Unit: seconds,
			Profile: Lean, Buckets: ofWork,
			Help: "From first seeing a pod until the first plan that decided about it."},
	}
}

func planning() []Metric {
	const p = "karpenter_scheduler_"
	return []Metric{
		{Name: p + "scheduling_duration_seconds", Kind: Histogram, Labels: "controller",
			Unit: seconds, Profile: Lean, Buckets: ofWork,
			Help: "Time spent on one plan (provisioner), or on judging nodes with pods " +
				"(disruption)."},
		{Name: p + "queue_depth", Kind: Gauge, Labels: "controller scheduling_id", Profile: Lean,
			Help: "Pods waiting to be planned for."},
		{Name: p + "unfinished_work_seconds", Kind: Gauge, Labels: "controller scheduling_id",
			Unit: seconds, Profile: Lean,
			Help: "What the plan in the making has taken so far; nothing while none is being " +
				"made."},
		{Name: p + "ignored_pods_count", Kind: Gauge, Profile: Lean,
			Help: "Pods that ask not to run on nodes of NodePools."},
		{Name: p + "unschedulable_pods_count", Kind: Gauge, Labels: "controller", Profile: Lean,
			Help: "Pods that the last plan had no place for."},
		{Name: p + "plans_cut_short_total", Kind: Counter, Profile: Lean, Own: true,
			Help: "Plans cut short at the work limit; the pods left over are planned for apart."},
		{Name: p + "refused_plans_total", Kind: Counter, Profile: Lean, Own: true,
			Help: "Plans that the controller's own audit refused: its defects, and not carried " +
				"out."},
		{Name: p + "refused_plans_kept_total", Kind: Counter, Labels: "result", Profile: Lean,
			Own: true, Help: "Pictures of refused plans that were written down, or could not be."},
	}
}

func disruption() []Metric {
	const p = "karpenter_voluntary_disruption_"
	return []Metric{
		{Name: p + "decision_evaluation_duration_seconds", Kind: Histogram, Unit: seconds,
			Labels: "reason consolidation_type", Profile: Lean, Buckets: ofWork,
			Help: "Time of one look at which nodes may leave. Reasons are judged together: no " +
				"reason."},
		{Name: p + "decisions_total", Kind: Counter, Labels: "decision reason consolidation_type",
			Profile: Lean, Help: "Decisions that nodes leave: delete, or replace."},
		{Name: p + "decisions_by_nodepool_total", Kind: Counter, Profile: Lean,
			Labels: "decision reason consolidation_type nodepool",
			Help:   "The same, once for each NodePool whose nodes leave by it."},
		{Name: p + "failed_validations_total", Kind: Counter, Labels: "consolidation_type",
			Profile: Lean, Help: "Nodes that stay after all: their move was not right any more."},
		{Name: p + "queue_failures_total", Kind: Counter, Profile: Lean,
			Labels: "decision reason consolidation_type",
			Help:   "Replacements that did not come."},
		{Name: p + "observed_nodes", Kind: Gauge, Labels: "nodepool " +
			"reason", Profile: Lean, Own: true,
			Help: "Nodes that would begin to leave now, if their NodePool were not only observed."},
		{Name: p + "observed_savings", Kind: Gauge, Labels: "nodepool reason", Unit: dollars,
			Profile: Lean, Own: true,
			Help: "What this would save; below 0 where what is right costs more."},
		{Name: "karpenter_nodepools_paused", Kind: Gauge, Labels: "nodepool " +
			"activity", Profile: Lean,
			Own: true, Help: "1 for each thing of a NodePool that is on hold, or observe."},
		{Name: "karpenter_nodepools_drift_failures", Kind: Gauge, Labels: "nodepool", Profile: Lean,
			Own: true, Help: "Replacements of drifted nodes in a row that did not come."},
		{Name: "karpenter_cluster_price_dollars_per_hour", Kind: Gauge, Unit: dollars,
			Profile: Lean,
			Own:     true, Help: "What nodes of NodePools cost, when nothing was worth moving."},
		{Name: "karpenter_cluster_bound_dollars_per_hour", Kind: Gauge, Unit: dollars,
			Profile: Lean,
			Own:     true, Help: "What no machines for their pods can cost less than."},
		{Name: "karpenter_cluster_gap_dollars_per_hour", Kind: Gauge, Labels: "reason",
			Unit:    dollars,
			Profile: Lean, Own: true, Help: "Price less bound, by what keeps the nodes."},
		{Name: "karpenter_interruption_received_messages_total", Kind: Counter,
			Labels: "message_type", Profile: Standard,
			Help: "Notices that the cloud takes a machine away: spot_interrupted, " +
				"scheduled_change."},
		{Name: "karpenter_interruption_deleted_messages_total", Kind: Counter, Profile: Standard,
			Help: "Notices that were acted upon."},
		{Name: "karpenter_interruption_message_queue_duration_seconds", Kind: Histogram,
			Unit: seconds, Profile: Standard, Buckets: ofWork,
			Help: "From a notice until it was acted upon."},
	}
}

func cloudCalls() []Metric {
	return []Metric{
		{Name: "karpenter_cloudprovider_duration_seconds", Kind: Histogram, Unit: seconds,
			Labels: "controller method provider", Profile: Lean, Buckets: ofCalls,
			Help: "Time of one question to the cloud, or order."},
		{Name: "karpenter_cloudprovider_errors_total", Kind: Counter, Profile: Lean,
			Labels: "controller method provider error",
			Help:   "Refusals of the cloud; no error where it is none of those that users know."},
		{Name: "karpenter_instance_vm_create_start_total", Kind: Counter, Profile: Lean,
			Labels: "image size zone capacity_type nodepool", Help: "Machines asked for."},
		{Name: "karpenter_instance_vm_create_failure_total", Kind: Counter, Profile: Lean,
			Labels: "image size zone capacity_type nodepool phase error_code",
			Help: "Machines refused at once (sync), or accepted and then not made " +
				"(async), by the cloud's own code; UnknownError when it gave none."},
		{Name: "karpenter_image_selection_error_count", Kind: Counter, Labels: "family",
			Profile: Lean, Help: "Looks at a class that found no image for its family."},
	}
}

func loops() []Metric {
	const c, q = "controller_runtime_", "workqueue_"
	return []Metric{
		{Name: c + "reconcile_total", Kind: Counter, Labels: "controller result", Profile: Lean,
			Help: "Looks of a loop (requeue_after), and steps for one object (success, error)."},
		{Name: c + "reconcile_errors_total", Kind: Counter, Labels: "controller", Profile: Lean,
			Help: "Steps that failed, and are tried again."},
		{Name: c + "reconcile_panics_total", Kind: Counter, Labels: "controller", Profile: Lean,
			Help: "Panics that were survived: defects."},
		{Name: c + "reconcile_time_seconds", Kind: Histogram, Labels: "controller", Unit: seconds,
			Profile: Standard, Buckets: ofPasses, Help: "Time of one look or step."},
		{Name: c + "active_workers", Kind: Gauge, Labels: "controller", Profile: Standard,
			Help: "Steps under way."},
		{Name: c + "max_concurrent_reconciles", Kind: Gauge, Labels: "controller",
			Profile: Standard,
			Help:    "Steps that may be under way at the same time."},
		{Name: q + "depth", Kind: Gauge, Labels: "name controller priority", Profile: Standard,
			Help: "Steps that are due and wait for a worker."},
		{Name: q + "adds_total", Kind: Counter, Labels: "name controller", Profile: Standard,
			Help: "Steps that were begun."},
		{Name: q + "retries_total", Kind: Counter, Labels: "name controller", Profile: Standard,
			Help: "Steps that failed, and are tried again."},
		{Name: q + "unfinished_work_seconds", Kind: Gauge, Labels: "name controller", Unit: seconds,
			Profile: Standard, Help: "What the steps under way have taken so far, added up."},
		{Name: q + "longest_running_processor_seconds", Kind: Gauge, Labels: "name controller",
			Unit: seconds, Profile: Standard,
			Help: "What the oldest step under way has taken so far."},
		{Name: q + "queue_duration_seconds", Kind: Histogram, Labels: "name controller",
			Unit: seconds, Profile: Standard, Buckets: ofQueues,
			Help: "How long steps that were due waited for a worker."},
		{Name: q + "work_duration_seconds", Kind: Histogram, Labels: "name controller",
			Unit: seconds, Profile: Standard, Buckets: ofQueues, Help: "Time of one step."},
		{Name: "karpenter_" + q + "depth", Kind: Gauge, Labels: "name controller priority",
			Profile: Standard, Help: "workqueue_depth, as well-known dashboards ask for it."},
		{Name: "karpenter_" + q + "queue_duration_seconds", Kind: Histogram, Unit: seconds,
			Labels: "name controller", Profile: Standard, Buckets: ofQueues,
			Help: "workqueue_queue_duration_seconds, as well-known dashboards ask for it."},
		{Name: "karpenter_" + q + "work_duration_seconds", Kind: Histogram, Unit: seconds,
			Labels: "name controller", Profile: Standard, Buckets: ofQueues,
			Help: "workqueue_work_duration_seconds, as well-known dashboards ask for it."},
	}
}

func ownState() []Metric {
	const p = "karpenter_cluster_state_"
	return []Metric{
		{Name: p + "watches_lost_total", Kind: Counter, Profile: Lean, Own: true,
			Help: "Broken watches of the API server."},
		{Name: p + "unreadable_object", Kind: Gauge, Labels: "kind name", Profile: Lean, Own: true,
			Help: "1 for each object that is set aside because a value in it cannot be read."},
		{Name: p + "unserved_kind", Kind: Gauge, Labels: "resource", Profile: Lean, Own: true,
			Help: "1 for each kind that a feature gate asks for and the API server does not " +
				"serve."},
		{Name: p + "pruned_field", Kind: Gauge, Labels: "kind field", Profile: Lean, Own: true,
			Help: "1 for each field that the API server does not keep, because its CRD is older."},
	}
}

// Kinds are the objects whose conditions are counted, by the word in names of metrics, with the
// labels that users know beside the others.
func Kinds() []ObjectKind {
	const ofClaim = " karpenter_azure_com_aksnodeclass karpenter_sh_nodepool"
	const core = "karpenter.sh"
	return []ObjectKind{
		{Word: "nodeclaim", Kind: "NodeClaim", Extra: ofClaim, Profile: Standard, Twin: core},
		{Word: "nodepool", Kind: "NodePool", Profile: Lean, Twin: core},
		{Word: "node", Kind: "Node", Extra: ofClaim + " " +
			"karpenter_sh_initialized", Profile: Standard},
		{Word: "aksnodeclass", Kind: "AKSNodeClass", Profile: Lean, Bounds: ofCalls},
		{Word: "capacitybuffer", Kind: "CapacityBuffer", Profile: Standard,
			Twin: "autoscaling.x-k8s.io"},
	}
}

// ObjectKind is one kind of objects with conditions.
type ObjectKind struct {
	Word, Kind, Extra string
	// Profile of what there is for each object.
	Profile Profile
	// Twin is the API group of a kind that has the older names, too, that are the same for all kinds;
	// "" = it has not.
	Twin string
	// Bounds of its histograms; "" = those of conditions.
	Bounds Buckets
}

func transitions() []Metric { return ofKinds(changes) }

// naming is how metrics of one kind of objects with conditions are called: how their names begin, of what
// they are, and their labels before and behind those that all have.
type naming struct {
	prefix, of, before, extra string
	profile                   Profile
	bounds                    Buckets
}

// ofKinds lists metrics of each kind of objects with conditions, and the older ones that are the same for all kinds.
func ofKinds(list func(naming) []Metric) []Metric {
	var out []Metric
	for _, k := range Kinds() {
		out = append(out, list(naming{"operator_" + k.Word + "_", plural(k.Kind), "", k.Extra,
			k.Profile, cmp.Or(k.Bounds, ofConditions)})...)
	}
	return append(out, list(naming{"operator_", "NodeClaims, NodePools and CapacityBuffers",
		"group kind ", "", Full, ofCalls})...)
}

func plural(kind string) string {
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}

func changes(f naming) []Metric {
	profile := max(f.profile, Standard)
	return []Metric{
		{Name: f.prefix + "status_condition_transitions_total", Kind: Counter,
			Profile: profile, State: true,
			Labels: f.before + "type status reason" + f.extra,
			Help:   "Conditions of " + f.of + " that changed, by what they became."},
		{Name: f.prefix + "status_condition_transition_seconds", Kind: Histogram, Unit: seconds,
			Labels: f.before + "type status" + f.extra, Profile: profile, State: true,
			Buckets: f.bounds,
			Help:    "How long conditions of " + f.of + " were what they ceased to be."},
		{Name: f.prefix + "termination_duration_seconds", Kind: Histogram, Unit: seconds,
			Labels: f.before + f.extra, Profile: profile, State: true, Buckets: f.bounds,
			Help: "From the deletion of " + f.of + " until they were gone."},
	}
}
