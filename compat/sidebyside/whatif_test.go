package sidebyside

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/compat/upstream"
	"github.com/karpenter-aks/karpenter/internal/place"
)

var whatIfNodes = flag.Int("whatif-nodes", 60, "how many nodes, of thirty pods each when full, TestWhatIfsAreFaster asks about")

// timesFaster is how many times as fast one what-if must be, our own set-up shared among the questions of a sweep. It stands far below what is measured.
const timesFaster = 100

// TestWhatIfsAreFaster asks both engines where the pods of a node would go if it left: one node after the other, of a cluster with a fifth of its pods gone.
func TestWhatIfsAreFaster(t *testing.T) {
	const asked = 5 // of upstream; it takes long
	for _, topology := range []bool{false, true} {
		t.Run(fmt.Sprintf("topology=%v", topology), func(t *testing.T) {
			w := bench.Sparse(*whatIfNodes, 30**whatIfNodes, topology, 0.8, 1)
			ours := timed(func() {
				p := place.NewWhatIf(place.Input{World: w})
				for i := range w.Claims {
					p.Without(w.Claims[i].NodeName)
				}
			}) / time.Duration(len(w.Claims))

			f, err := upstream.NewFleet(w)
			if err != nil {
				t.Fatal(err)
			}
			list, err := f.Candidates()
			if err != nil || len(list) < asked {
				t.Fatalf("%d candidates: %v", len(list), err)
			}
			theirs := timed(func() {
				for i := range asked {
					err = f.WithoutOne(list[i*len(list)/asked])
					if err != nil {
						break
					}
				}
			}) / asked
			if err != nil {
				t.Fatal(err)
			}
			times := theirs.Seconds() / ours.Seconds()
			t.Logf("%d nodes, %d pods: ours %v, upstream %v: %.0f times as fast", len(w.Nodes), len(w.Pods), ours, theirs, times)
			if times < timesFaster {
				t.Errorf("%.0f times as fast as upstream, want at least %d", times, timesFaster)
			}
		})
	}
}
