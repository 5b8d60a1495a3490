package observe

import (
	"cmp"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/internal/meter"
)

// Metrics are what is counted as things are done. Each has its row in package meter, which says what it is.
type Metrics struct {
	set *meter.Set

	scheduling, passSeconds, cloudSeconds, evaluation    *prometheus.HistogramVec
	claimTermination, instanceTermination, nodeLifetime  *prometheus.HistogramVec
	nodeTermination                                      *prometheus.SummaryVec
	unfinished                                           *unfinished
	queueDepth, unschedulable                            *prometheus.GaugeVec
	ignored                                              prometheus.Gauge
	planRefused, planCut, watchLost                      prometheus.Counter
	claimsCreated, claimsDisrupted, claimsTerminated     *prometheus.CounterVec
	nodesCreated, nodesTerminated, nodesDrained          *prometheus.CounterVec
	launchStarts, launchFailures, noImages, plansKept    *prometheus.CounterVec
	cloudErrors, evictions, podsDrained, orphans         *prometheus.CounterVec
	decisions, decisionsByPool, invalid, queueFailures   *prometheus.CounterVec
	notices, unhealthy                                   *prometheus.CounterVec
	noticesHeeded                                        prometheus.Counter
	noticeAge                                            prometheus.Observer
	unreadable, unserved, pruned                         *prometheus.GaugeVec
	paused, driftFailures                                *prometheus.GaugeVec
	observedNodes, observedSavings                       *prometheus.GaugeVec
	restPrice, restBound                                 prometheus.Gauge
	restGap                                              *prometheus.GaugeVec
	startup                                              prometheus.Observer
	bound, provisionedBound, provisionedStartup, decided prometheus.Observer
	passes, passErrors, panics                           *prometheus.CounterVec
	adds, retries                                        *prometheus.CounterVec
	most                                                 *prometheus.GaugeVec
	loads                                                *loads
	queueSeconds, workSeconds                            *prometheus.HistogramVec
	queueSecondsToo, workSecondsToo                      *prometheus.HistogramVec // under the names that well-known dashboards ask for
	transitions                                          map[string]*prometheus.CounterVec
	transitionSeconds, terminations                      map[string]*prometheus.HistogramVec
}

// NewMetrics makes the metrics and registers those that are served. It fails when a name is taken in reg.
func NewMetrics(reg prometheus.Registerer, o meter.Options) (*Metrics, error) {
	s := meter.NewSet(reg, o)
	m := &Metrics{set: s}
	m.ofNodes(s)
	m.ofPods(s)
	m.ofPlans(s)
	m.ofDisruption(s)
	m.ofCloud(s)
	m.ofLoops(s)
	m.ofState(s)
	s.Gauge("karpenter_build_info").WithLabelValues(o.Version, runtime.Version(), runtime.GOARCH, cmp.Or(o.Commit, o.Version)).Set(1)
	return m, s.Err()
}

func (m *Metrics) ofNodes(s *meter.Set) {
	m.claimsCreated = s.Counter("karpenter_nodeclaims_created_total")
	m.claimsDisrupted = s.Counter("karpenter_nodeclaims_disrupted_total")
	m.claimsTerminated = s.Counter("karpenter_nodeclaims_terminated_total")
	m.claimTermination = s.Histogram("karpenter_nodeclaims_termination_duration_seconds")
	m.instanceTermination = s.Histogram("karpenter_nodeclaims_instance_termination_duration_seconds")
	m.unhealthy = s.Counter("karpenter_nodeclaims_unhealthy_disrupted_total")
	m.nodesCreated = s.Counter("karpenter_nodes_created_total")
	m.nodesTerminated = s.Counter("karpenter_nodes_terminated_total")
	m.nodesDrained = s.Counter("karpenter_nodes_drained_total")
	m.nodeTermination = s.Summary("karpenter_nodes_termination_duration_seconds")
	m.nodeLifetime = s.Histogram("karpenter_nodes_lifetime_duration_seconds")
	m.orphans = s.Counter("karpenter_orphans_removed_total")
}

func (m *Metrics) ofPods(s *meter.Set) {
	m.evictions = s.Counter("karpenter_pods_eviction_requests_total")
	m.podsDrained = s.Counter("karpenter_pods_drained_total")
	m.startup = s.Summary("karpenter_pods_startup_duration_seconds").WithLabelValues()
	m.bound = s.Histogram("karpenter_pods_bound_duration_seconds").WithLabelValues()
	m.provisionedBound = s.Histogram("karpenter_pods_provisioning_bound_duration_seconds").WithLabelValues()
	m.provisionedStartup = s.Histogram("karpenter_pods_provisioning_startup_duration_seconds").WithLabelValues()
	m.decided = s.Histogram("karpenter_pods_scheduling_decision_duration_seconds").WithLabelValues()
}

func (m *Metrics) ofPlans(s *meter.Set) {
	m.scheduling = s.Histogram("karpenter_scheduler_scheduling_duration_seconds")
	m.queueDepth = s.Gauge("karpenter_scheduler_queue_depth")
	m.unschedulable = s.Gauge("karpenter_scheduler_unschedulable_pods_count")
	m.ignored = s.Gauge("karpenter_scheduler_ignored_pods_count").WithLabelValues()
	m.planRefused = s.Counter("karpenter_scheduler_refused_plans_total").WithLabelValues()
	m.planCut = s.Counter("karpenter_scheduler_plans_cut_short_total").WithLabelValues()
	m.plansKept = s.Counter("karpenter_scheduler_refused_plans_kept_total")
	const name = "karpenter_scheduler_unfinished_work_seconds"
	m.unfinished = newUnfinished(s.Desc(name))
	if s.Serves(name) {
		s.Register(m.unfinished)
	}
	m.queueDepth.WithLabelValues(ofProvisioner, "").Set(0)
	m.unschedulable.WithLabelValues(ofProvisioner).Set(0)
	m.scheduling.WithLabelValues(ofProvisioner)
}

