package sidebyside

import (
	"runtime"
	"testing"

	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// mirrorOf feeds the cluster's API objects to a mirror, one by one and each made for it alone, as a watch does, and plans once for a pod that waits.
func mirrorOf(tb testing.TB, nodes int) *world.World {
	tb.Helper()
	w := workload.Cluster(nodes, 30*nodes, true, seed)
	m := world.New()
	reader, err := apikube.NewReader(m)
	if err != nil {
		tb.Fatal(err)
	}
	m.Begin()
	for _, n := range w.Nodes {
		if err := reader.Tell(objects.Node(n)); err != nil {
			tb.Fatal(err)
		}
	}
	late := w.Pods[0]
	late.Name, late.UID, late.Node, late.Unschedulable = "late", "late", "", true
	for _, p := range append(w.Pods, late) {
		if err := reader.Tell(objects.Pod(p)); err != nil {
			tb.Fatal(err)
		}
	}
	for _, c := range w.Claims {
		m.Apply(model.Change{Object: c})
	}
	m.Apply(model.Change{Object: w.Pools[0]})
	m.Apply(model.Change{Object: w.Classes[0]})
	m.SetCatalog(w.Catalogs[workload.Class()])
	m.Synced()
	place.Decide(place.Input{World: m.Snapshot()})
	return m
}

// TestTheMirrorIsSmall: what is kept of a cluster's API objects, its index and what a plan leaves behind for the next, per pod.
func TestTheMirrorIsSmall(t *testing.T) {
	const nodes, most = 500, 2_000 // bytes per pod; about twice what was measured when the floor was set
	before := live()
	m := mirrorOf(t, nodes)
	got := float64(live()-before) / (30 * nodes)
	runtime.KeepAlive(m)
	t.Logf("%.0f bytes per pod", got)
	if got > most {
		t.Errorf("%.0f bytes per pod, at most %d", got, most)
	}
}

// TestReadingAPodAllocatesLittle: what reading a waiting pod of upstream's mix costs, its place in the mirror and the picture included. At
// 1,000 pods every second is of a shape of its own, at 10,000 few are. About a third more than was measured when the floor was set.
func TestReadingAPodAllocatesLittle(t *testing.T) {
	for pods, most := range map[int]struct{ bytes, objects float64 }{1_000: {2_000, 10}, 10_000: {1_400, 4}} {
		w := workload.World(workload.Steps(400), workload.Diverse(pods, seed))
		list := objectsOf(w.Pods)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, seen, err := read(w, list)
		runtime.ReadMemStats(&after)
		if err != nil || seen.Index.All().Len() != pods {
			t.Fatalf("%d pods: %v", seen.Index.All().Len(), err)
		}
		bytes := float64(after.TotalAlloc-before.TotalAlloc) / float64(pods)
		objects := float64(after.Mallocs-before.Mallocs) / float64(pods)
		t.Logf("%d pods: %.0f bytes in %.1f objects for each", pods, bytes, objects)
		if bytes > most.bytes || objects > most.objects {
			t.Errorf("%d pods: %.0f bytes in %.1f objects for each, at most %.0f in %.0f", pods, bytes, objects, most.bytes, most.objects)
		}
	}
}

// BenchmarkMirrorHeap prints what is kept of 5,000 nodes and 150,000 pods with topology.
func BenchmarkMirrorHeap(b *testing.B) {
	for b.Loop() {
		before := live()
		m := mirrorOf(b, clusterNodes)
		b.ReportMetric(float64(live()-before)/1e6, "MB-live")
		runtime.KeepAlive(m)
	}
}
