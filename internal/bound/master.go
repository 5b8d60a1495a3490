package bound

import (
	"math"
	"slices"
)

// master is the linear program behind the two upper tiers: buy machines with loads (columns) so that every group is covered, as
// cheaply as possible. Its dual prices the groups. To keep those prices near good ones, single pods may also be bought and sold, at
// prices a little above and below: where nobody does, the prices are right. Revised simplex with an explicit inverse.
type master struct {
	q     *part
	cols  []column // the first ones buy one pod of each group
	sell  []float64
	basis []int // by row: column, or -1-g for a pod of group g that is sold
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

// newMaster starts with pods bought one by one, at prices that are above the centre by a share.
func newMaster(q *part, centre, width []float64) *master {
	r := &master{q: q, sell: make([]float64, len(q.groups)), x: slices.Clone(q.count), worth: make([]float64, len(q.groups))}
	for g := range q.groups {
		r.cols = append(r.cols, column{0, []int{g}, []float64{1}})
		r.inv = append(r.inv, make([]float64, len(q.groups)))
		r.inv[g][g] = 1
		r.basis = append(r.basis, g)
	}
	r.box(centre, width)
	return r
}

// box sets what single pods are bought and sold for.
func (r *master) box(centre, width []float64) {
	for g, c := range centre {
		r.cols[g].price, r.sell[g] = c*(1+width[g])+tiny*width[g], c*(1-width[g])
	}
	r.reprice()
}

func (r *master) price(b int) float64 {
	if b < 0 {
		return -r.sell[-1-b]
	}
	return r.cols[b].price
}

// reprice works out the groups' worth from the basis.
func (r *master) reprice() {
	clear(r.worth)
	for i, b := range r.basis {
		price := r.price(b)
		if price == 0 {
			continue
		}
		for g, v := range r.inv[i] {
			if v != 0 {
				r.worth[g] += price * v
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
			r.q.work += len(c.g)
		}
		for g, w := range r.worth {
			if v := (r.sell[g] - w) / max(r.sell[g], tiny); v > best {
				in, best, found = -1-g, v, true
			}
		}
		if !found || r.q.work > budget {
			return
		}
		r.enter(in)
		if step%50 == 49 {
			r.reprice() // small errors do not add up
		}
	}
}

// enter brings a column into the basis.
func (r *master) enter(in int) {
	d := make([]float64, len(r.x))
	cost := r.price(in) // beyond what the basis asks for the same
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
	if in < 0 {
		cost += r.worth[-1-in]
	} else {
		for k, g := range r.cols[in].g {
			cost -= r.worth[g] * r.cols[in].n[k]
		}
	}
	r.basis[row] = in
	p := d[row]
	var at []int // a row of the inverse is mostly empty
	for g, v := range r.inv[row] {
		if v != 0 {
			r.inv[row][g] = v / p
			at = append(at, g)
		}
	}
	r.x[row] /= p
	r.q.work += 2 * len(d)
	for i, f := range d {
		if i == row || f == 0 {
			continue
		}
		r.q.work += len(at)
		for _, g := range at {
			r.inv[i][g] -= f * r.inv[row][g]
		}
		r.x[i] = max(0, r.x[i]-f*r.x[row])
	}
	for _, g := range at {
		r.worth[g] += cost * r.inv[row][g]
	}
}

// value is what the best covering costs with the columns that are there.
func (r *master) value() float64 { return r.q.sum(r.worth) }