func (m *Metrics) ofDisruption(s *meter.Set) {
	const p = "karpenter_voluntary_disruption_"
	m.evaluation = s.Histogram(p + "decision_evaluation_duration_seconds")
	m.decisions = s.Counter(p + "decisions_total")
	m.decisionsByPool = s.Counter(p + "decisions_by_nodepool_total")
	m.invalid = s.Counter(p + "failed_validations_total")
	m.queueFailures = s.Counter(p + "queue_failures_total")
	m.observedNodes = s.Gauge(p + "observed_nodes")
	m.observedSavings = s.Gauge(p + "observed_savings")
	m.paused = s.Gauge("karpenter_nodepools_paused")
	m.driftFailures = s.Gauge("karpenter_nodepools_drift_failures")
	m.restPrice = s.Gauge("karpenter_cluster_price_dollars_per_hour").WithLabelValues()
	m.restBound = s.Gauge("karpenter_cluster_bound_dollars_per_hour").WithLabelValues()
	m.restGap = s.Gauge("karpenter_cluster_gap_dollars_per_hour")
	m.notices = s.Counter("karpenter_interruption_received_messages_total")
	m.noticesHeeded = s.Counter("karpenter_interruption_deleted_messages_total").WithLabelValues()
	m.noticeAge = s.Histogram("karpenter_interruption_message_queue_duration_seconds").WithLabelValues()
	// What can be there is there from the start: the first increase of a counter that was not is lost to whoever asks for increases.
	for _, kind := range []string{noticeSpot, noticeChange} {
		m.notices.WithLabelValues(kind)
	}
	for _, kind := range []string{kindEmpty, kindSingle, kindMulti} {
		m.invalid.WithLabelValues(kind)
	}
	for _, d := range [][3]string{{"delete", "empty", kindEmpty}, {"delete", "underutilized", kindSingle}, {"replace", "underutilized", kindSingle},
		{"delete", "underutilized", kindMulti}, {"replace", "underutilized", kindMulti}, {"delete", "drifted", ""}, {"replace", "drifted", ""}} {
		m.decisions.WithLabelValues(d[:]...)
		if d[0] == "replace" {
			m.queueFailures.WithLabelValues(d[:]...)
		}
	}
	m.evaluation.WithLabelValues("", "")
}

func (m *Metrics) ofCloud(s *meter.Set) {
	m.cloudSeconds = s.Histogram("karpenter_cloudprovider_duration_seconds")
	m.cloudErrors = s.Counter("karpenter_cloudprovider_errors_total")
	m.launchStarts = s.Counter("karpenter_instance_vm_create_start_total")
	m.launchFailures = s.Counter("karpenter_instance_vm_create_failure_total")
	m.noImages = s.Counter("karpenter_image_selection_error_count")
	for method, controller := range methods() {
		m.cloudErrors.WithLabelValues(controller, method, provider, "")
	}
}

func (m *Metrics) ofLoops(s *meter.Set) {
	const c, q = "controller_runtime_", "workqueue_"
	m.passes = s.Counter(c + "reconcile_total")
	m.passErrors = s.Counter(c + "reconcile_errors_total")
	m.panics = s.Counter(c + "reconcile_panics_total")
	m.passSeconds = s.Histogram(c + "reconcile_time_seconds")
	m.most = s.Gauge(c + "max_concurrent_reconciles")
	m.adds = s.Counter(q + "adds_total")
	m.retries = s.Counter(q + "retries_total")
	m.loads = newLoads(s)
	m.queueSeconds = s.Histogram(q + "queue_duration_seconds")
	m.workSeconds = s.Histogram(q + "work_duration_seconds")
	m.queueSecondsToo = s.Histogram("karpenter_" + q + "queue_duration_seconds")
	m.workSecondsToo = s.Histogram("karpenter_" + q + "work_duration_seconds")
}

func (m *Metrics) ofState(s *meter.Set) {
	const p = "karpenter_cluster_state_"
	m.watchLost = s.Counter(p + "watches_lost_total").WithLabelValues()
	m.unreadable = s.Gauge(p + "unreadable_object")
	m.unserved = s.Gauge(p + "unserved_kind")
	m.pruned = s.Gauge(p + "pruned_field")
	m.transitions = map[string]*prometheus.CounterVec{}
	m.transitionSeconds, m.terminations = map[string]*prometheus.HistogramVec{}, map[string]*prometheus.HistogramVec{}
	words := []string{""} // that of the older names
	for _, k := range meter.Kinds() {
		words = append(words, k.Word+"_")
	}
	for _, w := range words {
		m.transitions[w] = s.Counter("operator_" + w + "status_condition_transitions_total")
		m.transitionSeconds[w] = s.Histogram("operator_" + w + "status_condition_transition_seconds")
		m.terminations[w] = s.Histogram("operator_" + w + "termination_duration_seconds")
	}
}

// ofPool has counters of a pool there before anything happens in it: the first increase of one that was not is lost to whoever asks for
// increases.
func (m *Metrics) ofPool(pool string) {
	m.claimsCreated.WithLabelValues("provisioned", pool, "false")
	m.claimTermination.WithLabelValues(pool)
	m.nodesDrained.WithLabelValues(pool)
}
