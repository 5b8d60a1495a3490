package sidebyside

import (
	"fmt"
	"testing"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/compat/upstream"
	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
	"time"
)

// TestAtRestWeAreNotDearer has half of the pods of a cluster go, and lets each engine move nodes until it sees nothing more to save. What is left
// under ours never costs more.
func TestAtRestWeAreNotDearer(t *testing.T) {
	for _, c := range []struct {
		topology bool
		seed     uint64
	}{{false, 1}, {false, 2}, {true, 3}} {
		t.Run(fmt.Sprintf("topology=%v/seed=%d", c.topology, c.seed), func(t *testing.T) {
			w := bench.Sparse(24, 720, c.topology, 0.5, c.seed)
			before := bench.Cost(w)
			ours, steps, moved := settled(w)
			theirs, commands, shifted, err := settledByUpstream(w)
			if err != nil {
				t.Fatal(err)
			}
			least := bound.Best(bound.FromWorld(w, w.Pods), bound.Brisk).Value
			a, b := bench.Cost(ours), bench.Cost(theirs)
			t.Logf("%s before; ours %s after %d looks, %d pods moved; upstream's %s after %d commands, %d pods moved; nothing is below %s", before, a, steps, moved,
				b, commands, shifted, least)
			if a > b {
				t.Errorf("at rest we cost %s, upstream %s", a, b)
			}
		})
	}
}

// mostSteps bounds how often an engine is asked.
const mostSteps = 200

func settled(w model.World) (_ model.World, looks, moved int) {
	for range mostSteps {
		d := disrupt.Decide(disrupt.Input{World: w, Now: workload.Epoch().Add(24 * time.Hour), Sweep: true})
		if len(d.Moves) == 0 {
			break
		}
		looks++
		for _, m := range d.Moves {
			moved += m.Pods
		}
		w = bench.After(w, bench.Moves(d))
	}
	return w, looks, moved
}

func settledByUpstream(w model.World) (_ model.World, commands, moved int, err error) {
	for range mostSteps {
		f, err := upstream.NewFleet(w)
		if err != nil {
			return w, 0, 0, err
		}
		m, ok, err := f.Next()
		if err != nil || !ok {
			return w, commands, moved, err
		}
		c := change(w, m, commands)
		moved += len(c.At)
		for _, b := range c.Bought {
			moved += len(b.Claim.Pods)
		}
		w = bench.After(w, c)
		commands++
	}
	return w, commands, moved, fmt.Errorf("upstream is not at rest after %d commands", mostSteps)
}

// change is what a command of upstream's changes, when it is over: machines are had as the cheapest thing they may be.
func change(w model.World, m upstream.Move, step int) bench.Change {
	c := bench.Change{Nodes: m.Nodes, At: map[model.PodKey]string{}}
	x := w.Indexed()
	for _, n := range m.Nodes {
		if claim := x.Index.ClaimOf(x.Index.Node(n)); claim != nil {
			c.Claims = append(c.Claims, claim.Name)
		}
	}
	for _, f := range m.Fits {
		c.At[f.Pod] = f.Node
	}
	for i, b := range m.Buy {
		c.Bought = append(c.Bought, bench.Bought{Key: b.Cheapest, Name: fmt.Sprintf("step-%d-%d", step, i),
			Claim: place.NewClaim{Pool: b.Pool, Pods: b.Pods, Options: []place.Option{{Key: b.Cheapest, Price: b.Price}}, Requirements: b.Claim.Requirements}})
	}
	return c
}
