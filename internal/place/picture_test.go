package place_test

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// TestQuestionsLeaveNoTrace asks about every node, and again: the answers are the same, and so is one from a fresh picture.
func TestQuestionsLeaveNoTrace(t *testing.T) {
	w := workload.Cluster(40, 900, true, 5)
	p := place.NewPicture(place.Input{World: w})
	first := map[string]place.Answer{}
	for _, n := range w.Nodes {
		first[n.Name] = p.Without(n.Name)
	}
	for i, n := range w.Nodes {
		if d := cmp.Diff(first[n.Name], p.Without(n.Name)); d != "" {
			t.Fatalf("%s: asked again: %s", n.Name, d)
		}
		if i%8 == 0 {
			if d := cmp.Diff(first[n.Name], place.NewPicture(place.Input{World: w}).Without(n.Name)); d != "" {
				t.Fatalf("%s: asked a fresh picture: %s", n.Name, d)
			}
		}
	}
}

// TestWhoLeavesFreesTheLimits takes a node of a pool away whose limits are spent: what is on it may be bought for again, and no more.
func TestWhoLeavesFreesTheLimits(t *testing.T) {
	w, err := worldtext.Parse(`
type D4 cpu=4 memory=16Gi zones=1 price=0.20
type D8 cpu=8 memory=32Gi zones=1 price=0.30
pool general limit.cpu=12 limit.nodes=2
node n1 pool=general type=D8 zone=1 cpu=8 memory=32Gi initialized
node n2 pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
claim c1 pool=general node=n1 is=Launched,Registered,Initialized
pod a cpu=3 node=n1
pod b cpu=4 node=n2
`)
	if err != nil {
		t.Fatal(err)
	}
	p := place.NewPicture(place.Input{World: w})
	for range 2 {
		if a := p.Without("n1"); len(a.Buy) != 1 || a.Buy[0].Options[0].Key.Type != "D4" || len(a.Buy[0].Options) != 2 || len(a.Left) > 0 {
			t.Errorf("without n1: %+v", a)
		}
		if a := p.Without("n2"); len(a.Buy) != 0 || len(a.Fits) != 1 {
			t.Errorf("without n2: %+v", a)
		}
		if a := p.Without("n1", "n2"); len(a.Buy) != 1 || len(a.Left) > 0 {
			t.Errorf("without both: %+v", a)
		}
	}
}

// TestAnswersMentionEveryPod compares an answer with the pods that have to go.
func TestAnswersMentionEveryPod(t *testing.T) {
	w := workload.Cluster(40, 2000, true, 6)
	p := place.NewPicture(place.Input{World: w})
	bought := 0
	for i := 0; i+1 < len(w.Nodes); i += 2 {
		a := p.Without(w.Nodes[i].Name, w.Nodes[i+1].Name)
		seen := map[model.PodKey]int{}
		for _, f := range a.Fits {
			if f.Node == w.Nodes[i].Name || f.Node == w.Nodes[i+1].Name {
				t.Fatalf("%s goes to %s, which is gone", f.Pod, f.Node)
			}
			seen[f.Pod]++
		}
		for _, b := range a.Buy {
			bought++
			for _, k := range b.Pods {
				seen[k]++
			}
		}
		for _, k := range a.Left {
			seen[k]++
		}
		for _, pod := range w.Pods {
			want := 0
			if pod.Node == w.Nodes[i].Name || pod.Node == w.Nodes[i+1].Name {
				want = 1
			}
			if seen[pod.Key()] != want {
				t.Fatalf("%s is mentioned %d times, want %d", pod.Key(), seen[pod.Key()], want)
			}
		}
	}
	if bought == 0 {
		t.Error("nothing was ever bought; the test asks nothing")
	}
}

// BenchmarkWithout asks what happens without one node of a large cluster.
func BenchmarkWithout(b *testing.B) {
	for _, c := range []struct {
		name     string
		topology bool
	}{{"plain", false}, {"topology", true}} {
		b.Run(c.name+"/nodes=5000", func(b *testing.B) {
			w := workload.Cluster(5000, 150_000, c.topology, 42)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p := place.NewPicture(place.Input{World: w})
			runtime.GC()
			runtime.ReadMemStats(&after)
			i := 0
			for b.Loop() {
				p.Without(w.Nodes[i*37%len(w.Nodes)].Name)
				i++
			}
			b.ReportMetric(float64(len(w.Pods)), "pods")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-picture")
		})
	}
}
