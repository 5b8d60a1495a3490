package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// owned is a cloud that has a machine for every claim of the world and sells what the world says.
type owned struct {
	cloud.Fleet
	catalog   model.Catalog
	instances []model.Instance
}

func ownedBy(w model.World) *owned {
	o := &owned{catalog: w.Catalogs[workload.Class()]}
	for _, c := range w.Claims {
		o.instances = append(o.instances, model.Instance{ID: c.ProviderID, Name: c.Name, Claim: c.Name, ClaimUID: c.UID, Pool: c.Pool, State: model.Running, Created: c.Created})
	}
	return o
}

func (o *owned) Offerings(context.Context, model.Class) (model.Catalog, error) { return o.catalog, nil }
func (o *owned) List(context.Context) ([]model.Instance, error)                { return o.instances, nil }
func (o *owned) IDOf(claim string) string                                      { return "" }
func (o *owned) Inspect(context.Context, model.Class, string) (cloud.Report, error) {
	return cloud.Report{Conditions: []model.Condition{{Type: model.Ready, Status: model.True}}}, nil
}
func (o *owned) Get(_ context.Context, id string) (model.Instance, error) {
	if i := slices.IndexFunc(o.instances, func(m model.Instance) bool { return m.ID == id }); i >= 0 {
		return o.instances[i], nil
	}
	return model.Instance{}, &cloud.Error{Code: cloud.NotFound}
}

// BenchmarkAHundredChangesASecond prints which part of a core the controller takes, and what it allocates, while a hundred pods a second of a large
// cluster come, go, and are ready or not: the mirror, all loops, and the twin of the cluster that tells them. It takes as long as it measures.
func BenchmarkAHundredChangesASecond(b *testing.B) {
	const perSecond, long = 100, 10 * time.Second
	for _, nodes := range []int{2_500, 5_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			w := workload.Cluster(nodes, 30*nodes, true, 1)
			w.Pools[0].Policy = model.WhenEmpty
			store := memkube.New()
			put(store, w.Pools)
			put(store, w.Classes)
			put(store, w.Claims)
			put(store, w.Nodes)
			put(store, w.Namespaces)
			put(store, w.Pods)
			metrics, err := observe.NewMetrics(prometheus.NewRegistry(), "bench")
			if err != nil {
				b.Fatal(err)
			}
			c, err := control.New(control.Parts{Store: store, Market: market.New(ownedBy(w), market.Config{}), World: world.New(),
				Observe: observe.New(store, logr.Discard(), metrics), Log: logr.Discard(), Now: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = c.Follow(ctx) })
			running.Go(func() { _ = c.Run(ctx) })
			defer running.Wait()
			defer stop()
			time.Sleep(3 * time.Second) // what the start costs is another question
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				from, began := used(), time.Now()
				for i := 0; time.Since(began) < long; i++ {
					change(store, w.Pods, i)
					time.Sleep(time.Until(began.Add(time.Duration(i+1) * time.Second / perSecond)))
				}
				took := time.Since(began).Seconds()
				runtime.ReadMemStats(&after)
				b.ReportMetric(100*(used()-from).Seconds()/took, "%-of-a-core")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6/took, "MB/s")
				b.ReportMetric(liveHeap()/1e6, "MB-live")
			}
		})
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
