package pack

import (
	"math"
	"slices"
)

// master is the linear program: buy columns so that every item is covered, as cheaply as possible. Revised simplex with an explicit inverse.
type master struct {
	p     *packer
	items []int    // per row
	row   []int    // per item; -1 when no bin holds it
	cols  []column // the first ones buy one item of a row each
	basis []int    // per row: a column, or -1-i: more than is needed of the item in row i
	n     int
	inv   []float64 // n × n
	x     []float64 // per row
	worth []float64 // per item: its price
	width []float64 // per row: see box
	dir   []float64
	alone []float64 // per row: the least that one costs where a bin has nothing else
}

// column is a pattern.
type column struct {
	bin   int // in Input.Bins
	price float64
	loads []Load
}

// pivotal: what enters must take away so much of the most that it takes away anywhere.
const pivotal = 1e-7

// singles finds, per item, the bin in which one costs least when it holds nothing else.
func (p *packer) singles() {
	p.alone = make([]column, len(p.in.Items))
	for i := range p.bins {
		b := &p.bins[i]
		for _, g := range b.items {
			p.empty(b)
			n := min(p.times(g, p.in.Items[g].Count), p.bears(g))
			if a := p.alone[g]; n > 0 && (a.loads == nil || b.price/float64(n) < a.price/float64(a.loads[0].N)) {
				p.alone[g] = column{b.at, b.price, []Load{{g, n}}}
			}
		}
		p.steps -= len(b.items)
	}
	for g, c := range p.alone {
		if c.loads != nil {
			p.left[g] = p.in.Items[g].Count
			p.pool = append(p.pool, c)
		}
	}
}

// newMaster begins with items that are bought one by one, for those that are left, and with the patterns known so far.
func (p *packer) newMaster(left []int) *master {
	m := &master{p: p, row: make([]int, len(p.in.Items)), worth: make([]float64, len(p.in.Items))}
	for g := range p.in.Items {
		if m.row[g] = -1; left[g] == 0 || p.alone[g].loads == nil {
			continue
		}
		m.row[g] = len(m.items)
		m.items = append(m.items, g)
		m.alone = append(m.alone, p.alone[g].price)
		m.cols = append(m.cols, column{-1, 2 * p.alone[g].price, []Load{{g, 1}}})
	}
	for _, c := range p.pool {
		if slices.ContainsFunc(c.loads, func(l Load) bool { return l.N > left[l.Item] }) {
			var some []Load
			for _, l := range c.loads {
				if n := min(l.N, left[l.Item]); n > 0 {
					some = append(some, Load{l.Item, n})
				}
			}
			if len(some) == 0 {
				continue
			}
			c.loads = some
		}
		m.cols = append(m.cols, c)
	}
	p.steps -= len(p.pool)
	m.n = len(m.items)
	m.x, m.dir, m.basis = make([]float64, m.n), make([]float64, m.n), make([]int, m.n)
	m.inv = make([]float64, m.n*m.n)
	m.reset(left)
	return m
}

// add adds a column.
func (m *master) add(c column) {
	slices.SortFunc(c.loads, func(a, b Load) int { return a.Item - b.Item })
	m.cols = append(m.cols, c)
	if len(m.p.pool) < maxPool {
		m.p.pool = append(m.p.pool, c)
	}
}

// reset begins anew with single items, so many of each.
func (m *master) reset(left []int) {
	clear(m.inv)
	for i, g := range m.items {
		m.basis[i] = i
		m.inv[i*m.n+i] = 1
		m.x[i] = float64(left[g])
	}
	m.reprice()
}

// price is what one of a column costs; more than is needed costs nothing.
func (m *master) price(b int) float64 {
	if b < 0 {
		return 0
	}
	return m.cols[b].price
}

// reprice works out what items cost from the basis.
func (m *master) reprice() {
	clear(m.worth)
	for i, b := range m.basis {
		price := m.price(b)
		if price == 0 {
			continue
		}
		for j, v := range m.inv[i*m.n : (i+1)*m.n] {
			if v != 0 {
				m.worth[m.items[j]] += price * v
			}
		}
	}
	m.p.steps -= m.n * m.n / 64
}

// gain is what one of a column saves, as a part of its price.
func (m *master) gain(c *column) float64 {
	return m.p.sum(c.loads, m.worth)/c.price - 1
}

// solve makes the best of the columns that are there: covering, so that rows may be covered too much.
func (m *master) solve() {
	for step := range 20 * (len(m.cols) + m.n) {
		if m.p.steps < 0 {
			return
		}
		in, most := m.n, 1e-7
		for i := range m.cols {
			if v := m.gain(&m.cols[i]); v > most {
				in, most = i, v
			}
		}
		m.p.steps -= len(m.cols) / 8
		found := most > 1e-7
		for i, g := range m.items {
			if v := -m.worth[g] / m.cols[i].price; v > most {
				in, most, found = -1-i, v, true
			}
		}
		if !found || !m.enter(in) {
			return
		}
		if step%64 == 63 {
			m.reprice()
		}
	}
}

