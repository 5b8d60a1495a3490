package pack

import (
	"cmp"
	"math"
	"slices"
)

// search says how a load is looked for: over at most so many nodes, as far as it may be worth more than enough, at prices of amounts that are
// found for it or, unless exact, at those that were found for the bin last.
type search struct {
	nodes  int
	enough float64
	exact  bool
}

// fill looks for the most valuable load of a bin at the given worth of items, of which at most left are there. Items are taken in the order of
// their worth for what their amounts are worth to the bin, large before small among about equals, and then by branch and bound. It stands in
// p.best. atMost is proven: no load is worth more.
func (p *packer) fill(b *bin, worth []float64, left []int, how search) (value, atMost float64) {
	how.enough *= 1 + p.fine
	enough := how.enough
	p.best, p.bestValue, p.now, p.nodes = p.best[:0], 0, p.now[:0], max(how.nodes, 1)
	p.empty(b)
	root := p.price(b, worth, left, how)
	if root <= enough || len(p.order) == 0 {
		return 0, root
	}
	slices.SortFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(math.Round(p.ratio[b]*steady), math.Round(p.ratio[a]*steady)), cmp.Compare(p.weight[b], p.weight[a]), cmp.Compare(a, b))
	})
	p.tails(worth)
	p.branch(0, 0, weigh(p.lambda, p.room), worth, enough)
	if p.nodes > 0 {
		return p.bestValue, min(root, max(p.bestValue, enough)*(1+1e-7))
	}
	return p.bestValue, root
}

// steady: worth for weight is compared in so many parts.
const steady = 30

// exchanges are rates at which the room that is left may be sold, in parts of its price: see tails.
var exchanges = [...]float64{0.8, 0.9, 1, 1.15}

// tails bounds what the items from each place in the order on are worth: per resource and for all by weight, the most that an amount of room can
// earn; and, for each rate of exchange, what they earn beyond it.
func (p *packer) tails(worth []float64) {
	n := len(p.order) + 1
	p.width = p.dims + 1 + len(exchanges)
	p.suffix = slices.Grow(p.suffix[:0], n*p.width)[:n*p.width]
	whole := weigh(p.lambda, p.room)
	clear(p.suffix[(n-1)*p.width:])
	for i := n - 2; i >= 0; i-- {
		g, own, next := p.order[i], p.suffix[i*p.width:(i+1)*p.width], p.suffix[(i+1)*p.width:]
		for r, v := range p.in.Items[g].Size {
			if own[r] = next[r]; v == 0 {
				own[r] = math.Inf(1)
			} else {
				own[r] = max(own[r], worth[g]/float64(v))
			}
		}
		if own[p.dims] = max(next[p.dims], p.ratio[g]); p.weight[g] <= tiny*whole {
			own[p.dims] = math.Inf(1)
		}
		for k, rate := range exchanges {
			own[p.dims+1+k] = next[p.dims+1+k] + float64(p.cap[g])*max(0, worth[g]-rate*p.weight[g])
		}
	}
}

// empty makes the room that of an empty bin.
func (p *packer) empty(b *bin) {
	copy(p.room, p.in.Bins[b.at].Room)
	clear(p.counts)
	for i := range p.limits {
		p.limits[i] = math.MaxInt32
	}
}

// price finds what the amounts of a bin are worth at most to items that may be cut, no more of each than there are: p.lambda, per resource. It
// returns what no load is worth more than. The items that may go in stand in p.order, with p.weight, p.ratio and p.cap. It is the simplex method
// with a row per resource and bounds on the variables; stopped early, its prices prove less, but still prove it. It begins with what the prices that
// the bin had last say.
func (p *packer) price(b *bin, worth []float64, left []int, how search) float64 {
	d := p.dims
	p.order = p.order[:0]
	for _, g := range b.items {
		if left[g] > 0 && worth[g] > 0 {
			if p.cap[g] = min(p.times(g, left[g]), p.bears(g)); p.cap[g] > 0 {
				p.order = append(p.order, g)
				p.state[g] = atNone
			}
		}
	}
	p.steps -= len(b.items)
	clear(p.small)
	inv, x, cost, dir := p.small[:d*d], p.small[d*d:d*d+d], p.small[d*d+d:d*d+2*d], p.small[d*d+2*d:d*d+3*d]
	for r := range d {
		inv[r*d+r] = 1
		x[r] = float64(p.room[r])
		p.basic[r] = -1
	}
	copy(p.lambda, b.lambda)
	if b.known {
		if sum := p.dual(worth); sum <= how.enough || !how.exact {
			return sum
		}
		p.crash(x, worth)
	}
	clear(p.lambda)
	for range maxPrices + len(p.order) {
		in, most := -1, 1e-6
		for _, g := range p.order {
			if p.state[g] == inside {
				continue
			}
			v := 1 - weigh(p.lambda, p.in.Items[g].Size)/worth[g]
			if p.state[g] == atAll {
				v = -v
			}
			if v > most {
				in, most = g, v
			}
		}
		p.steps -= len(p.order) / 4
		if in < 0 {
			break
		}
		sign := 1.0
		if p.state[in] == atAll {
			sign = -1
		}
		row, step, full := -1, float64(p.cap[in]), false
		for i := range d {
			v := 0.0
			for r, n := range p.in.Items[in].Size {
				v += inv[i*d+r] * float64(n)
			}
			dir[i] = v
			if v *= sign; v > tiny {
				if t := x[i] / v; t < step {
					row, step, full = i, t, false
				}
			} else if v < -tiny && p.basic[i] >= 0 {
				if t := (float64(p.cap[p.basic[i]]) - x[i]) / -v; t < step {
					row, step, full = i, max(0, t), true
				}
			}
		}
		for i := range d {
			x[i] = max(0, x[i]-sign*step*dir[i])
		}
		if row < 0 {
			p.state[in] = atAll - p.state[in]
			continue
		}
		if out := p.basic[row]; out >= 0 {
			if p.state[out] = atNone; full {
				p.state[out] = atAll
			}
		}
		if x[row] = step; sign < 0 {
			x[row] = float64(p.cap[in]) - step
		}
		by := dir[row]
		for r := range d {
			inv[row*d+r] /= by
		}
		cost[row], p.basic[row], p.state[in] = worth[in], in, inside
		for i := range d {
			if f := dir[i]; i != row && f != 0 {
				for r := range d {
					inv[i*d+r] -= f * inv[row*d+r]
				}
			}
		}
		for r := range d {
			p.lambda[r] = 0
			for i := range d {
				p.lambda[r] += cost[i] * inv[i*d+r]
			}
		}
	}
	for r := range p.lambda {
		p.lambda[r] = max(0, p.lambda[r])
	}
	copy(b.lambda, p.lambda)
	b.known = true
	return p.dual(worth)
}

