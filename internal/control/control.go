// Package control answers: who does what the deciders said?
//
// It holds the loops of the autoscaler. Each loop sees (takes a picture of the world), decides (calls one pure decider)
// and does (through the cluster and cloud doors). Loops share nothing but the mirror: what one writes, the others read
// from the cluster. Killed at any line, the next start carries on, because every step can be repeated. It contains no
// rules about pods, prices or taints (the deciders do) and no protocol of any cluster or cloud (the doors do).
package control

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/nomination"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// Settings are the knobs of the loops. The zero value of a field means its default.
type Settings struct {
	// BatchIdle is how long the queue of waiting pods must be quiet before a plan is made, at most; BatchMax is how
	// long a plan may be put off by pods that keep coming. Defaults 1 s and 10 s.
	BatchIdle, BatchMax time.Duration
	// Workers bounds how many claims, and how many leaving nodes, are worked on at the same time. Default 64.
	Workers int
	// OrphanAge is how old a machine without a claim must be before it is taken away. Default 5 min: a claim that was
	// just written may not be visible yet.
	OrphanAge time.Duration
	// StaticCapacity keeps pools with replicas at that number; off, such pools are left as they are. The other features that
	// users switch on have no knob here: without NodeOverlay and CapacityBuffer the store does not tell of such objects.
	StaticCapacity bool
	// Preferences says what pods' wishes are worth; "" = place.Respect.
	Preferences place.Preferences
	// MinValues says whether minValues of pools are a must; "" = place.Strict.
	MinValues place.MinValues
	// Nominate tells kube-scheduler, in each waiting pod's status, which node was planned for it.
	Nominate bool
	// NodeRepair has unhealthy nodes replaced.
	NodeRepair bool
	// SpotToSpot lets spot machines be replaced with cheaper spot machines.
	SpotToSpot bool
	// KubeletIdentity is the client id of the identity under which new nodes' kubelets run: nodes that say another one have drifted. "" = not known.
	KubeletIdentity string
	// Paused is what is on hold of all pools.
	Paused model.Pause
}

