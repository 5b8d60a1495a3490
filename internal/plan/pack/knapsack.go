package pack

import (
	"cmp"
	"math"
	"slices"
)

// fill looks for the most valuable load of a bin at the given worth of items, of which at most left are there. Items are taken in the order of
// their worth for what their amounts are worth to the bin, large before small among about equals, and then by branch and bound over at most so
// many nodes, as far as the load may be worth more than enough. It stands in p.best. atMost is proven: no load is worth more.
func (p *packer) fill(b *bin, worth []float64, left []int, nodes int, enough float64) (value, atMost float64) {
	p.best, p.bestValue, p.now = p.best[:0], 0, p.now[:0]
	root := p.price(b, worth, left)
	if root <= enough || len(p.order) == 0 {
		return 0, root
	}
	for _, g := range p.order {
		x := weigh(p.lambda, p.in.Items[g].Size)
		p.weight[g], p.ratio[g] = x, worth[g]/max(x, tiny)
	}
	slices.SortFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(math.Round(p.ratio[b]*steady), math.Round(p.ratio[a]*steady)), cmp.Compare(p.weight[b], p.weight[a]), cmp.Compare(a, b))
	})
	p.suffix = slices.Grow(p.suffix[:0], len(p.order)+1)[:len(p.order)+1]
	p.suffix[len(p.order)] = 0
	for i := len(p.order) - 1; i >= 0; i-- {
		p.suffix[i] = max(p.suffix[i+1], p.ratio[p.order[i]])
	}
	copy(p.room, p.in.Bins[b.at].Room)
	clear(p.counts)
	for i := range p.limits {
		p.limits[i] = math.MaxInt32
	}
	p.nodes = max(nodes, 1)
	p.branch(0, 0, root, worth, left, enough)
	if p.nodes > 0 {
		return p.bestValue, max(p.bestValue, min(enough, root))
	}
	return p.bestValue, root
}

// steady: worth for weight is compared in so many parts.
const steady = 30

// price finds what the amounts of a bin are worth at most to items that may be cut: p.lambda, per resource. It returns what the whole room is
// worth: no load is worth more. The items that may go in stand in p.order. It is the simplex method with a row per resource.
func (p *packer) price(b *bin, worth []float64, left []int) float64 {
	d, room := p.dims, p.in.Bins[b.at].Room
	p.order = p.order[:0]
	for _, g := range b.items {
		if left[g] > 0 && worth[g] > 0 {
			p.order = append(p.order, g)
		}
	}
	p.steps -= len(b.items)
	inv, x, cost, dir := p.small[:d*d], p.small[d*d:d*d+d], p.small[d*d+d:d*d+2*d], p.small[d*d+2*d:d*d+3*d]
	clear(p.small)
	for r := range d {
		inv[r*d+r] = 1
		x[r] = float64(room[r])
	}
	clear(p.lambda)
	for range maxPrices {
		in, most := -1, 1e-6
		for _, g := range p.order {
			if v := 1 - weigh(p.lambda, p.in.Items[g].Size)/worth[g]; v > most {
				in, most = g, v
			}
		}
		p.steps -= len(p.order) / 4
		if in < 0 {
			break
		}
		row := -1
		for i := range d {
			dir[i] = 0
			for r, v := range p.in.Items[in].Size {
				dir[i] += inv[i*d+r] * float64(v)
			}
			if dir[i] > tiny && (row < 0 || x[i]*dir[row] < x[row]*dir[i]) {
				row = i
			}
		}
		if row < 0 {
			break
		}
		by := dir[row]
		x[row] /= by
		for r := range d {
			inv[row*d+r] /= by
		}
		cost[row] = worth[in]
		for i := range d {
			if f := dir[i]; i != row && f != 0 {
				for r := range d {
					inv[i*d+r] -= f * inv[row*d+r]
				}
				x[i] = max(0, x[i]-f*x[row])
			}
		}
		for r := range d {
			p.lambda[r] = 0
			for i := range d {
				p.lambda[r] += cost[i] * inv[i*d+r]
			}
			p.lambda[r] = max(0, p.lambda[r])
		}
	}
	over := 1.0 // where the method was stopped early
	for _, g := range p.order {
		over = max(over, worth[g]/max(weigh(p.lambda, p.in.Items[g].Size), tiny))
	}
	return weigh(p.lambda, room) * over
}

const maxPrices = 40

// branch tries how many of the item at a place go in, many first.
func (p *packer) branch(at int, value, rest float64, worth []float64, left []int, enough float64) {
	if value > p.bestValue {
		p.bestValue = value
		p.best = append(p.best[:0], p.now...)
	}
	for ; at < len(p.order); at++ {
		p.steps--
		if value+p.suffix[at]*rest <= max(p.bestValue, enough)*(1+1e-5) {
			return
		}
		g := p.order[at]
		for n := min(p.times(g, left[g]), p.bears(g)); n > 0; n-- {
			if p.nodes--; p.nodes < 0 {
				return
			}
			p.put(g, n)
			p.now = append(p.now, Load{g, n})
			p.branch(at+1, value+worth[g]*float64(n), rest-p.weight[g]*float64(n), worth, left, enough)
			p.now = p.now[:len(p.now)-1]
			p.put(g, -n)
			if p.nodes <= 0 {
				return
			}
		}
	}
}

// times is how many of an item fit into the room.
func (p *packer) times(g, most int) int {
	n := int64(most)
	for r, v := range p.in.Items[g].Size {
		if v > 0 {
			n = min(n, p.room[r]/v)
		}
	}
	return int(n)
}

// bears is how many of an item the ties let in.
func (p *packer) bears(g int) int {
	best := math.MaxInt32
	for _, t := range p.in.Items[g].Ties {
		limit := min(p.limits[t.Count], t.Limit)
		if t.Adds > 0 {
			best = min(best, int(max(0, limit-p.counts[t.Count])/t.Adds))
		} else if p.counts[t.Count] > limit {
			return 0
		}
	}
	return best
}

// put puts n of an item into the bin, or takes them out again.
func (p *packer) put(g, n int) {
	for r, v := range p.in.Items[g].Size {
		p.room[r] -= v * int64(n)
	}
	for _, t := range p.in.Items[g].Ties {
		p.counts[t.Count] += t.Adds * int32(n)
		p.limits[t.Count] = math.MaxInt32
		if n > 0 {
			p.limits[t.Count] = min(t.Limit, p.limits[t.Count])
		}
	}
	if len(p.in.Items[g].Ties) > 0 {
		p.relimit(g, n)
	}
}

// relimit works out anew what the items in the bin bear.
func (p *packer) relimit(g, n int) {
	least := func(of int) {
		for _, t := range p.in.Items[of].Ties {
			p.limits[t.Count] = min(p.limits[t.Count], t.Limit)
		}
	}
	for _, l := range p.now {
		least(l.Item)
	}
	if n > 0 {
		least(g)
	}
}
