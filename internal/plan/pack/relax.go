package pack

import (
	"cmp"
	"math"
	"slices"
)

const (
	maxRounds  = 300
	nodesFirst = 40   // of branch and bound per bin while loads that help are easily found
	nodesLast  = 3000 // and then
	smooth     = 0.3  // how far prices stay near the best ones known, so that they do not jump about
	moreLoads  = 8    // loads taken from one bin in one round, of other items each
	// The program is left as it is when so many rounds made it cheaper by less than a part.
	patience = 10
	// diveShare per cent of the work are kept for the dive.
	diveShare = 40
	slow      = 1e-3
)

// relax solves the linear program over all patterns.
func (p *packer) relax() *master {
	m := p.newMaster()
	for _, s := range p.in.Start {
		m.add(column{s.Bin, float64(max(p.in.Bins[s.Bin].Price, 1)), slices.Clone(s.Loads)})
	}
	prices := p.sand()
	m.best = make([]float64, len(p.left))
	for g := range m.best {
		m.best[g] = weigh(prices, p.in.Items[g].Size)
		m.bound += m.best[g] * float64(p.left[g])
	}
	kept := p.steps * diveShare / 100
	p.steps -= kept
	m.generate(p.left, maxRounds)
	p.steps = max(p.steps, 0) + kept
	return m
}

// candidate is a bin with the most that a load of it may be worth, as a part of its price.
type candidate struct {
	bin  int
	most float64
}

// generate asks bins for better patterns and the program for better prices in turn, for so many of each item, until the price is
// close to the bound, nothing new comes, or the rounds or the work are spent.
func (m *master) generate(left []int, rounds int) {
	p := m.p
	near, nodes := smooth, nodesFirst
	ask, rest := make([]float64, len(m.worth)), make([]int, len(left))
	var tops [][]float64
	above, before, last := m.bound, math.Inf(1), 0
	for round := range rounds {
		m.solve()
		if p.steps < 0 {
			return
		}
		value := m.value()
		if m.bound > above*(1+slow) || value < before*(1-slow) {
			above, before, last = m.bound, value, round
		}
		if value <= m.bound*(1+closeEnough) {
			return
		}
		if round >= last+patience+m.n/8 {
			return
		}
		for g := range ask {
			if ask[g] = max(0, m.worth[g]); m.best != nil {
				ask[g] = near*m.best[g] + (1-near)*ask[g]
			}
		}
		tops = p.densities(ask, left, tops)
		var list []candidate
		excess := 1.0
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
		fresh, all := 0, true
		for _, c := range list {
			b := &p.bins[c.bin]
			if c.most <= 1+1e-9 {
				break
			}
			if fresh > m.n/2 {
				all = false
				break
			}
			value, atMost := p.fill(b, ask, left, nodes, b.price)
			excess = max(excess, min(atMost/b.price, c.most))
			copy(rest, left)
			for more := 0; value > 0; more++ {
				x := column{b.at, b.price, slices.Clone(p.best)}
				if m.gain(&x) <= 1e-7 || !m.add(x) || more == moreLoads {
					break
				}
				fresh++
				for _, l := range x.loads { // and what else would do, without these items
					rest[l.Item] = 0
				}
				value, _ = p.fill(b, ask, rest, 1, 0)
			}
			if p.steps < 0 {
				return
			}
		}
		if all {
			sum := 0.0
			for g, n := range left {
				sum += ask[g] * float64(n)
			}
			if v := sum / excess; v > m.bound {
				m.bound = v
				if m.best == nil {
					m.best = make([]float64, len(ask))
				}
				for g := range ask {
					m.best[g] = ask[g] / excess
				}
			}
		}
		switch {
		case fresh > 0:
			near = smooth
		case near > 0 && m.best != nil:
			near = 0
		case nodes == nodesFirst:
			near, nodes = smooth, nodesLast
		default:
			return
		}
	}
}

// densities is, per set of items and direction, the most that one of them is worth per weight.
func (p *packer) densities(worth []float64, left []int, out [][]float64) [][]float64 {
	out = out[:0]
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
