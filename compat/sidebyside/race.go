// Package sidebyside answers: how do upstream's engine and ours compare on one input?
//
// Both get the same picture, in the same process, on one core, one after the other. Translating the picture into
// upstream's types is outside every timer. Upstream's time is given with its set-up (topology, cluster state, templates:
// what it does anew for every batch) and without; ours is always whole: it reads the pods as the API server gives them,
// which upstream works on as they are, decides, and audits the plan, which upstream does not. Prices are those of the cheapest machine that
// each purchase may become, from one catalogue. It compares provisioning only.
package sidebyside

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/compat/upstream"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// Input is one question for both.
type Input struct {
	Name  string
	World model.World
	// IgnorePreferences is upstream's preference policy Ignore; otherwise Respect.
	IgnorePreferences bool
	// Bound asks for the certified lower bound, too; it costs seconds.
	Bound bool
	// Rounds is how often each engine answers, in turns; 0 = 1. Times are medians.
	Rounds int
}

// Side is how one engine did.
type Side struct {
	// Setup and Solve are processor time; ours has no Setup of its own. Of our Solve, Read is for taking pods in, and Audit for proving the plan sound.
	Setup, Solve time.Duration
	Read, Audit  time.Duration
	Machines     int
	Left         int // pods without a place
	Price        model.Price
}

// Decide is our Solve without what upstream has no part in: taking pods in, and the audit.
func (s Side) Decide() time.Duration { return s.Solve - s.Read - s.Audit }

// Row is one comparison.
type Row struct {
	Name           string
	Pods           int
	Ours, Upstream Side
	// Bound is what any plan costs at least, and Tier how strong the proof is; only where the input asked.
	Bound model.Price
	Tier  bound.Tier
}

// Gap is by which share of the bound our price exceeds it.
func (r Row) Gap() float64 { return r.Ours.Price.Float()/r.Bound.Float() - 1 }

// Faster is how many times as fast we are, with upstream's set-up in the timer.
func (r Row) Faster() float64 {
	return (r.Upstream.Setup + r.Upstream.Solve).Seconds() / r.Ours.Solve.Seconds()
}

// FasterAtSolving is the same without upstream's set-up: the least that can be claimed.
func (r Row) FasterAtSolving() float64 {
	return r.Upstream.Solve.Seconds() / r.Ours.Solve.Seconds()
}

// FasterAtDeciding is how many times as fast we decide as upstream does, its set-up in the timer, what pods are read from and proven by in neither.
func (r Row) FasterAtDeciding() float64 {
	return (r.Upstream.Setup + r.Upstream.Solve).Seconds() / r.Ours.Decide().Seconds()
}

// Saving is the share of upstream's price that we do not pay.
func (r Row) Saving() float64 { return 1 - r.Ours.Price.Float()/r.Upstream.Price.Float() }

// PerSecond is how many pods per second of processor time.
func PerSecond(pods int, d time.Duration) float64 { return float64(pods) / d.Seconds() }

// Race lets both engines answer on one core.
func Race(in Input) (Row, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	pods := place.Waiting(in.World)
	p, err := upstream.Prepare(in.World, pods, upstream.Options{IgnorePreferences: in.IgnorePreferences})
	if err != nil {
		return Row{}, fmt.Errorf("%s: %w", in.Name, err)
	}
	var ours, theirs []Side
	for range max(in.Rounds, 1) {
		a, err := asked(p)
		if err != nil {
			return Row{}, fmt.Errorf("%s: upstream: %w", in.Name, err)
		}
		theirs = append(theirs, a)
		// Ours takes a small part of the other's time: more rounds cost nothing and calm the number.
		for range roundsOfOurs {
			b, err := decided(in)
			if err != nil {
				return Row{}, fmt.Errorf("%s: %w", in.Name, err)
			}
			ours = append(ours, b)
		}
	}
	r := Row{Name: in.Name, Pods: len(pods), Ours: median(ours), Upstream: median(theirs)}
	if in.Bound {
		if r.Bound, r.Tier, err = certified(in.World, pods); err != nil {
			return Row{}, fmt.Errorf("%s: %w", in.Name, err)
		}
	}
	return r, nil
}

