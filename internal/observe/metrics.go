package observe

import "github.com/prometheus/client_golang/prometheus"

// Metrics are our counters and gauges. Names and labels are those that dashboards of Karpenter users query today; the
// ones that are only ours are marked.
type Metrics struct {
	planSeconds                                        prometheus.Histogram
	unfinished                                         *unfinished
	queueDepth, unschedulable, ignored                 prometheus.Gauge
	planRefused, planCut, watchLost                    prometheus.Counter
	panics                                             *prometheus.CounterVec
	claimsCreated, claimsDisrupted, claimsTerminated   *prometheus.CounterVec
	claimTermination                                   *prometheus.HistogramVec
	nodesCreated, nodesTerminated, nodesDrained        *prometheus.CounterVec
	launchStarts, launchFailures, plansKept            *prometheus.CounterVec
	cloudErrors, evictions, decisions, orphans         *prometheus.CounterVec
	poolLimit, poolUsage, unreadable, unserved, pruned *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them. It fails when a name is taken in reg.
func NewMetrics(reg prometheus.Registerer, version string) (*Metrics, error) {
	var all []prometheus.Collector
	counter := func(sub, name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "karpenter", Subsystem: sub, Name: name, Help: help}, labels)
		all = append(all, c)
		return c
	}
	gauge := func(sub, name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "karpenter", Subsystem: sub, Name: name, Help: help}, labels)
		all = append(all, g)
		return g
	}
	histogram := func(sub, name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "karpenter", Subsystem: sub, Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 20)}, labels)
		all = append(all, h)
		return h
	}
	m := &Metrics{
		claimsCreated:    counter("nodeclaims", "created_total", "NodeClaims created, by NodePool and reason.", "nodepool", "reason"),
		claimsDisrupted:  counter("nodeclaims", "disrupted_total", "NodeClaims deleted by the controller, by NodePool and reason.", "nodepool", "reason"),
		claimsTerminated: counter("nodeclaims", "terminated_total", "NodeClaims gone with their machines, by NodePool.", "nodepool"),
		claimTermination: histogram("nodeclaims", "termination_duration_seconds", "Seconds from a NodeClaim's deletion until nothing of it was left.", "nodepool"),
		nodesCreated:     counter("nodes", "created_total", "Nodes registered, by NodePool.", "nodepool"),
		nodesTerminated:  counter("nodes", "terminated_total", "Nodes let go, by NodePool.", "nodepool"),
		nodesDrained:     counter("nodes", "drained_total", "Nodes drained, by NodePool.", "nodepool"),
		launchStarts:     counter("instance", "vm_create_start_total", "Machines asked for.", "image", "size", "zone", "capacity_type", "nodepool"),
		launchFailures: counter("instance", "vm_create_failure_total", "Machines refused, by phase and error code.",
			"image", "size", "zone", "capacity_type", "nodepool", "phase", "error_code"),
		plansKept:   counter("scheduler", "refused_plans_kept_total", "Refused plans whose picture was written down, or could not be (only here).", "result"),
		cloudErrors: counter("cloudprovider", "errors_total", "Refusals of the cloud, by method and error code.", "method", "error"),
		evictions:   counter("pods", "eviction_requests_total", "Evictions asked for, by the API server's answer.", "code"),
		decisions:   counter("voluntary_disruption", "decisions_total", "Decisions to disrupt, by decision, reason and kind of consolidation.", "decision", "reason", "consolidation_type"),
		orphans:     counter("orphans", "removed_total", "Things that belonged to no claim and were removed (only here).", "kind"),
		poolLimit:   gauge("nodepools", "limit", "Limit of a NodePool, by resource.", "nodepool", "resource_type"),
		unreadable: gauge("cluster_state", "unreadable_object", "1 for each object that is set aside because a value in it cannot be read (only here).",
			"kind", "name"),
		unserved: gauge("cluster_state", "unserved_kind", "1 for each kind that a feature gate asks for and the API server does not serve (only here).", "resource"),
		pruned: gauge("cluster_state", "pruned_field", "1 for each field of a kind that the API server does not keep, because the CRD of the cluster is older than this version (only here).",
			"kind", "field"),
		poolUsage: gauge("nodepools", "usage", "What a NodePool's nodes add up to, by resource.", "nodepool", "resource_type"),
	}
	// The name is the one under which every controller made with controller-runtime counts them, and alerts ask for them.
	m.panics = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "controller_runtime_reconcile_panics_total", Help: "Panics, by controller: defects of ours that were survived."}, []string{"controller"})
	all = append(all, m.panics)
	m.planSeconds = histogram("scheduler", "scheduling_duration_seconds", "Seconds spent on one plan.").WithLabelValues().(prometheus.Histogram)
	m.unfinished = newUnfinished()
	all = append(all, m.unfinished)
	m.queueDepth = gauge("scheduler", "queue_depth", "Pods waiting to be planned for.").WithLabelValues()
	m.unschedulable = gauge("scheduler", "unschedulable_pods_count", "Pods that no pool can take.").WithLabelValues()
	m.ignored = gauge("scheduler", "ignored_pods_count", "Pods that ask not to run on our nodes.").WithLabelValues()
	m.planRefused = counter("scheduler", "refused_plans_total", "Plans refused by our own audit (only here).").WithLabelValues()
	m.planCut = counter("scheduler", "plans_cut_short_total", "Plans that were cut short at the work limit (only here).").WithLabelValues()
	m.watchLost = counter("cluster_state", "watches_lost_total", "Broken watches of the API server (only here).").WithLabelValues()
	gauge("", "build_info", "Version of the controller.", "version").WithLabelValues(version).Set(1)
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