func (s Settings) withDefaults() Settings {
	s.BatchIdle = orElse(s.BatchIdle, time.Second)
	s.BatchMax = max(orElse(s.BatchMax, 10*time.Second), s.BatchIdle)
	s.OrphanAge = orElse(s.OrphanAge, 5*time.Minute)
	if s.Workers <= 0 {
		s.Workers = 64
	}
	return s
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Parts are what a Controller is built from; all but Sweeper, Decide, Refused and Mark are required.
type Parts struct {
	Store    kube.Store
	Market   *market.Market
	World    *world.World
	Observe  *observe.Recorder
	Log      logr.Logger
	Now      func() time.Time
	Settings Settings
	// Sweeper finds what machines left behind at the cloud; nil when they leave nothing.
	Sweeper cloud.Sweeper
	// Decide makes the plans; nil = place.Decide. Tests give a broken one.
	Decide func(place.Input) place.Plan
	// Refused is told of every plan that our own audit refused, and of every decider that panicked, with the picture that was decided
	// about. It must not block. nil = nobody.
	Refused func(evidence.Case)
	// Version of the controller, for what Refused is told.
	Version string
	// Mark is called with the name of a point between two effects, so that tests can end the process right there; see
	// the Point constants. nil does nothing.
	Mark func(Point)
}

// Point names a place between two effects where the process may die.
type Point string

// The marked points, in the order in which a claim's life passes them.
const (
	PointPlanned      Point = "planned"       // a plan is made, nothing is written
	PointClaimCreated Point = "claim-created" // the first claim of a plan is written
	PointTokenMade    Point = "token-made"    // the bootstrap token exists, no machine was asked for
	PointAccepted     Point = "accepted"      // the cloud accepted a machine, the claim does not say so yet
	PointRecorded     Point = "recorded"      // the claim says so
	PointNodePatched  Point = "node-patched"  // the node is registered, the claim does not say so yet
	PointInitialized  Point = "initialized"   // the node is marked initialized, the claim not yet
	PointDeletionDue  Point = "deletion-due"  // a claim must go, by when is written, it is not deleted yet
	PointEmptyFound   Point = "empty-found"   // an empty node was chosen, its claim is not deleted yet
	PointNodeTainted  Point = "node-tainted"  // a leaving node is tainted, no pod was asked to leave
	PointPodRemoved   Point = "pod-removed"   // one pod was asked to leave
	PointTerminated   Point = "terminated"    // the cloud was asked to let go, the claim does not say so yet
	PointBeforeFinish Point = "before-finish" // the machine is gone, the finalizer is still there
)

// The marked points of a move of nodes with pods.
const (
	PointMoveWritten     Point = "move-written"     // a move is written on a claim that leaves by it
	PointMoveMarked      Point = "move-marked"      // one of its nodes is marked
	PointReplacementMade Point = "replacement-made" // a claim that replaces them is written
	PointMoveReady       Point = "move-ready"       // all replacements are there, one more claim is about to be deleted
	PointMoveUnmarked    Point = "move-unmarked"    // a move is undone, one node is marked no more
)

// MovePoints lists the marked points of a move, but the one that is passed only when a move is undone.
func MovePoints() []Point {
	return []Point{PointMoveWritten, PointMoveMarked, PointReplacementMade, PointMoveReady}
}

// Points lists all marked points of a claim's life.
func Points() []Point {
	return []Point{PointPlanned, PointClaimCreated, PointTokenMade, PointAccepted, PointRecorded, PointNodePatched,
		PointInitialized, PointEmptyFound, PointNodeTainted, PointPodRemoved, PointTerminated, PointBeforeFinish}
}

// Controller runs the loops.
type Controller struct {
	Parts
	claims   tasks // by claim name
	drains   tasks // by node name
	others   tasks // pools, classes, sweeping
	awaited  awaited
	promises tasks // by claim name
	looks    tasks // by instance id
	moves    tasks // by name of their first claim
	held     held
	plans    plans

	// mu guards the fields below. It is never held while a door is called.
	mu     sync.Mutex
	strays map[string]time.Time // stray id → when it was first seen; lost on restart at no harm
	// nominates is set once the cluster is known to heed nominations; until muted, nobody is told anything. Learnt again after a restart.
	nominates bool
	muted     time.Time
	// spent are the pods that are told of a node no more, because it led to nothing.
	spent     nomination.Spent
	pruned    prunes    // has a lock of its own
	joins     joins     // has a lock of its own
	barren    barren    // only the loop of pools uses it
	lookAfter time.Time // no machine is looked at before
	throttled time.Time // when the log last said that the cloud asks to wait with launches
}

// New makes a controller. It starts nothing.
func New(p Parts) (*Controller, error) {
	var problems []error
	for _, x := range []struct {
		name    string
		missing bool
	}{{"Store", p.Store == nil}, {"Market", p.Market == nil}, {"World", p.World == nil}, {"Observe", p.Observe == nil}, {"Now", p.Now == nil}} {
		if x.missing {
			problems = append(problems, errors.New("control.Parts."+x.name+" is missing"))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if p.Decide == nil {
		p.Decide = place.Decide
	}
	if p.Refused == nil {
		p.Refused = func(evidence.Case) {}
	}
	if p.Mark == nil {
		p.Mark = func(Point) {}
	}
	p.Settings = p.Settings.withDefaults()
	p.World.Hold(p.Settings.Paused)
	c := &Controller{Parts: p, plans: plans{ask: place.Fits}}
	for name, t := range map[string]*tasks{"claims": &c.claims, "drain": &c.drains, "others": &c.others, "nominate": &c.promises, "look": &c.looks, "move": &c.moves} {
		t.name = name
		t.limit, t.now, t.crashed = p.Settings.Workers, p.Now, c.crashed
		if t == &c.looks {
			t.limit = looksAtOnce
		}
		t.count = p.Observe.Steps(name, t.limit, t.load)
	}
	c.claims.failed = func(claim string, held time.Duration) { time.AfterFunc(held, func() { p.World.Remind(claim) }) }
	return c, nil
}

// Run works until ctx ends, then waits for steps in flight and returns nil. It is called by the leader only; followers
// may run Follow to have the picture ready.
func (c *Controller) Run(ctx context.Context) error {
	c.Observe.Leads()
	g, ctx := errgroup.WithContext(ctx)
	const machines = world.Claims | world.Nodes | world.Instances
	const loud, pods = world.Everything &^ world.Quiet, world.Pods | world.Unbound
	claims, events := c.keeper(), c.podEvents()
	loops := []loop{
		{name: "catalog", pass: c.catalogs, idle: 5 * time.Minute, about: world.Pools},
		{name: "instances", pass: c.instances, idle: time.Minute, about: machines},
		{name: "classes", pass: c.classes, idle: 5 * time.Minute, about: world.Pools | world.Claims},
		{name: "pools", pass: c.pools, idle: time.Minute, about: machines | world.Pools | world.Catalogs | world.Rest},
		// Who waits is looked at at once. That pods run or end elsewhere makes room at best, for which a plan is made again after a second.
		{name: "provision", pass: c.provisioner().pass, idle: 10 * time.Second, about: loud, patient: world.Pods, patience: replanChanged},
		{name: "static", pass: c.staticPools().pass, idle: time.Minute, about: loud, patient: pods, patience: staticEvery},
		{name: "asides", pass: c.asides, idle: time.Minute, about: world.Pools | world.Claims | world.Rest},
		{name: "overlays", pass: c.overlays, idle: time.Minute, about: world.Pools | world.Catalogs | world.Rest},
		{name: "buffers", pass: c.buffers().pass, idle: time.Minute, about: loud, patient: pods, patience: bufferEvery},
		{name: "claims", pass: claims.pass, idle: time.Minute, about: world.Everything, worth: c.landing, patient: world.Quiet, patience: time.Second,
			part: claims.part, parts: world.Quiet},
		{name: "nominate", pass: c.nominator().pass, idle: time.Minute, about: loud, patient: world.Pods, patience: leftoversEvery},
		{name: "drain", pass: c.draining, idle: time.Minute, about: machines | world.Pods, worth: c.drainers},
		{name: "disrupt", pass: c.disruptor().pass, idle: 10 * time.Second, about: world.Everything, worth: c.empties, patient: pods | world.Quiet, patience: emptyEvery},
		{name: "podevents", pass: events.pass, idle: time.Minute, about: world.Claims | world.Pods, patient: world.Pods, patience: podPause,
			part: events.part, parts: world.Pods},
		{name: "sweep", pass: c.sweep, idle: 2 * time.Minute, about: machines},
	}
	for _, l := range loops {
		g.Go(func() error { c.run(ctx, l); return nil })
	}
	err := g.Wait()
	c.claims.wait()
	c.drains.wait()
	c.others.wait()
	c.promises.wait()
	c.looks.wait()
	c.moves.wait()
	return err
}

// Follow keeps the mirror up to date until ctx ends, reconnecting as long as it takes.
func (c *Controller) Follow(ctx context.Context) error {
	wait := backoff{base: 200 * time.Millisecond, top: 10 * time.Second}
	for ctx.Err() == nil {
		began := c.Now()
		err := c.Store.Follow(ctx, c.Observe.Sink(c.World, c.Now))
		if ctx.Err() != nil {
			break
		}
		if c.Now().Sub(began) > time.Minute {
			wait.tries = 0
		}
		d := wait.next()
		c.Log.Error(err, "lost the API server's watch, will follow again", "after", d.String())
		c.Observe.WatchLost()
		sleep(ctx, d)
	}
	return nil
}
