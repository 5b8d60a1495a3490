package observe

import (
	"iter"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/model"
)

// provider is the cloud as metrics name it.
const provider = "azure"

// The controllers of plans and of disruption, as users know them.
const (
	ofProvisioner = "provisioner"
	ofDisruption  = "disruption"
)

// controllerOf is how users know a loop: by the controller that did the same, where there is one.
func controllerOf(loop string) string {
	switch loop {
	case "provision":
		return ofProvisioner
	case "disrupt", "move":
		return ofDisruption
	case "claims":
		return "nodeclaim.lifecycle"
	case "drain":
		return "node.termination"
	case "classes":
		return "nodeclass.status"
	case "pools":
		return "nodepool.readiness"
	case "podevents":
		return "nodeclaim.podevents"
	case "sweep":
		return "instance.garbagecollection"
	case "static":
		return "static.provisioning"
	case "overlays":
		return "nodeoverlay"
	case "buffers":
		return "capacitybuffer"
	}
	return loop
}

// Call is a question to the cloud, or an order.
type Call string

// The calls, as metrics name their methods.
const (
	CallCreate    Call = "Create"
	CallDelete    Call = "Delete"
	CallGet       Call = "Get"
	CallList      Call = "List"
	CallOfferings Call = "GetInstanceTypes"
	CallInspect   Call = "Inspect"
	CallStrays    Call = "ListStrays"
)

// methods yields each method and who calls it.
func methods() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, c := range []Call{CallCreate, CallDelete, CallGet, CallList, CallOfferings, CallInspect, CallStrays} {
			if !yield(string(c), caller(c)) {
				return
			}
		}
	}
}

func caller(c Call) string {
	switch c {
	case CallCreate:
		return "nodeclaim.lifecycle"
	case CallDelete:
		return "nodeclaim.termination"
	case CallInspect:
		return "nodeclass.status"
	case CallOfferings:
		return "catalog"
	case CallStrays:
		return "instance.garbagecollection"
	}
	return "instances"
}

// Called notes a call of the cloud, how long it took and how it ended.
func (r *Recorder) Called(c Call, took time.Duration, err error) {
	r.metrics.cloudSeconds.WithLabelValues(caller(c), string(c), provider).Observe(took.Seconds())
	if err != nil {
		r.metrics.cloudErrors.WithLabelValues(caller(c), string(c), provider, errorWord(err)).Inc()
	}
}

// errorWord is how users know a refusal; "" for those that they know no word for.
func errorWord(err error) string {
	switch cloud.CodeOf(err) {
	case cloud.NoCapacity, cloud.Quota:
		return "InsufficientCapacityError"
	case cloud.NotFound:
		return "NodeClaimNotFoundError"
	}
	return ""
}

// NoImages counts a look at a class that found no image.
func (r *Recorder) NoImages(c model.Class) {
	family := ""
	if c.Azure != nil {
		family = c.Azure.ImageFamily
	}
	r.metrics.noImages.WithLabelValues(family).Inc()
}

// Looked notes a look of a loop.
func (r *Recorder) Looked(loop string, took time.Duration) {
	c := controllerOf(loop)
	r.metrics.passes.WithLabelValues(c, "requeue_after").Inc()
	r.metrics.passSeconds.WithLabelValues(c).Observe(took.Seconds())
}

// Judged notes a look at which nodes may leave.
func (r *Recorder) Judged(took time.Duration) {
	r.metrics.scheduling.WithLabelValues(ofDisruption).Observe(took.Seconds())
	r.metrics.evaluation.WithLabelValues("", "").Observe(took.Seconds())
}

// Steps are the steps of one kind, for counting.
type Steps struct {
	r    *Recorder
	name string
}

// Load is what a kind of steps comes to at one moment.
type Load struct {
	Busy, Waiting    int
	Together, Oldest time.Duration // how long those under way have been: added up, and the oldest
}

// Steps returns the counters of steps of that name, of which so many may be under way; now is asked whenever somebody looks.
func (r *Recorder) Steps(loop string, most int, now func() Load) *Steps {
	c := controllerOf(loop)
	r.metrics.most.WithLabelValues(c).Set(float64(most))
	for _, result := range []string{"success", "error"} {
		r.metrics.passes.WithLabelValues(c, result)
	}
	r.metrics.passErrors.WithLabelValues(c)
	r.metrics.panics.WithLabelValues(c)
	r.metrics.loads.add(c, now)
	return &Steps{r, c}
}

// Begun notes a step that had waited for a worker for so long.
func (s *Steps) Begun(waited time.Duration) {
	s.r.metrics.adds.WithLabelValues(s.name, s.name).Inc()
	s.r.metrics.queueSeconds.WithLabelValues(s.name, s.name).Observe(waited.Seconds())
	s.r.metrics.queueSecondsToo.WithLabelValues(s.name, s.name).Observe(waited.Seconds())
}

// Ended notes the end of a step.
func (s *Steps) Ended(took time.Duration, failed bool) {
	result := "success"
	if failed {
		result = "error"
		s.r.metrics.passErrors.WithLabelValues(s.name).Inc()
		s.r.metrics.retries.WithLabelValues(s.name, s.name).Inc()
	}
	s.r.metrics.passes.WithLabelValues(s.name, result).Inc()
	s.r.metrics.passSeconds.WithLabelValues(s.name).Observe(took.Seconds())
	s.r.metrics.workSeconds.WithLabelValues(s.name, s.name).Observe(took.Seconds())
	s.r.metrics.workSecondsToo.WithLabelValues(s.name, s.name).Observe(took.Seconds())
}

// loads tells, when it is asked, what steps are under way.
type loads struct {
	set   *meter.Set
	descs map[string]*prometheus.Desc

	mu sync.Mutex // guards the field below
	of map[string]func() Load
}

func newLoads(s *meter.Set) *loads {
	l := &loads{set: s, descs: map[string]*prometheus.Desc{}, of: map[string]func() Load{}}
	for _, name := range []string{"controller_runtime_active_workers", "workqueue_depth", "karpenter_workqueue_depth", "workqueue_unfinished_work_seconds",
		"workqueue_longest_running_processor_seconds"} {
		d := s.Desc(name)
		if s.Serves(name) {
			l.descs[name] = d
		}
	}
	s.Register(l)
	return l
}

func (l *loads) add(name string, now func() Load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[name] = now
}

// Describe implements prometheus.Collector.
func (l *loads) Describe(to chan<- *prometheus.Desc) {
	for _, d := range l.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (l *loads) Collect(to chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, now := range l.of {
		x := now()
		l.tell(to, "controller_runtime_active_workers", float64(x.Busy), name)
		l.tell(to, "workqueue_depth", float64(x.Waiting), name, name, "")
		l.tell(to, "karpenter_workqueue_depth", float64(x.Waiting), name, name, "")
		l.tell(to, "workqueue_unfinished_work_seconds", x.Together.Seconds(), name, name)
		l.tell(to, "workqueue_longest_running_processor_seconds", x.Oldest.Seconds(), name, name)
	}
}

func (l *loads) tell(to chan<- prometheus.Metric, name string, value float64, labels ...string) {
	if d := l.descs[name]; d != nil {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
}
