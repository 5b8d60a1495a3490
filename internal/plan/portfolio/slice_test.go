package portfolio

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/unbeaten"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// mixed draws choices of three ratios of memory per core in two zones, and groups that fit anywhere or in one zone, some of them tied.
func mixed(r *rand.Rand) (*Packer, []int) {
	p := &Packer{Steps: 1 << 30, Counts: 2, Limits: []vec.Vec{{}}}
	for zone := range 2 {
		for _, cores := range []int64{2, 4, 8, 16} {
			for _, ratio := range []int64{2, 4, 8} {
				price := cores * (40_000 + 3_000*ratio) * int64(95+r.Intn(10)) / 100
				takes := bitset.New(3)
				takes.Add(0)
				takes.Add(1 + zone)
				p.Choices = append(p.Choices, Choice{Price: price, Option: unbeaten.Option{
					Room: vec.Vec{cores * 950, cores * ratio * 900, 1 << 30, 110}, Cost: vec.Vec{}, Takes: takes}})
			}
		}
	}
	var want []int
	for range 3 + r.Intn(30) {
		cpu := int64(100 + r.Intn(1800))
		p.Sizes = append(p.Sizes, vec.Vec{cpu, cpu*int64(1+r.Intn(8))*9/10 + 1, 0, 1})
		p.Kinds = append(p.Kinds, r.Intn(3))
		var ties []Tie
		if at := r.Intn(6); at < p.Counts {
			ties = []Tie{{Count: int32(at), Adds: 1, Limit: int32(1 + r.Intn(3))}}
		}
		p.Ties = append(p.Ties, ties)
		want = append(want, r.Intn(60))
	}
	return p, want
}

// TestNoDraftCostsLessThanSlices: no machine is worth more than it costs, all that waits is worth what slices cost, and no draft costs less.
func TestNoDraftCostsLessThanSlices(t *testing.T) {
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		p, want := mixed(r)
		for range 6 {
			worth, bound := p.bySlice(want, 1+r.Intn(maxFamilies))
			sum, pods := 0.0, 0.0
			for g, n := range want {
				sum, pods = sum+float64(worth[g])*float64(n)/1024, pods+float64(n)
			}
			if math.Abs(sum-float64(bound)) > 2+pods/1024+sum*1e-6 {
				t.Fatalf("seed %d: pods are worth %.1f, slices cost %d", seed, sum, bound)
			}
			for _, guide := range [][]int64{worth, p.alone(want)} {
				d := p.fill(want, guide)
				if d.Missed == 0 && d.Price < bound-2 {
					t.Fatalf("seed %d: a draft costs %d, by the slice %d", seed, d.Price, bound)
				}
				for _, b := range d.Bins {
					if v, price := -p.waste(b, worth), p.Choices[b.Choice].Price; v > 1024+price/100 {
						t.Fatalf("seed %d: a machine at %d holds what is worth %d / 1024 more", seed, price, v)
					}
				}
			}
			for g, n := range want {
				want[g] -= r.Intn(n + 1)
			}
		}
	}
}

// TestMachinesThatAreAlikeAreBoughtByTurns: pods that may go anywhere do not all follow the few that may not into the first of three
// zones in which machines cost and hold the same.
func TestMachinesThatAreAlikeAreBoughtByTurns(t *testing.T) {
	const zones = 3
	p := &Packer{Steps: 1 << 30, Limits: []vec.Vec{{}}}
	for zone := range zones {
		takes := bitset.New(1 + zones)
		takes.Add(0)
		takes.Add(1 + zone)
		p.Choices = append(p.Choices, Choice{Price: 1 << 20, Option: unbeaten.Option{
			Room: vec.Vec{4_000, 16_000, 1 << 30, 110}, Cost: vec.Vec{}, Takes: takes}})
	}
	var want []int
	for kind := range 1 + zones {
		p.Sizes, p.Kinds, p.Ties = append(p.Sizes, vec.Vec{900 + int64(min(kind, 1))*100, 100, 0, 1}), append(p.Kinds, kind), append(p.Ties, nil)
		want = append(want, []int{300, 80}[min(kind, 1)])
	}
	d := p.fill(want, p.alone(want))
	in := make([]int, zones)
	for _, b := range d.Bins {
		in[b.Choice]++
	}
	t.Log(in)
	if d.Missed > 0 || slices.Max(in)*2 > 3*slices.Min(in) {
		t.Errorf("%d pods are left, the zones have %v machines", d.Missed, in)
	}
}
