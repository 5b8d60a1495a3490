package observe

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// unfinished tells, when it is asked, how long the plan that is being made has taken so far. Nothing is told while none is being made, as
// Karpenter does it.
type unfinished struct {
	desc  *prometheus.Desc
	mu    sync.Mutex
	plans int       // how many were begun
	since time.Time // zero while none is being made
}

func newUnfinished(d *prometheus.Desc) *unfinished { return &unfinished{desc: d} }

// Describe implements prometheus.Collector.
func (u *unfinished) Describe(to chan<- *prometheus.Desc) { to <- u.desc }

// Collect implements prometheus.Collector.
func (u *unfinished) Collect(to chan<- prometheus.Metric) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.since.IsZero() {
		to <- prometheus.MustNewConstMetric(u.desc, prometheus.GaugeValue, time.Since(u.since).Seconds(), ofProvisioner, strconv.Itoa(u.plans))
	}
}

func (u *unfinished) set(since time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since = since; !since.IsZero() {
		u.plans++
	}
}

// Planning notes that a plan is begun; the result has to be called when it is there.
func (r *Recorder) Planning(now time.Time) (done func()) {
	r.metrics.unfinished.set(now)
	return func() { r.metrics.unfinished.set(time.Time{}) }
}

// PlanTakesLong tells, while a plan is still being made, that pods wait for it.
func (r *Recorder) PlanTakesLong(pools []model.Pool, pods int, took time.Duration) {
	for _, p := range pools {
		r.say(p, kube.Warning, "PlanTakesLong", "A plan for %d pods has been in the making for %s; nothing is bought before it is there", pods, took)
	}
	r.log.Info("a plan takes long", "pods", pods, "so far", took.String())
}
