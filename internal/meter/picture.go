package meter

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/model"
)

// Sight is where pictures come from.
type Sight struct {
	World  func() model.World
	Synced func() bool
	// Leads reports whether this process acts: of several, only that one tells.
	Leads func() bool
	Now   func() time.Time
}

// Of registers the metrics that are read from a picture of the cluster whenever they are asked for:
// nothing is told of what is gone. A collection costs O(pods + what is served).
func (s *Set) Of(x Sight) {
	p := &picture{set: s, see: x, families: map[string]*family{}}
	for _, m := range Seen() {
		if !s.Serves(m.Name) || elsewhere(m.Name) {
			continue
		}
		p.families[m.Name] = s.family(m.Name)
	}
	s.Register(p)
}

// elsewhere reports whether a metric is not read from a picture alone: who follows pods and deletions
// knows since when they wait.
func elsewhere(name string) bool {
	return strings.HasPrefix(name, "karpenter_pods_") && strings.HasSuffix(name, "_time_seconds") ||
		strings.HasSuffix(name, "_termination_current_time_seconds")
}

// picture is the collector.
type picture struct {
	set      *Set
	see      Sight
	families map[string]*family

	mu    sync.Mutex // guards the field below
	whole time.Time  // when the picture was last whole; zero before the first time
}

// Describe implements prometheus.Collector.
func (p *picture) Describe(to chan<- *prometheus.Desc) {
	for _, f := range p.families {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (p *picture) Collect(to chan<- prometheus.Metric) {
	if !p.see.Leads() {
		return
	}
	w := p.see.World().Indexed()
	v := &view{picture: p, to: to, w: &w, now: p.see.Now()}
	p.synced(v)
	v.nodes()
	v.pools()
	v.prices()
	v.pods()
	v.conditions()
}

// synced tells whether the picture is whole, and for how long it has not been.
func (p *picture) synced(v *view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole, since := 0.0, 0.0
	switch {
	case p.see.Synced():
		p.whole, whole = v.now, 1
	case p.whole.IsZero():
		p.whole = v.now // counted from the first time that somebody asks
	default:
		since = v.now.Sub(p.whole).Seconds()
	}
	v.tell("karpenter_cluster_state_synced", whole)
	v.tell("karpenter_cluster_state_unsynced_time_seconds", max(0, since))
}

// view is one collection.
type view struct {
	*picture
	to  chan<- prometheus.Metric
	w   *model.World
	now time.Time
}

// tell tells a value, if the metric is served.
func (v *view) tell(name string, value float64, labels ...string) {
	f := v.families[name]
	if f != nil {
		v.to <- f.of(value, labels...)
	}
}

// resourceLabel writes a resource as label values have it: ephemeral_storage.
func resourceLabel(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}

// amount converts a column to what metrics show: cores, bytes, counts.
func amount(resource string, v int64) float64 {
	if resource == model.ResourceCPU {
		return float64(v) / 1000
	}
	return float64(v)
}

func boolean(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
