package leastprice

import (
	"math"
	"math/rand/v2"
	"testing"
)

// cheapestMix tries all pairs of machines bought by the slice: an optimum of a program with two rows
// needs no more. Points are what a micro-dollar buys.
func cheapestMix(points []price, core, byte float64) float64 {
	best := math.Inf(1)
	for _, a := range points {
		for _, b := range points {
			// x of a and y of b: x*a.core + y*b.core >= core, and so for bytes.
			det := a.core*b.byte - b.core*a.byte
			x, y := max(core/a.core, byte/a.byte), 0.0
			if math.Abs(det) > 1e-12 {
				s, t := (core*b.byte-b.core*byte)/det, (a.core*byte-core*a.byte)/det
				if s >= 0 && t >= 0 && s+t < x {
					x, y = s, t
				}
			}
			best = min(best, x+y)
		}
	}
	return best
}

func TestNoMixOfMachinesCostsLessThanTheBoundAndOneCostsAsMuch(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		points := make([]price, 1+r.IntN(8))
		for i := range points {
			points[i] = price{core: 1 + 9*r.Float64(), byte: 1 + 9*r.Float64()}
			if i > 0 && r.IntN(4) == 0 {
				points[i] = points[i-1] // several machines are alike
			}
		}
		mixes := append([]price(nil), points...)
		l := hull(points)
		for range 20 {
			core, byte := 1+r.Int64N(1e9), 1+r.Int64N(1e9)
			got := float64(l.Of(core, byte))
			want := cheapestMix(mixes, float64(core), float64(byte))
			if got > math.Ceil(want) || got < want*(1-1e-6)-1 {
				t.Fatalf("seed %d: %d cores and %d bytes cost %v, the cheapest mix %v",
					seed, core, byte, got, want)
			}
		}
	}
}

func TestWhereNothingIsSoldNothingIsKnown(t *testing.T) {
	if got := hull(nil).Of(1000, 1<<30); got != 0 {
		t.Errorf("%v", got)
	}
	if got := hull([]price{{core: 2}}).Of(4000, 1<<30); got != 2000 {
		t.Errorf("machines without memory: %v for 4000 at 2 each", got)
	}
}
