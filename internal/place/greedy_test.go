package place

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// hopeless is a draft that every packing beats.
func hopeless() *draft { return &draft{missed: 1 << 40} }

// plainGreedy is greedy pod by pod, without queues, stamps or floors: machines are put in order of their number of pods before each
// pod, those that are alike stay as they stood.
func plainGreedy(p *packer, want []int) *draft {
	var order []int
	for g := range want {
		order = append(order, g)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if p.sizes[a][0] != p.sizes[b][0] {
			return int(p.sizes[b][0] - p.sizes[a][0])
		}
		return int(p.sizes[b][1] - p.sizes[a][1])
	})
	var machines [][]load
	pods := func(m []load) (n int) {
		for _, l := range m {
			n += l.n
		}
		return n
	}
	with := func(m []load, g int) []load {
		m = slices.Clone(m)
		if i := slices.IndexFunc(m, func(l load) bool { return l.group == g }); i >= 0 {
			m[i].n++
			return m
		}
		return append(m, load{g, 1})
	}
	for _, g := range order {
	pods:
		for range want[g] {
			slices.SortStableFunc(machines, func(a, b []load) int { return pods(a) - pods(b) })
			for i, m := range machines {
				if p.bearable(m, g) > 0 && p.cheapest(with(m, g), p.limits) >= 0 {
					machines[i] = with(m, g)
					continue pods
				}
			}
			if p.bearable(nil, g) > 0 && p.cheapest([]load{{g, 1}}, p.limits) >= 0 {
				machines = append(machines, []load{{g, 1}})
			}
		}
	}
	d := &draft{}
	for _, m := range machines {
		d.bins = append(d.bins, bin{p.cheapest(m, p.limits), m})
	}
	return p.settle(d, want)
}

// TestGreedyPacksAsItIsKnown compares queues with sorting before every pod.
func TestGreedyPacksAsItIsKnown(t *testing.T) {
	for seed := range int64(60) {
		p, want := mixed(rand.New(rand.NewSource(seed)))
		got, should := p.greedy(want, p.newSliced(want).prices(want), hopeless()), plainGreedy(p, want)
		if got.missed != should.missed || got.price != should.price || len(got.bins) != len(should.bins) {
			t.Fatalf("seed %d: %d machines for %d, %d pods left; pod by pod %d machines for %d, %d pods left", seed, len(got.bins), got.price, got.missed,
				len(should.bins), should.price, should.missed)
		}
	}
}

// TestGreedyIsGivenUpOnlyForWhatIsNoDearer: whatever is given up early would have ended no cheaper.
func TestGreedyIsGivenUpOnlyForWhatIsNoDearer(t *testing.T) {
	early, kept := 0, 0
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		p, want := mixed(r)
		whole := p.greedy(want, p.newSliced(want).prices(want), hopeless())
		rival := &draft{price: whole.price * int64(60+r.Intn(45)) / 100}
		switch d := p.greedy(want, p.newSliced(want).prices(want), rival); {
		case d != nil:
			kept++
		case whole.missed > 0 || whole.price >= rival.price:
			early++
		default:
			t.Fatalf("seed %d: it costs %d with %d pods left, and is given up for %d", seed, whole.price, whole.missed, rival.price)
		}
	}
	if early < 50 || kept < 50 {
		t.Errorf("%d were given up, %d were not: there is little to compare", early, kept)
	}
}

// TestGreedyIsNeverCutShort packs the largest inputs that docs/performance.md speaks of, to the end, within the part of the budget that the
// packing may take.
func TestGreedyIsNeverCutShort(t *testing.T) {
	for _, c := range []struct {
		name string
		w    model.World
	}{
		{"upstream's mix", workload.World(workload.Steps(400), workload.Diverse(20_000, 1))},
		{"topology", workload.World(workload.Families(), workload.Topology(50_000, 1))},
		{"many shapes", workload.World(workload.Families(), workload.Shapes(150_000, 1))},
	} {
		d := &decision{in: Input{World: c.w}, grant: noWishes}
		d.arrange(waiting(&c.w))
		d.undo = &undo{d: d, light: true}
		d.seatAll()
		d.buying = d.purchaseGroups()
		p, want, _ := d.packing(d.sellers)
		p.steps = DefaultLimit / greedyShare
		whole := p.greedy(want, p.newSliced(want).prices(want), hopeless())
		if whole == nil {
			t.Errorf("%s: cut short", c.name)
			continue
		}
		t.Logf("%s: %d steps for %d pods, %d machines", c.name, DefaultLimit/greedyShare-p.steps, len(c.w.Pods), len(whole.bins))
		if whole.missed > 0 {
			t.Errorf("%s: %d pods are left", c.name, whole.missed)
		}
	}
}
