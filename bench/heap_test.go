package bench

import (
	"runtime"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// pictured returns what a picture of the world keeps alive beside the world itself, in bytes.
func pictured(w model.World) float64 {
	before := liveHeap()
	p := place.NewWhatIf(place.Input{World: w})
	size := liveHeap() - before
	runtime.KeepAlive(p)
	runtime.KeepAlive(w)
	return size
}

// TestAPictureIsSmall: a picture keeps little per pod, and nothing of what making it took.
func TestAPictureIsSmall(t *testing.T) {
	const most = 500 // bytes per pod; about twice what was measured when the floor was set
	w := workload.Cluster(500, 15_000, true, 1)
	got := pictured(w) / float64(len(w.Pods))
	t.Logf("%.0f bytes per pod", got)
	if got > most {
		t.Errorf("%.0f bytes per pod, at most %d", got, most)
	}
}

// BenchmarkPictureHeap prints what the engine keeps for 5,000 nodes and 150,000 pods with topology.
func BenchmarkPictureHeap(b *testing.B) {
	w := workload.Cluster(5_000, 150_000, true, 1)
	size := 0.0
	for b.Loop() {
		size = pictured(w)
	}
	b.ReportMetric(size/1e6, "MB-live")
	b.ReportMetric(size/float64(len(w.Pods)), "B/pod")
}
