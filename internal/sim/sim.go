// Package sim answers: what would the whole autoscaler do, over hours, with faults?
//
// It runs the real loops and the real deciders against the twins of the cluster and the cloud, with small stand-ins for
// what is around them: a scheduler that binds pods, a deployment that keeps its replicas, machines that boot and join.
// Time is virtual (testing/synctest), so hours pass in milliseconds and every run of a story is the same. It speaks no
// wire protocol; the lab does.
package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// Config says what world a story plays in. The zero value is a cloud with the small catalogue that boots in 20 seconds.
type Config struct {
	Cloud    memcloud.Config
	Settings control.Settings
	// Join is how long a running machine takes to register its node, Settle how long the node then takes to be ready
	// and rid of its startup taints. Defaults 5 s and 3 s.
	Join, Settle time.Duration
	// JoinSpread is how much later some machines join than others, at most.
	JoinSpread time.Duration
	// Rand, when given, draws how much later, and the order in which the scheduler looks at pods; by name otherwise.
	Rand *rand.Rand
	// Queue lets the scheduler put pods aside that it tried in vain, as kube-scheduler does; off, all are tried all the time.
	Queue bool
	// Shuffle has it try pods in any order; otherwise as they were made, important ones first, as its queue has it.
	Shuffle bool
	// Pace is how many pods the scheduler tries in a tenth of a second, at most; 0 = all.
	Pace int
	// Tick is how often what is around the controller moves on, and invariants are looked at. Default a tenth of a second.
	Tick time.Duration
	// Lazy leaves out what is around the controller for up to ten seconds where nothing happened. Stories with a judge do so always.
	Lazy bool
	// Warm is how long a pod takes from its node to being ready.
	Warm time.Duration
	// Admit changes the pods of daemons when they are made, as webhooks and LimitRanges do; nil = nobody does.
	Admit func(*model.Pod)
	// Decide makes the plans instead of the engine; nil = the engine.
	Decide func(place.Input) place.Plan
	// Refused is told of plans that the audit refused; nil = nobody.
	Refused func(evidence.Case)
}

// Sim is a running story. Its methods are called from the story's own goroutine.
type Sim struct {
	t     testing.TB
	cfg   Config
	Store *memkube.Store
	Cloud *memcloud.Cloud
	queue queue
	// deaf stops the scheduler: it tries nobody.
	deaf atomic.Bool
	// lists and looks count how often the controller listed the cloud's machines, and looked at one.
	lists, looks atomic.Int64
	// writes counts what the controller asked the cluster and the cloud to change.
	writes atomic.Int64
	// moved counts pods that the controller asked to leave.
	moved atomic.Int64
	// clock is how far, in nanoseconds, the controller's clock is ahead.
	clock atomic.Int64
	// lateness is what machines' delays are drawn from.
	lateness uint64
	// judge looks whether all is as it should be; nil = only the invariants of check.
	judge *judge

	// mu guards the fields below.
	mu       sync.Mutex
	orders   map[string]cloud.Order // by claim UID: what the machine will read
	replicas map[string]deployment  // by name
	serial   int
	leavers  []string // deployments of pods that were asked to leave, in that order
	alive    *process
	killAt   control.Point
	killed   map[control.Point]int
	broken   []string             // invariants that did not hold
	metrics  *prometheus.Registry // of the controller that lives
	off      bool                 // nobody is to start the controller again
	muted    int                  // so many machines more never join
	silent   map[string]bool      // claims, by UID, whose machine never joins
	guards   map[string]guard
	disks    disks                      // idle and attaching are the turn's own
	warming  map[model.PodKey]time.Time // when they are ready
	turned   uint64                     // the cluster's version after the last turn
	turnedAt time.Time
	seen     *model.World // as of seenAt, by the cluster's version
	seenAt   uint64
	restless bool // something moves on by time alone
}

// deployment is also a StatefulSet, whose pods come one after the other when it is ordered, and may have a disk each.
type deployment struct {
	want                int
	pod                 model.Pod
	set, ordered, disks bool
}