// enter brings a column into the basis, or, for -1-i, more than is needed of the item in row i.
func (m *master) enter(in int) bool {
	m.direct(in)
	top := 0.0
	for _, v := range m.dir {
		top = max(top, v)
	}
	row, least := -1, math.Inf(1)
	for i, v := range m.dir {
		if v > top*pivotal && (m.x[i]/v < least*(1-tiny) || m.x[i]/v <= least && v > m.dir[row]) {
			row, least = i, m.x[i]/v
		}
	}
	if row < 0 {
		return false
	}
	m.pivot(in, row)
	return true
}

// direct works out what one more of a column takes away from what is bought.
func (m *master) direct(in int) {
	n := m.n
	for i := range n {
		inv, sum := m.inv[i*n:(i+1)*n], 0.0
		if in < 0 {
			sum = -inv[-1-in]
		} else {
			for _, l := range m.cols[in].loads {
				sum += inv[m.row[l.Item]] * float64(l.N)
			}
		}
		m.dir[i] = sum
	}
}

// reduced is what one more of a column costs beyond what it gives.
func (m *master) reduced(in int) float64 {
	if in < 0 {
		return m.worth[m.items[-1-in]]
	}
	return m.cols[in].price - m.p.sum(m.cols[in].loads, m.worth)
}

// pivot lets a column take the place of what a row buys.
func (m *master) pivot(in, row int) {
	n, cost := m.n, m.reduced(in)
	m.basis[row] = in
	by := m.dir[row]
	own := m.inv[row*n : (row+1)*n]
	for j := range own {
		own[j] /= by
	}
	m.x[row] /= by
	touched := 0
	for i, f := range m.dir {
		if i == row || math.Abs(f) < 1e-12 {
			continue
		}
		touched++
		other := m.inv[i*n : (i+1)*n]
		for j, v := range own {
			other[j] -= f * v
		}
		m.x[i] -= f * m.x[row]
		if math.Abs(m.x[i]) < 1e-11 {
			m.x[i] = 0
		}
	}
	for j, v := range own {
		m.worth[m.items[j]] += cost * v
	}
	m.p.steps -= (touched + 1) * n / 64
}

// less goes on from the last solution when so many of each item are left: prices stay right all along, and whatever would be bought in negative
// amounts leaves for what then costs least (the dual simplex method).
func (m *master) less(left []int) {
	n := m.n
	for i := range n {
		sum := 0.0
		for j, v := range m.inv[i*n : (i+1)*n] {
			sum += v * float64(left[m.items[j]])
		}
		m.x[i] = sum
	}
	for range 4 * n {
		row := -1
		for i, v := range m.x {
			if v < -1e-7 && (row < 0 || v < m.x[row]) {
				row = i
			}
		}
		if row < 0 {
			break
		}
		inv := m.inv[row*n : (row+1)*n]
		in, least, found := 0, math.Inf(1), false
		consider := func(c int, a float64) {
			if a < -1e-6 {
				if v := max(0, m.reduced(c)) / -a; v < least {
					in, least, found = c, v, true
				}
			}
		}
		for c := range m.cols {
			a := 0.0
			for _, l := range m.cols[c].loads {
				a += inv[m.row[l.Item]] * float64(l.N)
			}
			consider(c, a)
		}
		for i, v := range inv {
			consider(-1-i, -v)
		}
		m.p.steps -= len(m.cols) / 8
		if !found || m.p.steps < 0 {
			break
		}
		m.direct(in)
		m.pivot(in, row)
	}
	for i, v := range m.x {
		m.x[i] = max(0, v)
	}
	m.reprice()
	if !m.covers(left) { // rounding errors added up
		m.reset(left)
		m.solve()
	}
}

// covers reports whether what is bought is what is needed.
func (m *master) covers(left []int) bool {
	have := make([]float64, m.n)
	for row, c := range m.basis {
		if c < 0 {
			have[-1-c] -= m.x[row]
			continue
		}
		for _, l := range m.cols[c].loads {
			have[m.row[l.Item]] += m.x[row] * float64(l.N)
		}
	}
	for i, g := range m.items {
		if d := math.Abs(have[i] - float64(left[g])); !(d < 1e-4) {
			return false
		}
	}
	return true
}

// value is what covering everything costs.
func (m *master) value() float64 {
	sum := 0.0
	for i, b := range m.basis {
		sum += m.x[i] * m.price(b)
	}
	return sum
}
