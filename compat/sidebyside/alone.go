package sidebyside

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// The large cluster that questions are asked about.
const (
	clusterNodes = 5_000
	clusterPods  = 150_000
	questions    = 2_000
)

// WriteAlone writes what is measured of our engine alone, because nothing like it can be asked upstream, or not at that size.
func WriteAlone(w io.Writer, c Choice) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	fmt.Fprintln(w, "| ours alone | measured | at least | aim |")
	fmt.Fprintln(w, "|---|---|---|---|")
	row := func(name, asked, aim string, pods int, measure func() (string, error)) error {
		if !c.takes(name, pods) {
			return nil
		}
		got, err := measure()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		_, err = fmt.Fprintf(w, "| %s | **%s** | %s | %s |\n", name, got, asked, aim)
		return err
	}
	families := bench.OnDemand(workload.Families())
	for _, n := range []int{10_000, 50_000} {
		if err := row(fmt.Sprintf("topology, %d pods", n), "15 000 pods/s", "50 000 pods/s", n, func() (string, error) {
			return rate(workload.World(families, workload.Topology(n, seed)))
		}); err != nil {
			return err
		}
	}
	if err := row(fmt.Sprintf("no topology, %d pods, from v1.Pod to the plan", clusterPods), "50 000 pods/s", "150 000 pods/s", clusterPods, fromPods); err != nil {
		return err
	}
	for _, topology := range []bool{false, true} {
		with := ""
		if topology {
			with = ", with topology"
		}
		if err := row(fmt.Sprintf("one what-if: take away one of %d nodes with %d pods%s", clusterNodes, clusterPods, with), "1 ms, 250 MB", "100 µs, 120 MB",
			clusterPods, func() (string, error) { return whatIf(topology) }); err != nil {
			return err
		}
	}
	return nil
}

// rate reads, decides and audits a few times, and says how many pods per second of processor time.
func rate(w model.World) (string, error) {
	var all []Side
	for range roundsOfOurs {
		s, err := decided(Input{World: w})
		if err != nil {
			return "", err
		}
		all = append(all, s)
	}
	m := median(all)
	return fmt.Sprintf("%.0f pods/s (%s, %d machines, %d left)", PerSecond(len(w.Pods), m.Solve), short(m.Solve), m.Machines, m.Left), nil
}

// fromPods feeds API objects to the mirror one by one, as a watch would, takes the picture and decides.
func fromPods() (string, error) {
	w := workload.World(bench.OnDemand(workload.Families()), workload.Shapes(clusterPods, seed))
	pods, shapes := objectsOf(w.Pods), map[string]bool{}
	for i := range w.Pods {
		shapes[w.Pods[i].Labels["app"]] = true
	}
	var err error
	var plan place.Plan
	var mirror *world.World
	var seen model.World
	before := live()
	in := timed(func() { mirror, seen, err = read(w, pods) })
	if err != nil {
		return "", err
	}
	heap := live() - before
	decide := timed(func() { plan = place.Decide(place.Input{World: seen}) })
	if err := sound(seen, plan); err != nil {
		return "", err
	}
	runtime.KeepAlive(pods)
	runtime.KeepAlive(mirror)
	runtime.KeepAlive(w)
	return fmt.Sprintf("%.0f pods/s (%s to read, %s to decide; %d shapes, %d machines, %d left; the mirror takes %.0f MB)", PerSecond(len(pods), in+decide), short(in),
		short(decide), len(shapes), len(plan.NewClaims), len(plan.Unscheduled), float64(heap)/1e6), nil
}

// whatIf asks about one node after the other, and weighs the picture that answers.
func whatIf(topology bool) (string, error) {
	w := workload.Cluster(clusterNodes, clusterPods, topology, seed)
	before := live()
	p := place.NewWhatIf(place.Input{World: w})
	heap := live() - before
	var all []time.Duration
	total := timed(func() {
		for i := range questions {
			start := used()
			p.Without(w.Nodes[i*37%len(w.Nodes)].Name)
			all = append(all, used()-start)
		}
	})
	slices.Sort(all)
	runtime.KeepAlive(w)
	return fmt.Sprintf("%.0f µs (99 of 100 within %.0f µs), the picture takes %.0f MB", float64((total/questions).Nanoseconds())/1e3,
		float64(all[len(all)*99/100].Nanoseconds())/1e3, float64(heap)/1e6), nil
}

// live is how many bytes are in use after garbage collection.
func live() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
