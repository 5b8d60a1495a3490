package bound

import (
	"cmp"
	"math"
	"slices"
)

// knapsack is the question what the most valuable load of one machine is.
type knapsack struct {
	q         *part
	m         int // position in part.machines
	worth     []float64
	low, high []float64 // by position in fits
}

// load is an answer, whole or cut.
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
	k.q.work += s.work + len(at)*len(l.limit) + 1
	out = load{n: slices.Clone(k.low), prices: s.dual, value: base + s.value*top}
	for c, i := range at {
		out.n[i] += s.x[c]
	}
	for r := range out.prices {
		out.prices[r] *= top
	}
	return out, true
}

// fraction names the position whose number is farthest from whole, or -1.
func (l load) fraction() int {
	best, at := 1e-6, -1
	for i, n := range l.n {
		if d := math.Abs(n - math.Round(n)); d > best {
			best, at = d, i
		}
	}
	return at
}

// whole finds the best load of whole pods by branch and bound. atMost is proven: no load is worth more. The search ends after
// the given number of nodes; then atMost is what is left of the cut loads.
func (k knapsack) whole(nodes int) (best load, atMost float64) {
	type open struct {
		low, high []float64
		bound     float64
	}
	stack := []open{{k.low, k.high, math.Inf(1)}}
	for ; len(stack) > 0 && nodes > 0; nodes-- {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at.bound <= best.value*(1+tiny) {
			continue
		}
		k.low, k.high = at.low, at.high
		cut, ok := k.split()
		if !ok || cut.value <= best.value*(1+tiny) {
			continue
		}
		f := cut.fraction()
		if down := k.rounded(cut); down.value > best.value {
			best = down
		}
		if f < 0 {
			continue
		}
		n := math.Floor(cut.n[f])
		less, more := open{at.low, slices.Clone(at.high), cut.value}, open{slices.Clone(at.low), at.high, cut.value}
		less.high[f], more.low[f] = n, n+1
		stack = append(stack, less, more)
	}
	atMost = best.value
	for _, o := range stack {
		atMost = max(atMost, o.bound)
	}
	if math.IsInf(atMost, 1) {
		cut, _ := k.split()
		atMost = cut.value
	}
	return best, atMost
}

// rounded is a cut load without the cut pods, filled up again with what fits, the most valuable first.
func (k knapsack) rounded(cut load) load {
	fits := k.q.fits[k.m]
	out := load{n: make([]float64, len(fits))}
	left := slices.Clone(k.q.room[k.m])
	take := func(i int, n float64) {
		for r, v := range k.q.need[fits[i].g] {
			if v > 0 {
				n = min(n, math.Floor(left[r]/v+tiny))
			}
		}
		if n = max(0, n); n == 0 {
			return
		}
		out.n[i] += n
		out.value += n * k.worth[fits[i].g]
		for r, v := range k.q.need[fits[i].g] {
			left[r] -= n * v
		}
	}
	var order []int
	for i, n := range cut.n {
		take(i, math.Floor(n+1e-6))
		if k.worth[fits[i].g] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(k.worth[fits[y].g], k.worth[fits[x].g])
	})
	for _, i := range order {
		take(i, fits[i].most-out.n[i])
	}
	k.q.work += len(fits) * len(left)
	return out
}
