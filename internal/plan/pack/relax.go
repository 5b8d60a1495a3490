package pack

import (
	"cmp"
	"math"
	"slices"
)

const (
	maxRounds  = 400   // of one stage
	nodesFirst = 50    // of branch and bound per bin
	nodesLast  = 25600 // and where that finds nothing, though there may be something
	// Prices stay near the best ones known, so that they do not jump about (Wentges smoothing): less where these did not get
	// better for some rounds.
	smooth    = 0.7
	stuck     = 3
	moreLoads = 8 // loads taken from one bin in one round, of other items each
	// The program is left as it is for now when so many rounds made it cheaper by less than a part.
	patience = 20
	slow     = 5e-4
	// Single items are sold for so many times the best prices known; where that is used, for so many times more. While it
	// is, the program is only solved to a part: its prices are not the last.
	firstBox = 4
	widening = 3
	loose    = 0.03
	least    = 0.01 // a price known is no less than this part of what one costs alone
	// pools are so many patterns at most.
	maxPool = 4000
)

// relax sets up the linear program over all patterns.
func (p *packer) relax() *master {
	m := p.newMaster(p.left)
	prices := p.sand()
	p.worth, p.bound = make([]float64, len(p.left)), 0
	for g := range p.worth {
		p.worth[g] = weigh(prices, p.in.Items[g].Size)
		p.bound += p.worth[g] * float64(p.left[g])
	}
	m.width = make([]float64, m.n)
	for i := range m.width {
		m.width[i] = firstBox
	}
	m.box()
	return m
}

// settle goes on solving the program, with single items for sale at some times the best prices known: so, prices do not go far beyond these.
// Where nobody buys any, they are right; where somebody does, the box is widened.
func (m *master) settle() {
	p, near := m.p, smooth
	ask := make([]float64, len(m.worth))
	best, above, last, moved := math.Inf(1), p.bound, 0, 0
	for round := range maxRounds {
		m.solve()
		if p.steps < 0 {
			return
		}
		value := m.value()
		if value < best*(1-slow) || p.bound > above*(1+slow) {
			best, above, last = value, p.bound, round
		}
		if round > last+patience {
			return
		}
		fresh, tight := 0, value <= p.bound*(1+2*p.fine) || value <= p.bound*(1+loose) && m.boxed()
		if !tight {
			for g := range ask {
				ask[g] = max(0, near*p.worth[g]+(1-near)*m.worth[g])
			}
			was := p.bound
			if fresh = m.round(ask); p.bound > was {
				moved = round
			}
		}
		switch {
		case fresh > 0:
			if near = smooth; round > moved+stuck {
				near = smooth / 2
			}
		case near > 0 && !tight:
			near = 0
		case m.widen():
			near, best, last = smooth, math.Inf(1), round
		default:
			return
		}
	}
}

// boxed reports whether single items are bought.
func (m *master) boxed() bool {
	for row, c := range m.basis {
		if c >= 0 && c < m.n && m.x[row] > 1e-7 {
			return true
		}
	}
	return false
}

// box sets what single items cost.
func (m *master) box() {
	for i, g := range m.items {
		m.cols[i].price = max(m.p.worth[g], least*m.alone[i]) * m.width[i]
	}
	m.reprice()
}

// widen sets the box about better prices, wider where the last ones were at its side. It is false when none were.
func (m *master) widen() bool {
	any := false
	for i, g := range m.items {
		if m.worth[g] > m.cols[i].price*(1-tiny) && m.cols[i].price < 2*m.alone[i] {
			m.width[i] *= widening
			any = true
		}
	}
	if any {
		m.box()
	}
	return any
}

// round asks all bins for better loads at the prices that are asked, and returns how many came. Divided by the worst excess, the prices are
// valid, whatever they are (Farley's bound); the best ones are kept.
func (m *master) round(ask []float64) int {
	p := m.p
	fresh, excess, all := m.ask(ask, p.left, nodesLast)
	if !all {
		return fresh
	}
	sum := 0.0
	for g, n := range p.left {
		sum += ask[g] * float64(n)
	}
	if v := sum / excess; v > p.bound {
		p.bound = v
		for g := range ask {
			p.worth[g] = ask[g] / excess
		}
	}
	return fresh
}

// candidate is a bin with the most that a load of it may be worth, as a part of its price.
type candidate struct {
	bin  int
	most float64
}

// ask asks bins for loads that are worth more than they cost, those first that promise most, and takes what helps. It returns how many came, and
// by how much the best load of all may be worth more than its bin, if all bins were asked. With few nodes, it is content with prices of amounts
// from earlier rounds.
func (m *master) ask(worth []float64, left []int, nodes int) (fresh int, excess float64, all bool) {
	p := m.p
	rest := make([]int, len(left))
	list := p.promising(worth, left)
	enough := kinds(left) / 2
	excess = 1
	for _, c := range list {
		b := &p.bins[c.bin]
		if c.most <= 1+p.fine {
			excess = max(excess, c.most)
			break
		}
		if fresh > enough {
			return fresh, excess, false
		}
		value, atMost := p.fill(b, worth, left, search{min(nodes, b.nodes), b.price, nodes > nodesFirst})
		excess = max(excess, min(atMost/b.price, c.most))
		if p.nodes <= 0 && value <= b.price*(1+p.fine) && nodes > b.nodes {
			b.nodes = min(b.nodes*2, nodesLast)
		}
		copy(rest, left)
		for more := 0; value > 0 && more < moreLoads; more++ {
			x := column{b.at, b.price, slices.Clone(p.best)}
			if m.gain(&x) <= 1e-7 {
				break
			}
			m.add(x)
			fresh++
			for _, l := range x.loads { // and what else would do, without these items
				rest[l.Item] = 0
			}
			value, _ = p.fill(b, worth, rest, search{1, 0, false})
		}
		if p.steps < 0 {
			return fresh, excess, false
		}
	}
	return fresh, excess, true
}

// promising lists the bins, those first whose loads may be worth most.
func (p *packer) promising(worth []float64, left []int) []candidate {
	tops := p.densities(worth, left)
	list := make([]candidate, 0, len(p.bins))
	for i := range p.bins {
		b := &p.bins[i]
		most := math.Inf(1)
		for d, top := range b.tops {
			if v := tops[b.set][d]; !math.IsInf(v, 1) {
				most = min(most, top*v)
			}
		}
		list = append(list, candidate{i, most / b.price})
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.most, a.most) })
	return list
}

// generate asks bins for better patterns and the program for better prices in turn, for so many of each item.
func (m *master) generate(left []int, rounds int) {
	ask := make([]float64, len(m.worth))
	for range rounds {
		m.solve()
		if m.p.steps < 0 {
			return
		}
		for g := range ask {
			ask[g] = max(0, m.worth[g])
		}
		if fresh, _, _ := m.ask(ask, left, nodesFirst); fresh == 0 {
			return
		}
	}
	m.solve()
}

// densities is, per set of items and direction, the most that one of them is worth per weight.
func (p *packer) densities(worth []float64, left []int) [][]float64 {
	var out [][]float64
	for i := range p.bins {
		b := &p.bins[i]
		if b.set < len(out) {
			continue
		}
		row := make([]float64, len(p.dirs))
		for _, g := range b.items {
			if left[g] == 0 || worth[g] <= 0 {
				continue
			}
			for d, dir := range p.dirs {
				if w := weigh(dir, p.in.Items[g].Size); w > 0 {
					row[d] = max(row[d], worth[g]/w)
				} else {
					row[d] = math.Inf(1)
				}
			}
		}
		p.steps -= len(b.items)
		out = append(out, row)
	}
	return out
}
