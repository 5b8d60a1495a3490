package bound

import "slices"

// How column generation runs.
const (
	maxRounds = 1000
	moreLoads = 8    // loads taken from one machine in one round, of other groups each
	smooth    = 0.5  // how far prices stay near the best ones known, so that they do not jump about
	closeTo   = 1e-4 // as near the optimum as matters
	firstBox  = 0.5
)

// generate looks for prices of pods at which all of them together are worth most and no machine holds pods worth more than its price:
// it asks the master for prices, each machine for its best load at those prices, which may cut pods, and gives new loads back to the master. Whatever
// the prices are, dividing them by the worst excess makes them valid (Farley's bound); the best ones found so far are returned, so it
// may stop at any time. start is valid already.
func (q *part) generate(start []float64, budget int) []float64 {
	width := make([]float64, len(start))
	for g := range width {
		width[g] = firstBox
	}
	r := newMaster(q, start, width)
	best, value := start, q.sum(start)
	near := smooth
	for range maxRounds {
		r.settle(budget)
		if q.work > budget {
			break
		}
		fresh := false
		if r.value() > value*(1+closeTo) {
			ask := make([]float64, len(best))
			for g := range ask {
				ask[g] = max(0, near*best[g]+(1-near)*r.worth[g])
			}
			var excess float64
			excess, fresh = q.round(r, ask)
			if v := q.sum(ask) / excess; v > value {
				for g := range ask {
					ask[g] /= excess
				}
				best, value = ask, v
			}
		}
		switch {
		case fresh:
			near = smooth
		case near > 0 && r.value() > value*(1+closeTo):
			near = 0
		case r.widen(best, width):
			near = smooth
		default:
			return best // nothing new at the master's own prices
		}
	}
	return best
}

// widen sets the box about better prices, wider where the last ones were at its side. It is false when none were.
func (r *master) widen(centre, width []float64) bool {
	any := false
	for g, w := range r.worth {
		if w > r.cols[g].price*(1-1e-9) || w < r.sell[g]*(1+1e-9) && r.sell[g] > 0 {
			width[g] = min(1, width[g]*3)
			any = true
		}
	}
	if any {
		r.box(centre, width)
	}
	return any
}

// round asks every machine for its best load, adds those that help to the master, and returns by how much the prices are too high for the
// worst machine.
func (q *part) round(r *master, ask []float64) (excess float64, fresh bool) {
	excess = tiny
	for m := range q.machines {
		l, _ := q.knapsack(m, ask).split()
		excess = max(excess, l.value/max(q.price[m], tiny))
		left := slices.Clone(ask)
		for range moreLoads {
			if !r.offer(m, l) {
				break
			}
			fresh = true
			for i, n := range l.n { // and what else would do, without these groups
				if n > tiny {
					left[q.fits[m][i].g] = 0
				}
			}
			l, _ = q.knapsack(m, left).split()
		}
	}
	return excess, fresh
}

// offer adds a machine with a load to the columns, if that can make things cheaper.
func (r *master) offer(m int, l load) bool {
	c := column{price: r.q.price[m]}
	for i, n := range l.n {
		if n > tiny {
			c.g, c.n = append(c.g, r.q.fits[m][i].g), append(c.n, n)
		}
	}
	if r.gain(c, r.worth) <= 1e-7 {
		return false
	}
	r.cols = append(r.cols, c)
	return true
}
