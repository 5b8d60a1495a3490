package place

import (
	"math"
	"math/rand"
	"testing"
)

// mixed draws choices of three ratios of memory per core in two zones, and groups that fit anywhere or in one zone, some of them tied.
func mixed(r *rand.Rand) (*packer, []int) {
	p := &packer{uses: (&Input{}).uses, steps: 1 << 30, knots: 2, limits: []vec{{}}}
	for zone := range 2 {
		for _, cores := range []int64{2, 4, 8, 16} {
			for _, ratio := range []int64{2, 4, 8} {
				price := cores * (40_000 + 3_000*ratio) * int64(95+r.Intn(10)) / 100
				takes := newSet(3)
				takes.add(0)
				takes.add(1 + zone)
				p.choices = append(p.choices, option{price: price, room: vec{cores * 950, cores * ratio * 900, 1 << 30, 110}, cost: vec{}, takes: takes})
			}
		}
	}
	var want []int
	for range 3 + r.Intn(30) {
		cpu := int64(100 + r.Intn(1800))
		p.sizes = append(p.sizes, vec{cpu, cpu*int64(1+r.Intn(8))*9/10 + 1, 0, 1})
		p.kind = append(p.kind, r.Intn(3))
		var ties []knot
		if at := r.Intn(6); at < p.knots {
			ties = []knot{{at: int32(at), adds: 1, limit: int32(1 + r.Intn(3))}}
		}
		p.ties = append(p.ties, ties)
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
			for ci := range p.choices {
				if v := s.excess(ci); v < -1e-6*s.top {
					t.Fatalf("seed %d: choice %d costs %g less than its room is worth", seed, ci, -v)
				}
			}
			if d := p.fill(want, p.alone(want)); d.missed == 0 && float64(d.price) < spent-2 {
				t.Fatalf("seed %d: a draft costs %d, by the slice %.1f", seed, d.price, spent)
			}
			for g, n := range want {
				k := r.Intn(n + 1)
				s.less([]load{{g, k}}, 1)
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
		if d.price < beat.price {
			better++
		}
		if d.missed > 0 {
			t.Fatalf("seed %d: %d pods are left", seed, d.missed)
		}
		for _, b := range d.bins {
			if !p.choices[b.choice].room.covers(p.weight(b.loads)) || !p.suits(b.choice, b.loads) {
				t.Fatalf("seed %d: choice %d does not hold %v", seed, b.choice, b.loads)
			}
			for _, l := range b.loads {
				if p.bearable(nil, l.group) < l.n {
					t.Fatalf("seed %d: %d pods of group %d on one machine", seed, l.n, l.group)
				}
			}
		}
	}
	if better < 50 {
		t.Errorf("blends are better in %d of 100 mixes only", better)
	}
}
