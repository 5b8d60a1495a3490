package pack

import (
	"cmp"
	"slices"
)

const (
	diveRounds = 2    // of column generation for what is left
	nearlyOne  = 0.75 // fractions above it are rounded up together
	narrower   = 0.7  // with so few of the items left, the program is set up anew
)

// dive packs what is left: what the program buys whole is bought, the best fractions are rounded up, and the program is solved again for what is
// left then, with new patterns for it. With too little work, something stays left.
func (p *packer) dive(out *Packing) {
	left := out.Left
	var m *master
	for p.steps > 0 {
		if m == nil || float64(kinds(left)) < narrower*float64(m.n) {
			m = p.newMaster(left)
			m.solve()
		} else {
			m.less(left)
		}
		bought := false
		for row, c := range m.basis {
			if n := int(m.x[row] + 1e-6); c >= m.n && n > 0 {
				bought = p.buy(out, &m.cols[c], n) > 0 || bought
			}
		}
		if bought {
			continue
		}
		if !slices.ContainsFunc(m.items, func(g int) bool { return left[g] > 0 }) {
			break
		}
		m.generate(left, diveRounds)
		order := make([]int, 0, m.n)
		for row, c := range m.basis {
			if c >= m.n && m.x[row] > 1e-6 {
				order = append(order, row)
			}
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(m.x[b], m.x[a]), cmp.Compare(m.basis[a], m.basis[b])) })
		if len(order) == 0 {
			break
		}
		some := false
		for k, row := range order {
			if k > 0 && m.x[row] < nearlyOne {
				break
			}
			some = p.buy(out, &m.cols[m.basis[row]], max(1, int(m.x[row]+1e-6))) > 0 || some
		}
		if !some && !p.trimmed(m, out, order) {
			break
		}
	}
	p.rightsize(out)
	out.Price = p.paid(out.Patterns)
}

// kinds is of how many items some are left.
func kinds(left []int) int {
	some := 0
	for _, n := range left {
		some += min(n, 1)
	}
	return some
}

// paid is what patterns cost.
func (p *packer) paid(patterns []Pattern) int64 {
	sum := int64(0)
	for _, x := range patterns {
		sum += p.in.Bins[x.Bin].Price * int64(x.Times)
	}
	return sum
}

// buy buys a column up to so many times, as long as there is enough of each item left. It returns how often.
func (p *packer) buy(out *Packing, c *column, times int) int {
	for _, l := range c.loads {
		times = min(times, out.Left[l.Item]/l.N)
	}
	if times <= 0 {
		return 0
	}
	for _, l := range c.loads {
		out.Left[l.Item] -= l.N * times
	}
	out.Patterns = append(out.Patterns, Pattern{c.bin, slices.Clone(c.loads), times})
	return times
}

// trimmed buys the best fraction once, with what is left of its items and filled up again. It is false when nothing of any is left.
func (p *packer) trimmed(m *master, out *Packing, order []int) bool {
	for _, row := range order {
		c := &m.cols[m.basis[row]]
		x := column{bin: c.bin, price: c.price}
		for _, l := range c.loads {
			if n := min(l.N, out.Left[l.Item]); n > 0 {
				x.loads = append(x.loads, Load{l.Item, n})
			}
		}
		if len(x.loads) == 0 {
			continue
		}
		b := &p.bins[slices.IndexFunc(p.bins, func(b bin) bool { return b.at == c.bin })]
		p.fill(b, m.worth, out.Left, search{nodesFirst, 0, true})
		if p.bestValue > p.sum(x.loads, m.worth) {
			x.loads = slices.Clone(p.best)
		}
		slices.SortFunc(x.loads, func(a, b Load) int { return a.Item - b.Item })
		return p.buy(out, &x, 1) > 0
	}
	return false
}

func (p *packer) sum(loads []Load, worth []float64) float64 {
	v := 0.0
	for _, l := range loads {
		v += worth[l.Item] * float64(l.N)
	}
	return v
}

// rightsize gives every pattern the cheapest bin that holds it.
func (p *packer) rightsize(out *Packing) {
	need := make([]int64, p.dims)
	for i := range out.Patterns {
		x := &out.Patterns[i]
		clear(need)
		for _, l := range x.Loads {
			for r, v := range p.in.Items[l.Item].Size {
				need[r] += v * int64(l.N)
			}
		}
		for at := range p.in.Bins {
			b := &p.in.Bins[at]
			if b.Price < p.in.Bins[x.Bin].Price && fits(need, b.Room) && !slices.ContainsFunc(x.Loads, func(l Load) bool { return !b.takes(p.in.Items[l.Item].Kind) }) {
				x.Bin = at
			}
		}
	}
}
