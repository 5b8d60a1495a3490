package bound

import (
	"math"
	"slices"
)

// slowness is how much longer a number takes in the small linear programs of loads than in the master.
const slowness = 10

// knapsack is the question what the most valuable load of one machine is.
type knapsack struct {
	q         *part
	m         int // position in part.machines
	worth     []float64
	low, high []float64 // by position in fits
}

// load is an answer; pods may be cut.
type load struct {
	n      []float64 // by position in fits
	prices []float64 // of resources: they prove that no load is worth more than value
	value  float64
}

func (q *part) knapsack(m int, worth []float64) knapsack {
	k := knapsack{q: q, m: m, worth: worth, low: make([]float64, len(q.fits[m])), high: make([]float64, len(q.fits[m]))}
	for i, f := range q.fits[m] {
		k.high[i] = f.most
	}
	return k
}

// split finds the best load when pods may be cut. ok is false when not even the low ones fit.
func (k knapsack) split() (out load, ok bool) {
	fits := k.q.fits[k.m]
	l := lp{limit: slices.Clone(k.q.room[k.m])}
	var at []int
	base := 0.0
	for i, f := range fits {
		if k.low[i] > k.high[i] {
			return out, false
		}
		base += k.low[i] * k.worth[f.g]
		for r, v := range k.q.need[f.g] {
			l.limit[r] -= v * k.low[i]
		}
		if k.high[i] > k.low[i] && k.worth[f.g] > 0 {
			at = append(at, i)
			l.value, l.upper = append(l.value, k.worth[f.g]), append(l.upper, k.high[i]-k.low[i])
		}
	}
	for r := range l.limit {
		if l.limit[r] < -tiny {
			return out, false
		}
		l.limit[r] = max(0, l.limit[r])
		row := make([]float64, len(at))
		for c, i := range at {
			row[c] = k.q.need[fits[i].g][r]
		}
		l.rows = append(l.rows, row)
	}
	top := 0.0
	for _, v := range l.value {
		top = max(top, v)
	}
	for c := range l.value {
		l.value[c] /= top
	}
	s := l.solve()
	k.q.work += slowness * (s.work + len(at)*len(l.limit) + 1)
	out = load{n: slices.Clone(k.low), prices: s.dual, value: base + s.value*top}
	for c, i := range at {
		out.n[i] += s.x[c]
	}
	for r := range out.prices {
		out.prices[r] *= top
	}
	return out, true
}

// fraction names the position at which to branch, or -1 when the load is whole: large pods that are cut in the middle
// first, since deciding about them changes most.
func (k knapsack) fraction(l load) int {
	best, at := 0.0, -1
	for i, n := range l.n {
		if d := math.Abs(n - math.Round(n)); d > 1e-6 {
			size := 0.0
			for _, v := range k.q.need[k.q.fits[k.m][i].g] {
				size = max(size, v)
			}
			if size*d > best {
				best, at = size*d, i
			}
		}
	}
	return at
}
