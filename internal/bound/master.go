package bound

import (
	"math"
	"slices"
)

// master is the linear program behind the two upper tiers: buy machines with loads (columns) so that every group is
// covered, as cheaply as possible. Its dual prices the groups. Revised simplex with an explicit inverse.
type master struct {
	q     *part
	cols  []column
	basis []int // by row: column, or -1-g for a pod of group g too many
	inv   [][]float64
	x     []float64
	worth []float64
}

// column is a machine with a load.
type column struct {
	price float64
	g     []int
	n     []float64
}

// newMaster starts with machines that hold one group each.
func newMaster(q *part) *master {
	r := &master{q: q, basis: make([]int, len(q.groups)), x: make([]float64, len(q.groups)), worth: make([]float64, len(q.groups))}
	best := make([]column, len(q.groups))
	for m, fits := range q.fits {
		for _, f := range fits {
			if b := best[f.g]; b.g == nil || q.price[m]/f.most < b.price/b.n[0] {
				best[f.g] = column{q.price[m], []int{f.g}, []float64{f.most}}
			}
		}
	}
	for g, c := range best {
		r.inv = append(r.inv, make([]float64, len(best)))
		r.inv[g][g] = 1 / c.n[0]
		r.basis[g], r.x[g] = g, q.count[g]/c.n[0]
	}
	r.cols = best
	r.reprice()
	return r
}

// reprice works out the groups' worth from the basis.
func (r *master) reprice() {
	clear(r.worth)
	for i, b := range r.basis {
		if b < 0 {
			continue
		}
		for g, v := range r.inv[i] {
			if v != 0 {
				r.worth[g] += r.cols[b].price * v
			}
		}
	}
	r.q.work += len(r.inv) * len(r.inv)
}

// gain is how much cheaper a column makes things, per unit of its price.
func (r *master) gain(c column, worth []float64) float64 {
	v := -c.price
	for i, g := range c.g {
		v += c.n[i] * worth[g]
	}
	return v / max(c.price, tiny)
}

// settle makes the best of the columns that are there, within the budget of work.
func (r *master) settle(budget int) {
	for step := range 50 * (len(r.cols) + len(r.basis)) {
		in, best := 0, 1e-8
		found := false
		for i, c := range r.cols {
			if v := r.gain(c, r.worth); v > best {
				in, best, found = i, v, true
			}
		}
		for g, w := range r.worth {
			if -w > best {
				in, best, found = -1-g, -w, true
			}
		}
		if !found || r.q.work > budget {
			return
		}
		if r.enter(in); step%50 == 49 {
			r.reprice() // small errors do not add up
		}
	}
}

// enter brings a column into the basis.
func (r *master) enter(in int) {
	d := make([]float64, len(r.x))
	for i := range d {
		if in < 0 {
			d[i] = -r.inv[i][-1-in]
			continue
		}
		for k, g := range r.cols[in].g {
			d[i] += r.inv[i][g] * r.cols[in].n[k]
		}
	}
	row, least := -1, math.Inf(1)
	for i, v := range d {
		if v > tiny && r.x[i]/v < least {
			row, least = i, r.x[i]/v
		}
	}
	if row < 0 {
		return
	}
	gain := 0.0 // of one unit of what enters
	if in < 0 {
		gain = r.worth[-1-in]
	} else {
		gain = -r.gain(r.cols[in], r.worth) * max(r.cols[in].price, tiny)
	}
	r.basis[row] = in
	p := d[row]
	for g := range r.inv[row] {
		r.inv[row][g] /= p
	}
	r.x[row] /= p
	for i, f := range d {
		if i == row || f == 0 {
			continue
		}
		r.q.work += len(d)
		for g, v := range r.inv[row] {
			if v != 0 {
				r.inv[i][g] -= f * v
			}
		}
		r.x[i] = max(0, r.x[i]-f*r.x[row])
	}
	for g, v := range r.inv[row] {
		r.worth[g] += gain * v
	}
}

// value is what the best covering costs with the columns that are there.
func (r *master) value() float64 { return r.q.sum(r.worth) }

// How column generation runs.
const (
	maxRounds  = 1000
	nodesFirst = 20   // branch and bound nodes per machine and round, while loads that help are easily found
	nodesLast  = 2000 // and then
	moreLoads  = 8    // loads taken from one machine in one round, of other groups each
	smooth     = 0.5  // how far prices stay near the best ones known, so that they do not jump about
	closeTo    = 1e-6 // as near the optimum as matters
)

// generate looks for prices of pods at which all of them together are worth most and no machine holds pods worth more than its price:
// it asks the master for prices, each machine for its best load at those prices, and gives new loads back to the master. Whatever
// the prices are, dividing them by the worst excess makes them valid (Farley's bound); the best ones found so far are returned, so it
// may stop at any time. start is valid already.
func (q *part) generate(start []float64, whole bool, budget int) []float64 {
	r := newMaster(q)
	best, value := start, q.sum(start)
	near, nodes := smooth, nodesFirst
	if !whole {
		nodes = 0
	}
	for range maxRounds {
		r.settle(budget)
		if q.work > budget || r.value() <= value*(1+closeTo) {
			break
		}
		ask := make([]float64, len(best))
		for g := range ask {
			ask[g] = max(0, near*best[g]+(1-near)*r.worth[g])
		}
		excess, fresh := q.round(r, ask, nodes)
		if v := q.sum(ask) / excess; v > value {
			for g := range ask {
				ask[g] /= excess
			}
			best, value = ask, v
		}
		switch {
		case fresh:
			near = smooth
		case near > 0:
			near = 0
		case nodes == nodesFirst:
			near, nodes = smooth, nodesLast
		default:
			return best // nothing new at the master's own prices
		}
	}
	return best
}

// round asks every machine for its best load, whole when nodes are given, adds those that help to the master, and returns by how
// much the prices are too high for the worst machine.
func (q *part) round(r *master, ask []float64, nodes int) (excess float64, fresh bool) {
	excess = tiny
	for m := range q.machines {
		k := q.knapsack(m, ask)
		var l load
		var most float64
		if nodes > 0 {
			l, most = k.whole(nodes, max(excess, 1)*q.price[m])
		} else {
			l, _ = k.split()
			most = l.value
		}
		excess = max(excess, most/max(q.price[m], tiny))
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
			cut, _ := q.knapsack(m, left).split()
			if l = cut; nodes > 0 {
				l = q.knapsack(m, left).rounded(cut)
			}
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
