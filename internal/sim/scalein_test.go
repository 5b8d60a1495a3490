package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
)

// scaleNodes is about how many nodes TestHalfOfThePodsLeave begins with.
var scaleNodes = flag.Int("nodes", 90, "about how many nodes a cluster has of which half of the pods leave")

// mixed has deployments of six shapes run, about n nodes of the small catalogue full of them.
func (s *Sim) mixed(n int) (names []string) {
	for i, x := range []struct{ cpu, mem int64 }{{250, 512}, {500, 2048}, {1000, 1024}, {1700, 4096}, {900, 3072}, {300, 1500}} {
		p := core(x.cpu)
		p.Requests.Memory = x.mem << 20
		names = append(names, fmt.Sprintf("app%d", i))
		s.Scale(names[i], n*520/int(x.cpu), p)
	}
	return names
}

func (s *Sim) allRun() bool {
	return len(s.Store.Objects().Nodes) > 0 && !slices.ContainsFunc(s.Store.Objects().Pods, func(p model.Pod) bool { return p.Node == "" })
}

// stillSince waits until nothing was written for d, and returns when that began. It gives up after most.
func (s *Sim) stillSince(d, most time.Duration) time.Time {
	last, writes := time.Now(), s.writes.Load()
	for end := time.Now().Add(most); time.Since(last) < d && time.Now().Before(end); time.Sleep(time.Second) {
		if now := s.writes.Load(); now != writes || !s.atRest() {
			writes, last = now, time.Now()
		}
	}
	return last
}

// Half of the pods of a full cluster leave. kube-scheduler puts those that are moved where it likes, in any order; the cluster comes to rest soon
// all the same, near the least that it can cost, and hardly any machine is bought that does not replace one. What a move counted on that held only in one way
// was once bought for anew, and emptied in turn, for hours: 2,200 machines for 90 nodes.
func TestHalfOfThePodsLeave(t *testing.T) {
	const mostExtra = 100 // two to forty are, and 6 to 26 % above the bound; goroutines do not take turns in the same order each time
	for _, c := range []struct{ nominate, shuffle bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("nominate=%v/shuffle=%v", c.nominate, c.shuffle), func(t *testing.T) {
			cfg := Config{Tick: time.Second, Warm: 2 * time.Second, Queue: true, Rand: rand.New(rand.NewPCG(1, 1)), Shuffle: c.shuffle,
				Settings: control.Settings{Nominate: c.nominate}}
			Run(t, cfg, func(s *Sim) {
				p := pool()
				p.Limits, p.Budgets = nil, []model.DisruptionBudget{{Nodes: "10%"}}
				s.Store.Put(p, class(), daemon())
				names := s.mixed(*scaleNodes)
				s.Until("all run", time.Hour, s.allRun)
				nodes, before, bought := len(s.Store.Objects().Nodes), s.price(), s.Cloud.Accepted()
				for _, n := range names {
					d := s.replicas[n]
					s.Scale(n, d.want/2, d.pod)
				}
				began := time.Now()
				took := s.stillSince(10*time.Minute, 3*time.Hour).Sub(began)
				least, extra, left := s.cluster()["bound_dollars_per_hour"], s.Cloud.Accepted()-bought, len(s.Store.Objects().Nodes)
				over := s.price().Float()/least - 1
				t.Logf("%d nodes for %s; half of the pods left, and %v later %d nodes for %s, %.1f %% above the bound; %d machines were bought meanwhile",
					nodes, before, took, left, s.price(), 100*over, extra)
				if took > 30*time.Minute || over > 0.40 || extra > mostExtra {
					t.Errorf("want rest within 30 min, at most 40 %% above the bound, and %d machines bought", mostExtra)
				}
			})
		})
	}
}