// certified finds a bound and checks its certificate with the checker that shares nothing with the search.
func certified(w model.World, pods []model.Pod) (model.Price, bound.Tier, error) {
	p := bound.FromWorld(w, pods)
	c := bound.Best(p, bound.Thorough)
	proven, err := bound.Check(c, p)
	if err != nil {
		return 0, 0, fmt.Errorf("the bound's certificate: %w", err)
	}
	if proven < c.Value {
		return 0, 0, fmt.Errorf("the bound claims %s and proves %s", c.Value, proven)
	}
	return c.Value, c.Tier, nil
}

const roundsOfOurs = 3

// decided lets our engine answer, from the objects of the API server to the audited plan.
func decided(in Input) (s Side, err error) {
	var ask place.Input
	var plan place.Plan
	pods := objectsOf(in.World.Pods)
	if in.IgnorePreferences {
		ask.Preferences = place.Ignore
	}
	s.Read = timed(func() { _, ask.World, err = read(in.World, pods) })
	if err != nil {
		return s, err
	}
	s.Solve = timed(func() { plan = place.Decide(ask) })
	s.Audit = timed(func() { err = sound(ask.World, plan) })
	s.Solve += s.Read + s.Audit
	s.Machines, s.Left, s.Price = len(plan.NewClaims), len(plan.Unscheduled), plan.Price
	return s, err
}

// read tells a mirror of its own of the pods one by one, as a watch would, and takes the picture. All else is as in the world, which has no nodes yet.
func read(w model.World, pods []*corev1.Pod) (*world.World, model.World, error) {
	mirror := world.New()
	reader, err := apikube.NewReader(mirror)
	if err != nil {
		return nil, model.World{}, err
	}
	mirror.Begin()
	for _, p := range pods {
		if err := reader.Tell(p); err != nil {
			return nil, model.World{}, err
		}
	}
	mirror.Synced()
	seen := mirror.Snapshot()
	seen.Pools, seen.Classes, seen.Catalogs, seen.Namespaces, seen.Daemons = w.Pools, w.Classes, w.Catalogs, w.Namespaces, w.Daemons
	return mirror, seen, nil
}

// objectsOf are the pods as the API server lists them: by namespace and name.
func objectsOf(pods []model.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, len(pods))
	for i, p := range pods {
		out[i] = objects.Pod(p)
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// sound is an error for a plan that the audit refuses: speed and price of an unsound plan mean nothing.
func sound(w model.World, p place.Plan) error {
	if bad := audit.Check(w, p); len(bad) > 0 {
		return fmt.Errorf("our plan is unsound in %d ways, first %s", len(bad), bad[0])
	}
	return nil
}

func asked(p *upstream.Problem) (Side, error) {
	var s Side
	var run *upstream.Run
	var err error
	s.Setup = timed(func() { run, err = p.Fresh() })
	if err != nil {
		return s, err
	}
	s.Solve = timed(func() { err = run.Solve() })
	if err != nil {
		return s, err
	}
	r, err := run.Result()
	if err != nil {
		return s, err
	}
	s.Machines, s.Left, s.Price = len(r.Buy), len(r.Left), r.Price
	return s, nil
}

// median picks the side with the median time.
func median(all []Side) Side {
	slices.SortFunc(all, func(a, b Side) int { return int(a.Setup + a.Solve - b.Setup - b.Solve) })
	return all[len(all)/2]
}

// timed returns the processor time f takes, garbage collection of its own included.
func timed(f func()) time.Duration {
	runtime.GC()
	from := used()
	f()
	return used() - from
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // getrusage of oneself cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
