package sidebyside

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// seed draws every workload of the tables.
const seed = 1

// Choice says which inputs are run.
type Choice struct {
	Most int            // leaves out inputs of more pods; 0 leaves none out
	Rows *regexp.Regexp // keeps inputs with names that it finds; nil keeps all
}

func (c Choice) takes(name string, pods int) bool {
	return (c.Most == 0 || pods <= c.Most) && (c.Rows == nil || c.Rows.MatchString(name))
}

func (c Choice) of(in []Input) []Input {
	return slices.DeleteFunc(in, func(x Input) bool { return !c.takes(x.Name, len(x.World.Pods)) })
}

// SpeedInputs are the races for time: upstream's own benchmark mix, wishes, and larger mixes.
func SpeedInputs(c Choice) []Input {
	steps := workload.Steps(400)
	var out []Input
	for _, n := range []int{1_000, 5_000, 10_000, 20_000} {
		in := Input{Name: fmt.Sprintf("upstream's mix, %d pods", n), World: workload.World(steps, workload.Diverse(n, seed)), Rounds: 1}
		if n == 1_000 {
			in.Rounds = 5
		}
		out = append(out, in)
	}
	out = append(out, HardInputs(2_000, 2_000, 2_500, 2_500)...)
	out = append(out, odd(25_000))
	return c.of(append(out,
		Input{Name: "wishes only, 4000 pods (Respect)", World: workload.World(steps, workload.Wishes(4_000, seed))},
		Input{Name: "wishes only, 4000 pods (Ignore)", World: workload.World(steps, workload.Wishes(4_000, seed)), IgnorePreferences: true},
		Input{Name: "topology, 2000 pods", World: workload.World(bench.OnDemand(workload.Families()), workload.Topology(2_000, seed))},
		Input{Name: "no topology, 5000 pods", World: workload.World(bench.OnDemand(workload.Families()), workload.Shapes(5_000, seed))}))
}

// HardInputs are so many pods with forty OR-ed terms of node affinity, in pairs that share a host, of sizes of which hardly two are the same, and of a
// hundred teams with a pool each.
func HardInputs(terms, pairs, sizes, teams int) []Input {
	families := bench.OnDemand(workload.Families())
	return []Input{
		{Name: fmt.Sprintf("forty OR-ed terms each, %d pods", terms), World: workload.World(families, workload.ManyTerms(terms, 40, seed))},
		{Name: fmt.Sprintf("in pairs by host affinity, %d pods", pairs), World: workload.World(families, workload.HostPairs(pairs, seed))},
		odd(sizes),
		{Name: fmt.Sprintf("of a hundred pools, %d pods", teams), World: workload.Teams(families, workload.Shapes(teams, seed), 100)},
	}
}

func odd(pods int) Input {
	return Input{Name: fmt.Sprintf("sizes all different, %d pods", pods),
		World: workload.World(bench.OnDemand(workload.Families()), workload.OddShapes(pods, seed))}
}

// CostInputs are the races for money: mixed shapes with and without topology on the lab's Azure and on a family of sizes with
// unequal price steps, capped and not. Inputs that are named alike up to the colon are one market.
func CostInputs(azure model.Catalog, c Choice) []Input {
	families := bench.OnDemand(workload.Families())
	var out []Input
	for _, m := range []struct {
		name string
		cat  model.Catalog
		big  bool
	}{{"Azure, at most 64 cores", bench.Capped(azure, 64), true}, {"Azure, any size", azure, true},
		{"families, at most 16 cores", bench.Capped(families, 16), false}, {"families", families, false}} {
		add := func(n int, topology bool) {
			in := Input{Name: fmt.Sprintf("%s: %d pods", m.name, n), World: workload.World(m.cat, workload.Shapes(n, seed)), Bound: true}
			if topology {
				in.Name, in.World = in.Name+" with topology", workload.World(m.cat, workload.Topology(n, seed))
			}
			out = append(out, in)
		}
		for _, n := range []int{200, 1_000, 3_000, 10_000} {
			add(n, false)
		}
		if m.big {
			add(20_000, false)
		}
		add(1_000, true)
		if m.big {
			add(10_000, true)
		}
	}
	return c.of(out)
}

// WriteSpeed writes one row per input as a Markdown table, each as soon as it is measured.
func WriteSpeed(w io.Writer, inputs []Input) error {
	if len(inputs) == 0 {
		return nil
	}
	fmt.Fprintln(w, "| input | upstream: set-up + solve | ours: read + decide + audit | upstream, pods/s | ours, pods/s | times as fast | … without its set-up | deciding alone | left: upstream / ours |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, in := range inputs {
		r, err := Race(in)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "| %s | %s + %s | %s + %s + %s | %.0f | %.0f | **%.0f** | %.0f | %.0f | %d / %d |\n", r.Name, short(r.Upstream.Setup), short(r.Upstream.Solve),
			short(r.Ours.Read), short(r.Ours.Decide()), short(r.Ours.Audit),
			PerSecond(r.Pods, r.Upstream.Setup+r.Upstream.Solve), PerSecond(r.Pods, r.Ours.Solve), r.Faster(), r.FasterAtSolving(), r.FasterAtDeciding(), r.Upstream.Left, r.Ours.Left)
		if err != nil {
			return err
		}
	}
	return nil
}

// many machines are so many that the last, half-empty one no longer counts for much.
const many = 100

// WriteCost writes one row per input, and at the end the mean saving per market, and the mean gap to the bound of plans with many
// machines and of all.
func WriteCost(w io.Writer, inputs []Input) error {
	if len(inputs) == 0 {
		return nil
	}
	fmt.Fprintln(w, "| input | upstream, $/h (machines) | ours, $/h (machines) | less than upstream | at least, $/h (tier) | ours above that | left: upstream / ours |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	var all, large mean
	savings := map[string]*mean{}
	var markets []string
	for _, in := range inputs {
		r, err := Race(in)
		if err != nil {
			return err
		}
		market, _, _ := strings.Cut(r.Name, ":")
		if savings[market] == nil {
			savings[market] = &mean{}
			markets = append(markets, market)
		}
		savings[market].add(r.Saving())
		all.add(r.Gap())
		if r.Ours.Machines >= many {
			large.add(r.Gap())
		}
		if _, err := fmt.Fprintf(w, "| %s | %.3f (%d) | %.3f (%d) | **%.1f %%** | %.3f (%s) | %.2f %% | %d / %d |\n", r.Name, r.Upstream.Price.Float(), r.Upstream.Machines,
			r.Ours.Price.Float(), r.Ours.Machines, 100*r.Saving(), r.Bound.Float(), r.Tier, 100*r.Gap(), r.Upstream.Left, r.Ours.Left); err != nil {
			return err
		}
	}
	for _, m := range markets {
		fmt.Fprintf(w, "| mean of %s | | | **%s** | | | |\n", m, savings[m])
	}
	fmt.Fprintf(w, "| mean of plans with %d machines or more | | | | | **%s** | |\n", many, large)
	_, err := fmt.Fprintf(w, "| mean of all | | | | | %s | |\n", all)
	return err
}

// mean of shares.
type mean struct {
	sum, least, most float64
	n                int
}

func (m *mean) add(v float64) {
	if m.n == 0 || v < m.least {
		m.least = v
	}
	if m.n == 0 || v > m.most {
		m.most = v
	}
	m.sum, m.n = m.sum+v, m.n+1
}

// String prints "1.2 % (0.3 to 2.1)".
func (m mean) String() string {
	if m.n == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*m.sum/float64(m.n), 100*m.least, 100*m.most)
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
