package bound

import (
	"cmp"
	"container/heap"
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

// open is a part of the search that is still to be looked at, and its best cut load.
type open struct {
	low, high []float64
	cut       load
}

// opens is a heap, the most promising part first.
type opens []open

func (o opens) Len() int           { return len(o) }
func (o opens) Less(i, j int) bool { return o[i].cut.value > o[j].cut.value }
func (o opens) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }

// Push adds an open.
func (o *opens) Push(x any) { *o = append(*o, x.(open)) }

// Pop takes the last one away.
func (o *opens) Pop() any {
	x := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return x
}

// whole finds the best load of whole pods by branch and bound, as far as it is worth more than enough. atMost is proven: no load
// is worth more than it. The search ends after the given number of nodes; then atMost is what is left of the cut loads.
func (k knapsack) whole(nodes int, enough float64) (best load, atMost float64) {
	root, ok := k.split()
	if !ok {
		return best, 0
	}
	best = k.rounded(root)
	list := &opens{{k.low, k.high, root}}
	for nodes > 0 && list.Len() > 0 {
		at := heap.Pop(list).(open)
		if at.cut.value <= max(enough, best.value)*(1+tiny) {
			*list = nil // nor do the others help
			break
		}
		f := k.fraction(at.cut)
		if f < 0 { // whole already, and the best there can be
			best, *list = at.cut, nil
			break
		}
		n := math.Floor(at.cut.n[f])
		less, more := open{low: at.low, high: slices.Clone(at.high)}, open{low: slices.Clone(at.low), high: at.high}
		less.high[f], more.low[f] = n, n+1
		for _, o := range []open{less, more} {
			nodes--
			k.low, k.high = o.low, o.high
			if o.cut, ok = k.split(); !ok {
				continue
			}
			if down := k.rounded(o.cut); down.value > best.value {
				best = down
			}
			heap.Push(list, o)
		}
	}
	atMost = max(best.value, min(enough, root.value))
	if list.Len() > 0 {
		atMost = max(atMost, (*list)[0].cut.value)
	}
	return best, atMost * (1 + tiny)
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