// process is one life of the controller.
type process struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Run plays a story on virtual time. At its end the controller is stopped and the invariants are checked once more.
func Run(t *testing.T, cfg Config, story func(s *Sim)) {
	t.Helper()
	for _, b := range runWith(t, cfg, func(*Sim) {}, story) {
		t.Errorf("invariant broken: %s", b)
	}
}

// runWith plays a story and returns the invariants that did not hold. ready is called before the controller starts.
func runWith(t *testing.T, cfg Config, ready, story func(s *Sim)) (broken []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &Sim{t: t, cfg: cfg, Store: memkube.New(), orders: map[string]cloud.Order{}, replicas: map[string]deployment{},
			killed: map[control.Point]int{}, guards: map[string]guard{}, silent: map[string]bool{}, disks: newDisks(), warming: map[model.PodKey]time.Time{}}
		s.cfg.Join, s.cfg.Settle = orElse(cfg.Join, 5*time.Second), orElse(cfg.Settle, 3*time.Second)
		s.cfg.Tick = orElse(cfg.Tick, 100*time.Millisecond)
		if cfg.JoinSpread > 0 {
			s.lateness = cfg.Rand.Uint64()
		}
		cc := cfg.Cloud
		if len(cc.Catalog.Types) == 0 {
			cc.Catalog = memcloud.SmallCatalog("westus3")
			cc.BootDelay, cc.DeleteDelay = orElse(cc.BootDelay, 20*time.Second), orElse(cc.DeleteDelay, 10*time.Second)
		}
		cc.OnRunning, cc.OnGone, cc.OnOff = s.boot, s.halt, s.switchedOff
		s.Cloud = memcloud.New(cc)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		ready(s)
		wg.Go(func() { s.tick(ctx) })
		s.Start()
		defer func() { // also when the story fails
			s.Stop()
			cancel()
			wg.Wait()
			s.toldByTheTables()
			// Timers of machines that still run belong to the bubble; let them fire.
			time.Sleep(time.Hour)
			broken = s.broken
		}()
		story(s)
	})
	return broken
}

// toldByTheTables holds what people were told against the tables of it: every event has a row, and no metric is told twice.
func (s *Sim) toldByTheTables() {
	for _, e := range s.Store.Events() {
		if kind := observe.KindOf(e.About); !meter.Known(e.Reason, string(e.Type), kind) {
			s.t.Errorf("the event %s (%s) of a %s is in no table", e.Reason, e.Type, kind)
		}
	}
	_, err := s.metrics.Gather()
	if err != nil {
		s.t.Errorf("what is measured cannot be told: %v", err)
	}
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Start begins a new life of the controller, unless it lives: nothing of an earlier one is left but what is in the cluster and the cloud.
func (s *Sim) Start() {
	s.mu.Lock()
	after := s.alive
	lives := after != nil && !s.off
	s.off = false
	s.mu.Unlock()
	if !lives {
		s.live(after)
	}
}

// live begins a new life after the given one, unless somebody else did, or it was stopped.
func (s *Sim) live(after *process) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cancel: cancel, done: make(chan struct{})}
	s.mu.Lock()
	if s.off || s.alive != after {
		s.mu.Unlock()
		cancel()
		return
	}
	s.alive, s.metrics = p, prometheus.NewRegistry()
	registry := s.metrics
	s.mu.Unlock()
	s.Store.Forget()
	metrics, err := observe.NewMetrics(registry, meter.Options{Profile: meter.Full, Version: "sim"})
	if err != nil {
		s.t.Fatal(err)
	}
	store := &wire{Store: s.Store, sim: s, life: ctx}
	mirror, recorder := world.New(), observe.New(s.Store, logr.Discard(), metrics)
	err = recorder.Serve(mirror.Snapshot, mirror.IsSynced, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := control.New(control.Parts{
		Store: store, Market: market.New(&line{Fleet: s.Cloud, sim: s, life: ctx}, market.Config{}), World: mirror,
		Observe: recorder, Log: logr.Discard(), Now: s.now, Settings: s.cfg.Settings,
		Decide: s.cfg.Decide, Refused: s.cfg.Refused, Version: "sim",
		Mark: func(point control.Point) { s.mark(p, point) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Follow(ctx) })
	wg.Go(func() { _ = c.Run(ctx) })
	go func() {
		wg.Wait()
		close(p.done)
	}()
}

// now is what the controller's clock reads.
func (s *Sim) now() time.Time { return time.Now().Add(time.Duration(s.clock.Load())) }

// Stop ends the controller's life and waits until it is gone.
func (s *Sim) Stop() {
	s.mu.Lock()
	s.off = true
	p := s.alive
	s.mu.Unlock()
	p.cancel()
	<-p.done
}

// KillAt makes the controller die the next time it passes the point.
func (s *Sim) KillAt(point control.Point) {
	s.mu.Lock()
	s.killAt = point
	s.mu.Unlock()
}

// Killed counts how often the controller died at the point.
func (s *Sim) Killed(point control.Point) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed[point]
}

