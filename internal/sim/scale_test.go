package sim

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
)

// Larger ones are played by hand: docs/performance.md says what came of it.
var (
	halvedSize = flag.Int("halved", 0, "play one scale-in, of pods that so many machines of 4 cores would hold")
	anySize    = flag.Bool("any-size", false, "its machines are of all sizes")
)

// scaledIn is what a scale-in took.
type scaledIn struct {
	nodes int // before
	// work is how many allocations the process made for each change that the controller asked for,
	// everything around it among them.
	work float64
	took time.Duration
	over float64 // the price at rest over the certified bound, as a share of that
}

// scaleIn has half of the pods of a full cluster leave, and waits until nothing more is saved.
func scaleIn(t *testing.T, size int) (out scaledIn) {
	cfg := Config{Tick: time.Second, Warm: 2 * time.Second, Queue: true, Lazy: true, Shuffle: true,
		Rand: rand.New(rand.NewPCG(1, 1)), Settings: control.Settings{Nominate: true}}
	Run(t, cfg, func(s *Sim) {
		s.Furnish(func(p *model.Pool) {
			p.Budgets = []model.DisruptionBudget{{Nodes: "10%"}}
			if !*anySize {
				p.Requirements = append(p.Requirements, model.Requirement{
					Key: "karpenter.azure.com/sku-cpu", Op: model.In, Values: []string{"2", "4"}})
			}
		})
		names := s.Mixed(size)
		s.Until("all run", time.Hour, s.AllRun)
		s.StillSince(10*time.Minute, 3*time.Hour)
		before, price, bought, moved := s.Picture(), s.Price(), s.Cloud.Accepted(), s.moved.Load()
		writes := s.writes.Load()
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		s.Halve(names)
		began, used := time.Now(), processorTime()
		out.took = s.StillSince(10*time.Minute, 12*time.Hour).Sub(began)
		runtime.ReadMemStats(&to)
		used = processorTime() - used
		after := s.Picture()
		least := bound.Best(bound.FromWorld(after, after.Pods), bound.Brisk).Value
		writes = s.writes.Load() - writes
		out.nodes, out.work = len(before.Nodes), float64(to.Mallocs-from.Mallocs)/float64(writes)
		out.over = s.Price().Float()/least.Float() - 1
		t.Logf("%d nodes for %s; half of the pods left, and %v later %d nodes for %s, %.2f %% above the bound; "+
			"%d machines were bought, %d pods moved; %.0f allocations for each of %d changes, %v of processor time",
			out.nodes, price, out.took, len(after.Nodes), s.Price(), 100*out.over,
			s.Cloud.Accepted()-bought, s.moved.Load()-moved, out.work, writes, used)
	})
	return out
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A large cluster comes to rest about as soon as a small one, near the bound, and each change costs not
// much more in it: were all that there is looked at for each, it would be four times as much with four
// times the nodes.
func TestALargeClusterScalesIn(t *testing.T) {
	const (
		mostTook = 30 * time.Minute // 1 to 11 is
		mostOver = 0.10             // 0.01 to 0.05 is
		mostWork = 3.5              // 1.1 to 2.4 is
	)
	if *halvedSize > 0 {
		scaleIn(t, *halvedSize)
		return
	}
	small, large := scaleIn(t, 50), scaleIn(t, 200)
	for _, x := range []scaledIn{small, large} {
		if x.took > mostTook || x.over > mostOver {
			t.Errorf("%d nodes: at rest after %v, %.1f %% above the bound; want %v and %.0f %% at most",
				x.nodes, x.took, 100*x.over, mostTook, 100*mostOver)
		}
	}
	grows := large.work / small.work
	t.Logf("with %d nodes %.2f times the allocations for a change as with %d", large.nodes, grows, small.nodes)
	if grows > mostWork {
		t.Errorf("with %d nodes %.2f times the allocations for a change as with %d, want %.1f at most",
			large.nodes, grows, small.nodes, mostWork)
	}
}
