package pack

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAmountsAreWorthTheMost: with two resources, the best sound prices are where two bins, or a bin and nothing, meet. Amounts finds
// these, and leaves out what is not needed or given by no bin.
func TestAmountsAreWorthTheMost(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		needs := []float64{float64(r.IntN(1000)), 7, float64(r.IntN(100_000)), 0} // nobody gives the second, nobody needs the last
		var gives [][]float64
		var prices []float64
		lines := [][3]float64{{1, 0, 0}, {0, 1, 0}} // x, y and their sum
		for range 1 + r.IntN(8) {
			g := []float64{float64(1 + r.IntN(64)), 0, float64(r.IntN(256)), float64(r.IntN(5))}
			gives, prices = append(gives, g), append(prices, float64(1+r.IntN(10_000)))
			lines = append(lines, [3]float64{g[0], g[2], prices[len(prices)-1]})
		}
		sound := func(x, y float64) bool {
			ok := x >= -1e-9 && y >= -1e-9
			for _, l := range lines[2:] {
				ok = ok && l[0]*x+l[1]*y <= l[2]*(1+1e-9)
			}
			return ok
		}
		most, bounded := 0.0, false
		for i, a := range lines {
			bounded = bounded || i >= 2 && a[1] > 0
			for _, b := range lines[:i] {
				det := a[0]*b[1] - a[1]*b[0]
				if x, y := (a[2]*b[1]-a[1]*b[2])/det, (a[0]*b[2]-a[2]*b[0])/det; det != 0 && sound(x, y) {
					most = max(most, needs[0]*x+needs[2]*y)
				}
			}
		}
		worth, _ := Amounts(gives, prices, needs)
		if !sound(worth[0], worth[2]) || worth[1] != 0 || worth[3] != 0 {
			t.Fatalf("seed %d: %v gives %v for %v", seed, gives, worth, prices)
		}
		got := needs[0]*worth[0] + needs[2]*worth[2]
		if bounded && math.Abs(got-most) > 1e-6*(1+most) {
			t.Fatalf("seed %d: all is worth %g, where %g is possible", seed, got, most)
		}
	}
}
