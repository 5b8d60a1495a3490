package sidebyside

import (
	"fmt"
	"io"
	"time"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// seed draws every workload of the tables.
const seed = 1

// SpeedInputs are the races for time: upstream's own benchmark mix, wishes, and larger mixes. Those of more pods than most
// are left out; 0 leaves none out.
func SpeedInputs(most int) []Input {
	steps := workload.Steps(400)
	var out []Input
	for _, n := range []int{1_000, 5_000, 10_000, 20_000} {
		in := Input{Name: fmt.Sprintf("upstream's mix, %d pods", n), World: workload.World(steps, workload.Diverse(n, seed)), Rounds: 1}
		if n == 1_000 {
			in.Rounds = 5
		}
		out = append(out, in)
	}
	out = append(out,
		Input{Name: "wishes only, 4000 pods (Respect)", World: workload.World(steps, workload.Wishes(4_000, seed))},
		Input{Name: "topology, 2000 pods", World: workload.World(bench.OnDemand(workload.Families()), workload.Topology(2_000, seed))},
		Input{Name: "no topology, 5000 pods", World: workload.World(bench.OnDemand(workload.Families()), workload.Shapes(5_000, seed))})
	return upTo(out, most)
}

// CostInputs are the races for money: mixed shapes with and without topology on the lab's Azure and on a family of sizes
// with unequal price steps, capped at 64 cores and not.
func CostInputs(azure model.Catalog, most int) []Input {
	families := bench.OnDemand(workload.Families())
	var out []Input
	for _, c := range []struct {
		name string
		cat  model.Catalog
	}{{"Azure, at most 64 cores", bench.Capped(azure, 64)}, {"Azure, any size", azure},
		{"families, at most 16 cores", bench.Capped(families, 16)}, {"families", families}} {
		for _, w := range []struct {
			name string
			pods []model.Pod
		}{{"200 pods", workload.Shapes(200, seed)}, {"1000 pods", workload.Shapes(1_000, seed)}, {"3000 pods", workload.Shapes(3_000, seed)},
			{"1000 pods with topology", workload.Topology(1_000, seed)}} {
			out = append(out, Input{Name: c.name + ": " + w.name, World: workload.World(c.cat, w.pods), Bound: true})
		}
	}
	return upTo(out, most)
}

func upTo(in []Input, most int) []Input {
	var out []Input
	for _, x := range in {
		if most == 0 || len(x.World.Pods) <= most {
			out = append(out, x)
		}
	}
	return out
}

// WriteSpeed writes one row per input as a Markdown table, each as soon as it is measured.
func WriteSpeed(w io.Writer, inputs []Input) error {
	fmt.Fprintln(w, "| input | upstream: set-up + solve | ours | upstream, pods/s | ours, pods/s | times as fast | … without its set-up | left: upstream / ours |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, in := range inputs {
		r, err := Race(in)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "| %s | %s + %s | %s | %.0f | %.0f | **%.0f** | %.0f | %d / %d |\n", r.Name, short(r.Upstream.Setup), short(r.Upstream.Solve), short(r.Ours.Solve),
			PerSecond(r.Pods, r.Upstream.Setup+r.Upstream.Solve), PerSecond(r.Pods, r.Ours.Solve), r.Faster(), r.FasterAtSolving(), r.Upstream.Left, r.Ours.Left)
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteCost writes one row per input, and the mean saving and gap at the end.
func WriteCost(w io.Writer, inputs []Input) error {
	fmt.Fprintln(w, "| input | upstream, $/h (machines) | ours, $/h (machines) | less than upstream | at least, $/h (tier) | ours above that | left: upstream / ours |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	saving, gap := 0.0, 0.0
	for _, in := range inputs {
		r, err := Race(in)
		if err != nil {
			return err
		}
		saving, gap = saving+r.Saving(), gap+r.Gap()
		if _, err := fmt.Fprintf(w, "| %s | %.3f (%d) | %.3f (%d) | **%.1f %%** | %.3f (%s) | %.1f %% | %d / %d |\n", r.Name, r.Upstream.Price.Float(), r.Upstream.Machines,
			r.Ours.Price.Float(), r.Ours.Machines, 100*r.Saving(), r.Bound.Float(), r.Tier, 100*r.Gap(), r.Upstream.Left, r.Ours.Left); err != nil {
			return err
		}
	}
	n := float64(max(len(inputs), 1))
	_, err := fmt.Fprintf(w, "| mean | | | **%.1f %%** | | %.1f %% | |\n", 100*saving/n, 100*gap/n)
	return err
}

func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= 100*time.Millisecond:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
