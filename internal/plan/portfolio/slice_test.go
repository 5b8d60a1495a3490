package portfolio

import (
	"math"
	"math/rand"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
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
				p.Choices = append(p.Choices, Choice{Price: price, Room: vec.Vec{cores * 950, cores * ratio * 900, 1 << 30, 110}, Cost: vec.Vec{}, Takes: takes})
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

// TestSlicesAreTheCheapest: amounts and prices prove each other. No choice is worth more than it costs, all that waits is worth what is
// spent, and no draft costs less; also after pods went away, when the solution goes on from the last one.
func TestSlicesAreTheCheapest(t *testing.T) {
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		p, want := mixed(r)
		s := p.newSliced(want)
		for range 6 {
			spent, worth := float64(s.bound()), 0.0
			for i, d := range s.rows {
				worth += s.price[i] * d.need / d.scale
				if s.price[i] < -1e-3 || s.x[i] < -1e-6 {
					t.Fatalf("seed %d: a price of %g, an amount of %g", seed, s.price[i], s.x[i])
				}
			}
			if math.Abs(spent-worth) > 2+spent*1e-6 {
				t.Fatalf("seed %d: %.1f is spent, %.1f needed", seed, spent, worth)
			}
			for ci := range p.Choices {
				if v := s.excess(ci); v < -1e-6*s.top {
					t.Fatalf("seed %d: choice %d costs %g less than its room is worth", seed, ci, -v)
				}
			}
			if d := p.fill(want, p.alone(want)); d.Missed == 0 && float64(d.Price) < spent-2 {
				t.Fatalf("seed %d: a draft costs %d, by the slice %.1f", seed, d.Price, spent)
			}
			for g, n := range want {
				k := r.Intn(n + 1)
				s.less([]Load{{g, k}}, 1)
				want[g] -= k
			}
		}
	}
}

// TestBlendsPlaceAllPods: whatever the mix, a blend is sound and leaves nobody out, or is given up because it is no better.
func TestBlendsPlaceAllPods(t *testing.T) {
	better := 0
	for seed := range int64(100) {
		p, want := mixed(rand.New(rand.NewSource(seed)))
		beat := p.fill(want, p.alone(want))
		d := p.blend(want, p.newSliced(want), beat)
		if d == nil {
			continue
		}
		if d.Price < beat.Price {
			better++
		}
		if d.Missed > 0 {
			t.Fatalf("seed %d: %d pods are left", seed, d.Missed)
		}
		for _, b := range d.Bins {
			if !p.Choices[b.Choice].Room.Covers(p.weight(b.Loads)) || !p.suits(b.Choice, b.Loads) {
				t.Fatalf("seed %d: choice %d does not hold %v", seed, b.Choice, b.Loads)
			}
			for _, l := range b.Loads {
				if p.bearable(nil, l.Group) < l.N {
					t.Fatalf("seed %d: %d pods of group %d on one machine", seed, l.N, l.Group)
				}
			}
		}
	}
	if better < 50 {
		t.Errorf("blends are better in %d of 100 mixes only", better)
	}
}
