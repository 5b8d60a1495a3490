package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// busy is a controller that runs beside the twin of a cluster.
type busy struct {
	store *memkube.Store
	pods  []model.Pod
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// startBusy starts the mirror and all loops for a cluster of 30 pods a node, in which nothing but empty nodes may leave.
func startBusy(tb testing.TB, nodes int) *busy {
	w := workload.Cluster(nodes, 30*nodes, true, 1)
	w.Pools[0].Policy = model.WhenEmpty
	x := &busy{store: memkube.New(), pods: w.Pods}
	put(x.store, w.Pools)
	put(x.store, w.Classes)
	put(x.store, w.Claims)
	put(x.store, w.Nodes)
	put(x.store, w.Namespaces)
	put(x.store, w.Pods)
	metrics, err := observe.NewMetrics(prometheus.NewRegistry(), meter.Options{Version: "bench"})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := control.New(control.Parts{Store: x.store, Market: market.New(OwnedBy(w), market.Config{}), World: world.New(),
		Observe: observe.New(x.store, logr.Discard(), metrics), Log: logr.Discard(), Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(tb.Context())
	x.stop = stop
	x.ended.Go(func() { _ = c.Follow(ctx) })
	x.ended.Go(func() { _ = c.Run(ctx) })
	time.Sleep(3 * time.Second)
	return x
}

func (x *busy) end() {
	x.stop()
	x.ended.Wait()
}

const changesASecond = 100

// spent is what some seconds of changes cost, per second.
type spent struct{ cpu, bytes, allocations float64 }

// run lets pods change for a while, from the i-th change on.
func (x *busy) run(i int, long time.Duration) (s spent, next int) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from, began := used(), time.Now()
	for n := i; time.Since(began) < long; i++ {
		change(x.store, x.pods, i)
		time.Sleep(time.Until(began.Add(time.Duration(i-n+1) * time.Second / changesASecond)))
	}
	took := time.Since(began).Seconds()
	runtime.ReadMemStats(&after)
	return spent{(used() - from).Seconds() / took, float64(after.TotalAlloc-before.TotalAlloc) / took, float64(after.Mallocs-before.Mallocs) / took}, i
}

// BenchmarkAHundredChangesASecond prints which part of a core the controller takes, and what it allocates, while a hundred pods a second of a large
// cluster come, go, and are ready or not: the mirror, all loops, and the twin of the cluster that tells them. It takes as long as it measures.
func BenchmarkAHundredChangesASecond(b *testing.B) {
	for _, nodes := range []int{2_500, 5_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			x := startBusy(b, nodes)
			defer x.end()
			_, i := x.run(0, 30*time.Second) // at the start something is written on every claim, which takes its time
			for b.Loop() {
				var s spent
				s, i = x.run(i, 10*time.Second)
				b.ReportMetric(100*s.cpu, "%-of-a-core")
				b.ReportMetric(s.bytes/1e6, "MB/s")
				b.ReportMetric(liveHeap()/1e6, "MB-live")
			}
		})
	}
}

// TestAChangeCostsTheSameInALargerCluster: the same on virtual time, where passes take none and loops look as often as they ever do. Of twice
// the cluster a change may cost a fifth more. Of several spans the one counts that costs least: what is looked at in all nodes, every ten seconds at most, is left out
// of that, but not of the bytes.
func TestAChangeCostsTheSameInALargerCluster(t *testing.T) {
	const more, most, perChange = 1.2, 20e6, 200
	const spans, long = 6, 3 * time.Second
	of := func(nodes int) (allocations, bytes float64) {
		allocations = math.MaxFloat64
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(workload.Epoch().Add(48 * time.Hour)))
			x := startBusy(t, nodes)
			defer x.end()
			time.Sleep(10 * time.Second)
			_, i := x.run(0, 2*time.Second)
			for range spans {
				var s spent
				s, i = x.run(i, long)
				allocations, bytes = min(allocations, s.allocations/changesASecond), bytes+s.bytes/spans
			}
		})
		t.Logf("%d nodes: %.0f allocations a change, %.1f MB a second", nodes, allocations, bytes/1e6)
		return allocations, bytes
	}
	a, _ := of(2_500)
	b, bytes := of(5_000)
	if b > more*a || b > perChange || bytes > most {
		t.Errorf("%.0f and %.0f allocations a change, want at most %.1f times as many and %d; %.1f MB a second, want at most %.0f", a, b, more, perChange, bytes/1e6, most/1e6)
	}
}

func put[T model.Object](s *memkube.Store, list []T) {
	for _, o := range list {
		s.Put(o)
	}
}

// change lets one pod be ready no more, another go and one like it come, and a third wait, which is bound with the next change.
func change(s *memkube.Store, pods []model.Pod, i int) {
	at := func(i int) model.Pod { return pods[i*31%len(pods)] }
	p := at(i)
	switch i % 4 {
	case 0:
		p.PodReady = false
	case 1:
		s.DeletePod(p.Key())
		p.UID += "-again"
	case 2:
		p.Node, p.Unschedulable, p.PodReady = "", true, false
	case 3:
		p = at(i - 1)
	}
	s.Put(p)
}
