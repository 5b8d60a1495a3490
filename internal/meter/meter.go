// Package meter answers: which metrics, events and conditions are there?
//
// Its tables have one row for each: name, type, labels and what it says. Metrics are registered from
// them, and the page of the manual is written from them. A profile says how much of it is served; Of
// reads from a picture of the cluster what metrics about its objects say. The package decides
// nothing, and counts nothing by itself: who does things counts them.
package meter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Kind is how the values of a metric are to be read.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
	Summary   Kind = "summary"
)

// Profile says how much is served; each has all of the one before.
type Profile int

// The profiles. Lean has a handful of series for a node, Standard some dozens, Full a hundred and
// one for each pod.
const (
	Lean Profile = iota + 1
	Standard
	Full
)

// String prints the profile as people write it.
func (p Profile) String() string {
	return [...]string{"", "lean", "standard", "full"}[p]
}

// ParseProfile reads what String prints; false for anything else.
func ParseProfile(s string) (Profile, bool) {
	for p := Lean; p <= Full; p++ {
		if p.String() == s {
			return p, true
		}
	}
	return 0, false
}

// Metric is a row of the table.
type Metric struct {
	Name    string
	Kind    Kind
	Labels  string // separated by blanks, in the order in which values are given
	Unit    string // "" = a count, or 1 for something that is so
	Profile Profile
	// State marks what is about the cluster's objects as they are: people may leave it out as a whole.
	State bool
	// Buckets of a histogram.
	Buckets Buckets
	// Own marks a metric that is only here.
	Own  bool
	Help string
}

// Names lists the labels.
func (m Metric) Names() []string { return strings.Fields(m.Labels) }

// Options say what is served. The zero value serves Standard.
type Options struct {
	Profile Profile
	// NoState leaves out what is about the cluster's objects as they are.
	NoState bool
	// Version and Commit of the program.
	Version, Commit string
}

// Set makes metrics by the rows of their names, and registers those that are served. Others are made
// all the same, so that who counts need not ask. Asking for a name that is in no table panics.
type Set struct {
	reg    prometheus.Registerer
	opt    Options
	rows   map[string]Metric
	made   map[string]bool
	failed error
}

// NewSet returns a set that registers with reg.
func NewSet(reg prometheus.Registerer, o Options) *Set {
	if o.Profile == 0 {
		o.Profile = Standard
	}
	s := &Set{reg: reg, opt: o, rows: map[string]Metric{}, made: map[string]bool{}}
	for _, m := range slices.Concat(Counted(), Seen()) {
		s.rows[m.Name] = m
	}
	return s
}

// Profile is the one that is served.
func (s *Set) Profile() Profile { return s.opt.Profile }

// Err is the first registration that failed; nil when none did.
func (s *Set) Err() error { return s.failed }

// Left lists the names of the rows of metrics that somebody is to count and that were not asked for.
func (s *Set) Left() []string {
	var out []string
	for _, m := range Counted() {
		if !s.made[m.Name] {
			out = append(out, m.Name)
		}
	}
	return out
}

// Serves reports whether the metric of that name is served.
func (s *Set) Serves(name string) bool {
	m := s.row(name)
	return m.Profile <= s.opt.Profile && !(m.State && s.opt.NoState)
}

func (s *Set) row(name string) Metric {
	m, ok := s.rows[name]
	if !ok {
		panic("no table has a metric " + name)
	}
	s.made[name] = true
	return m
}

// Register has a collector served, of which the caller says that it collects what Serves allows.
func (s *Set) Register(c prometheus.Collector) {
	err := s.reg.Register(c)
	if err != nil && s.failed == nil {
		s.failed = fmt.Errorf("register a metric: %w", err)
	}
}

func (s *Set) add(m Metric, c prometheus.Collector) {
	if s.Serves(m.Name) {
		s.Register(c)
	}
}

// Counter makes the counter of that name.
func (s *Set) Counter(name string) *prometheus.CounterVec {
	m := s.row(name)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Names())
	s.add(m, v)
	return v
}

// Gauge makes the gauge of that name.
func (s *Set) Gauge(name string) *prometheus.GaugeVec {
	m := s.row(name)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Names())
	s.add(m, v)
	return v
}

// Histogram makes the histogram of that name.
func (s *Set) Histogram(name string) *prometheus.HistogramVec {
	m := s.row(name)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.Name, Help: m.Help, Buckets: m.Buckets.bounds(),
	}, m.Names())
	s.add(m, v)
	return v
}

// Summary makes the summary of that name.
func (s *Set) Summary(name string) *prometheus.SummaryVec {
	m := s.row(name)
	const near = 0.01
	v := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Name: m.Name, Help: m.Help,
		Objectives: map[float64]float64{0: near, 0.5: near, 0.9: near, 0.95: near, 0.99: 0.001,
			1: near},
	}, m.Names())
	s.add(m, v)
	return v
}

// Desc describes the metric of that name for a collector that makes it itself.
func (s *Set) Desc(name string) *prometheus.Desc {
	m := s.row(name)
	return prometheus.NewDesc(m.Name, m.Help, m.Names(), nil)
}

// Buckets names the bounds of a histogram. They are those that users' queries know.
type Buckets string

// The bounds: seconds of work, of leaving, of lives, of conditions; of calls; of passes; of queues.
const (
	ofWork       Buckets = "work"
	ofEnds       Buckets = "ends"
	ofInstances  Buckets = "instances"
	ofLives      Buckets = "lives"
	ofConditions Buckets = "conditions"
	ofCalls      Buckets = "calls"
	ofPasses     Buckets = "passes"
	ofQueues     Buckets = "queues"
)

func (b Buckets) bounds() []float64 {
	switch b {
	case ofWork:
		return work(600)
	case ofPasses:
		return work(60)
	case ofEnds:
		return prometheus.ExponentialBuckets(1, 2, 12)
	case ofInstances:
		return prometheus.ExponentialBuckets(1, 2, 11)
	case ofConditions:
		return prometheus.ExponentialBuckets(0.5, 2, 15)
	case ofQueues:
		return prometheus.ExponentialBuckets(1e-8, 10, 12)
	case ofLives:
		const m, h, d = 60, 3600, 86400
		return []float64{15 * m, 30 * m, 45 * m, h, 2 * h, 4 * h, 6 * h, 8 * h, 10 * h, 12 * h,
			16 * h, 20 * h, d, 2 * d, 3 * d, 5 * d, 10 * d, 15 * d, 20 * d, 25 * d, 30 * d}
	}
	return prometheus.DefBuckets
}

// work are bounds that are close where most values are, up to the last.
func work(last float64) []float64 {
	all := []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
		0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10,
		15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600}
	return slices.DeleteFunc(all, func(x float64) bool { return x > last })
}
