package bench

import (
	"bufio"
	_ "embed"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/pack"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

var long = flag.Bool("best", false, "look for the best plans for hours, and write testdata/best.txt")

// bestPath holds, per world: its name, the checksum of the question, the price of the best plan known, and the highest bound.
const bestPath = "testdata/best.txt"

// The floors, in per cent, on average over the worlds of a kind on one cloud, and over all.
const (
	mostOver, meanOver = 2.0, 1.0
	mostUnder          = 1.5
)

// longSteps is what looking for the best plan of one world may cost.
const longSteps = 100_000_000

// priced is a world with what is known of its plans.
type priced struct {
	catalogue, kind string
	seed            uint64
	world           model.World
}

func (c priced) name() string {
	return strings.ReplaceAll(fmt.Sprintf("%s/%s/%d", c.catalogue, c.kind, c.seed), " ", "-")
}

// known is what the file says about a world.
type known struct {
	sum         uint64
	best, least model.Price
}

// worldsWithPrices are users of every kind on both clouds.
func worldsWithPrices(t *testing.T) []priced {
	azure, err := asked(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	azure = only(azure, func(model.InstanceType) bool { return true }, func(o model.Offering) bool { return o.Available && o.CapacityType == model.OnDemand })
	aws, err := AWS()
	if err != nil {
		t.Fatal(err)
	}
	var out []priced
	for _, k := range workload.Kinds() {
		for seed := uint64(1); seed <= 3; seed++ {
			pods := k.Pods(300, seed)
			out = append(out, priced{"azure", k.Name, seed, workload.World(azure, pods)}, priced{"aws", k.Name, seed, workload.World(aws, pods)})
		}
	}
	return out
}

// loose are the kinds for which the bound is further off: pods so small that a machine is full of many, or half full of a few.
var loose = map[string]float64{"aws/crowd": 10, "azure/crowd": 3, "azure/disks": 3.5, "aws/disks": 1.8}

// TestPricesNearTheBest: whatever kind of pods, and whichever cloud, plans cost little more than the best that are known,
// and the bound is little below these. Those come from make best, which lets column generation work for long.
func TestPricesNearTheBest(t *testing.T) {
	file := readBest(t)
	type sums struct{ over, under, n float64 }
	kinds := map[string]*sums{}
	for _, c := range worldsWithPrices(t) {
		t.Run(c.name(), func(t *testing.T) {
			p := decide(c.world)
			problem := bound.FromWorld(c.world, without(c.world.Pods, p.Unscheduled))
			if all := bound.FromWorld(c.world, c.world.Pods); int(all.Unplaceable) != len(p.Unscheduled) {
				t.Fatalf("%d pods are left, %d of which no machine holds", len(p.Unscheduled), all.Unplaceable)
			}
			k, sum := file[c.name()], checksum(problem)
			if *long && k.sum != sum {
				k = known{sum: sum, best: p.Price}
			}
			if k.sum != sum {
				t.Fatal("another question than when its best plan was found: run make best")
			}
			least := bound.Best(problem, bound.Brisk)
			if *long {
				price, floor := longSearch(t, problem, p.Price)
				k.best, k.least = min(k.best, price), max(k.least, floor, least.Value)
				file[c.name()] = k
				writeBest(t, file)
			}
			best := min(k.best, p.Price)
			over, under := 100*(p.Price.Float()/best.Float()-1), 100*(1-least.Value.Float()/best.Float())
			t.Logf("%s on %d machines, %.2f %% over %s; bound %s, %.2f %% under, at best %.2f", p.Price, len(p.NewClaims), over, best,
				least, under, 100*(1-k.least.Float()/best.Float()))
			name := c.catalogue + "/" + c.kind
			if kinds[name] == nil {
				kinds[name] = &sums{}
			}
			s := kinds[name]
			s.over, s.under, s.n = s.over+over, s.under+under, s.n+1
		})
	}
	all := sums{}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		s := kinds[k]
		over, under := s.over/s.n, s.under/s.n
		t.Logf("%-18s %5.2f %% over the best, bound %5.2f %% under", k, over, under)
		if most := max(mostUnder, loose[k]); over > mostOver || under > most {
			t.Errorf("%s: plans are %.2f %% over the best known, at most %.1f; bounds %.2f %% under it, at most %.1f", k, over, mostOver, under, most)
		}
		all.over, all.under, all.n = all.over+over, all.under+under, all.n+1
	}
	t.Logf("on average %.2f %% over the best, bound %.2f %% under", all.over/all.n, all.under/all.n)
	if all.over > meanOver*all.n {
		t.Errorf("plans are %.2f %% over the best known on average, at most %.1f", all.over/all.n, meanOver)
	}
}

// without is the pods that are not on the list.
func without(pods []model.Pod, list []place.Unscheduled) []model.Pod {
	left := map[model.PodKey]bool{}
	for _, u := range list {
		left[u.Pod] = true
	}
	return slices.DeleteFunc(slices.Clone(pods), func(p model.Pod) bool { return left[p.Key()] })
}

// packInput is a problem as pack has it.
func packInput(p bound.Problem) pack.Input {
	in := pack.Input{Steps: longSteps}
	for i, g := range p.Groups {
		in.Items = append(in.Items, pack.Item{Size: g.Need, Count: int(g.Count), Kind: i})
	}
	for _, m := range p.Machines {
		in.Bins = append(in.Bins, pack.Bin{Room: m.Room, Price: int64(m.Price), Takes: make([]uint64, len(p.Groups)/64+1)})
	}
	for i, g := range p.Groups {
		for _, m := range g.On {
			in.Bins[m].Takes[i>>6] |= 1 << (i & 63)
		}
	}
	return in
}

// longSearch is the cheapest packing and the highest bound that much work finds.
func longSearch(t *testing.T, p bound.Problem, start model.Price) (best, least model.Price) {
	in := packInput(p)
	got := pack.Pack(in)
	left := 0
	for _, n := range got.Left {
		left += n
	}
	best = start
	if left == 0 && holds(in, got) {
		best = min(best, model.Price(got.Price))
	}
	c := bound.Best(p, bound.Patient)
	least, err := bound.Check(c, p)
	if err != nil {
		t.Fatal(err)
	}
	return best, least
}

// holds reports whether all bins hold what is in them, and all items are in bins.
func holds(in pack.Input, out pack.Packing) bool {
	count := make([]int, len(in.Items))
	for _, x := range out.Patterns {
		room := slices.Clone(in.Bins[x.Bin].Room)
		for _, l := range x.Loads {
			count[l.Item] += l.N * x.Times
			for r, v := range in.Items[l.Item].Size {
				if room[r] -= v * int64(l.N); room[r] < 0 {
					return false
				}
			}
			if k := in.Items[l.Item].Kind; in.Bins[x.Bin].Takes[k>>6]&(1<<(k&63)) == 0 {
				return false
			}
		}
	}
	for i, x := range in.Items {
		if count[i] != x.Count {
			return false
		}
	}
	return true
}

// checksum tells questions apart.
func checksum(p bound.Problem) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, struct {
		Resources   []string
		Groups      []bound.Group
		Machines    []bound.Machine
		Unplaceable int64
	}{p.Resources, p.Groups, p.Machines, p.Unplaceable})
	return h.Sum64()
}

func readBest(t *testing.T) map[string]known {
	out := map[string]known{}
	f, err := os.Open(bestPath)
	if err != nil {
		if *long {
			return out
		}
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var name string
		var k known
		if _, err := fmt.Sscanf(s.Text(), "%s %x %d %d", &name, &k.sum, &k.best, &k.least); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		out[name] = k
	}
	return out
}

func writeBest(t *testing.T, file map[string]known) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(file)) {
		fmt.Fprintf(&text, "%s %x %d %d\n", name, file[name].sum, file[name].best, file[name].least)
	}
	if err := os.WriteFile(bestPath, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