// mark dies at the chosen point: from here on no call of this life reaches the cluster or the cloud, the goroutine that
// passed the point ends on this very line, and a new life starts.
func (s *Sim) mark(p *process, point control.Point) {
	s.mu.Lock()
	hit := s.killAt == point
	if hit {
		s.killAt = ""
		s.killed[point]++
	}
	s.mu.Unlock()
	if !hit {
		return
	}
	p.cancel()
	go func() {
		<-p.done
		time.Sleep(2 * time.Second) // the pod is started again
		s.live(p)
	}()
	runtime.Goexit()
}

// Pass lets virtual time pass.
func (s *Sim) Pass(d time.Duration) { time.Sleep(d) }

// Until lets time pass until the condition holds, looking ten times a second, and fails the story when it does not hold
// within d.
func (s *Sim) Until(what string, d time.Duration, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(100 * time.Millisecond) {
		if holds() {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("after %v still not: %s\n%s", d, what, s.Describe())
		}
	}
}

// Describe prints the state of the world for a failed story.
func (s *Sim) Describe() string {
	var b strings.Builder
	o := s.Store.Objects()
	for _, c := range o.Claims {
		fmt.Fprintf(&b, "claim %s deleting=%v provider=%s node=%s finalizers=%v\n", c.Name, c.Deleting(), c.ProviderID, c.NodeName, c.Finalizers)
		for _, x := range c.Conditions {
			fmt.Fprintf(&b, "    %s=%s %s %s\n", x.Type, x.Status, x.Reason, x.Message)
		}
	}
	for _, n := range o.Nodes {
		fmt.Fprintf(&b, "node %s deleting=%v ready=%s taints=%v\n", n.Name, n.Deleting(), n.Ready, n.Taints)
	}
	for _, p := range o.Pods {
		if !p.DaemonSet {
			fmt.Fprintf(&b, "pod %s node=%q unschedulable=%v deleting=%v\n", p.Key(), p.Node, p.Unschedulable, p.Deleting())
		}
	}
	fmt.Fprintf(&b, "cloud %v\n", s.Cloud.Resources())
	events := s.Store.Events()
	for _, e := range events[max(0, len(events)-20):] {
		fmt.Fprintf(&b, "event %s %s: %s\n", e.About.ObjectKey(), e.Reason, e.Message)
	}
	return b.String()
}

// check notes every invariant that does not hold right now.
func (s *Sim) check() {
	o := s.see()
	byClaim := map[string][]string{}
	for _, m := range s.Cloud.Machines() {
		if m.State == model.Pending || m.State == model.Running {
			byClaim[m.ClaimUID] = append(byClaim[m.ClaimUID], m.Name)
		}
	}
	for uid, names := range byClaim {
		if len(names) > 1 {
			s.note("claim %s has %d machines: %v", uid, len(names), names)
		}
	}
	if s.judge != nil {
		s.judge.look(o)
		return
	}
	for _, p := range o.Pools {
		used := map[string]int64{}
		for _, c := range o.Claims {
			if c.Pool != p.Name || c.ProviderID == "" {
				continue
			}
			used[model.ResourceNodes]++
			for _, r := range c.Capacity.Names() {
				used[r] += c.Capacity.Get(r)
			}
		}
		for r, limit := range p.Limits {
			if used[r] > limit {
				s.note("pool %s uses %d of %s, limit %d", p.Name, used[r], r, limit)
			}
		}
	}
}

func (s *Sim) note(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.broken, msg) {
		s.broken = append(s.broken, msg)
	}
}