// crash begins with the items that are worth most at the last prices, all of each, as far as they fit.
func (p *packer) crash(x, worth []float64) {
	slices.SortFunc(p.order, func(a, b int) int { return cmp.Or(cmp.Compare(p.ratio[b], p.ratio[a]), cmp.Compare(a, b)) })
	for _, g := range p.order {
		if p.ratio[g] < 1 {
			break
		}
		n, fit := float64(p.cap[g]), true
		for r, v := range p.in.Items[g].Size {
			fit = fit && n*float64(v) <= x[r]
		}
		if !fit {
			continue
		}
		for r, v := range p.in.Items[g].Size {
			x[r] -= n * float64(v)
		}
		p.state[g] = atAll
	}
}

// dual is what no load is worth more than, at the prices of the amounts; and it weighs the items with them.
func (p *packer) dual(worth []float64) float64 {
	sum := weigh(p.lambda, p.room)
	for _, g := range p.order {
		w := weigh(p.lambda, p.in.Items[g].Size)
		p.weight[g], p.ratio[g] = w, worth[g]/max(w, tiny)
		sum += float64(p.cap[g]) * max(0, worth[g]-w)
	}
	return sum
}

const maxPrices = 40

// Where an item is in price: none of it in the bin, all that may be, or some.
const (
	atNone = int8(0)
	inside = int8(1)
	atAll  = int8(2)
)

// branch tries how many of the item at a place go in, many first.
func (p *packer) branch(at int, value, rest float64, worth []float64, enough float64) {
	if value > p.bestValue {
		p.bestValue = value
		p.best = append(p.best[:0], p.now...)
	}
	for ; at < len(p.order); at++ {
		p.steps--
		if p.hopeless(at, rest, max(p.bestValue, enough)*(1+1e-7)-value) {
			return
		}
		g := p.order[at]
		for n := min(p.times(g, p.cap[g]), p.bears(g)); n > 0; n-- {
			if p.nodes--; p.nodes < 0 {
				return
			}
			p.put(g, n)
			p.now = append(p.now, Load{g, n})
			p.branch(at+1, value+worth[g]*float64(n), rest-p.weight[g]*float64(n), worth, enough)
			p.now = p.now[:len(p.now)-1]
			p.put(g, -n)
			if p.nodes <= 0 {
				return
			}
		}
	}
}

// hopeless reports whether the items from a place on are worth no more than a goal in the room that is left.
func (p *packer) hopeless(at int, rest, goal float64) bool {
	most := p.suffix[at*p.width : (at+1)*p.width]
	if most[p.dims]*rest <= goal {
		return true
	}
	for k, rate := range exchanges {
		if most[p.dims+1+k]+rate*rest <= goal {
			return true
		}
	}
	for r, v := range most[:p.dims] {
		if v*float64(p.room[r]) <= goal {
			return true
		}
	}
	return false
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

// put puts n of an item into the bin, or takes them out again; p.now has what else is in it.
func (p *packer) put(g, n int) {
	for r, v := range p.in.Items[g].Size {
		p.room[r] -= v * int64(n)
	}
	ties := p.in.Items[g].Ties
	for _, t := range ties {
		p.counts[t.Count] += t.Adds * int32(n)
		p.limits[t.Count] = math.MaxInt32
	}
	if len(ties) == 0 {
		return
	}
	for _, l := range p.now { // what the items in the bin bear
		p.bear(l.Item)
	}
	if n > 0 {
		p.bear(g)
	}
}

// bear lowers the limits to what an item in the bin bears.
func (p *packer) bear(g int) {
	for _, t := range p.in.Items[g].Ties {
		p.limits[t.Count] = min(p.limits[t.Count], t.Limit)
	}
}
