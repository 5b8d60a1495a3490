package place

import "slices"

// open is a machine to which greedy still adds pods. What it will be is decided at the end.
type open struct {
	loads []load
	used  vec
	// tops lists, per market that takes all its pods, the rooms of which none covers another.
	tops []top
	held map[int32]held
	full bool // nothing fits any more
}

// top is the roomiest machines of one market.
type top struct {
	market int32
	rooms  []vec
}

// held is what the pods of a machine count for one knot, and the least that they bear.
type held struct{ n, limit int32 }

// greedy packs as users of Karpenter know it: groups from large to small, each pod onto the first machine that could
// still grow enough, and at the end each machine becomes the cheapest that holds its load. nil when the steps do not suffice, or
// once the machines cost more than rival even if they grow no further: they never get cheaper.
func (p *packer) greedy(want []int, rival *draft) *draft {
	lay := p.arranged(want)
	limits := p.remaining(nil)
	limited := slices.ContainsFunc(limits, func(v vec) bool { return len(v) > 0 })
	tops, least := p.tops(lay, limits), p.least(want)
	var bins []*open
	price := int64(0)
	for g, n := range want {
		for _, o := range bins {
			if n == 0 {
				break
			}
			if o.full {
				continue
			}
			if !p.spend(1) {
				return nil
			}
			if k := p.fits(o, g, n); k > 0 {
				p.put(o, load{g, k}, least)
				n -= k
			}
		}
		for n > 0 {
			if limited {
				tops = p.tops(lay, limits)
			}
			if !p.spend(1 + len(tops)) {
				return nil
			}
			o := &open{used: make(vec, len(p.sizes[g])), tops: tops}
			k := p.fits(o, g, n)
			if k == 0 {
				break
			}
			p.put(o, load{g, k}, least)
			bins, n = append(bins, o), n-k
			// Like the machines themselves, the limit is counted when a machine is opened: by the cheapest that holds it.
			if ci := p.cheapest(o.loads, limits); ci >= 0 {
				limits[p.choices[ci].seller].take(p.choices[ci].cost, 1)
				price += p.choices[ci].price
			}
			if rival.missed == 0 && price > rival.price {
				return nil
			}
		}
	}
	return p.settle(p.bought(bins), want)
}

// bought turns open machines into the cheapest choices that hold their loads.
func (p *packer) bought(bins []*open) *draft {
	d := &draft{}
	limits := p.remaining(nil)
	for _, o := range bins {
		if ci := p.cheapest(o.loads, limits); ci >= 0 {
			limits[p.choices[ci].seller].take(p.choices[ci].cost, 1)
			d.bins = append(d.bins, bin{ci, o.loads})
		}
	}
	return d
}

// tops returns, per market, the rooms of affordable choices that no other room covers. O(choices × rooms).
func (p *packer) tops(lay *layout, limits []vec) []top {
	p.steps -= len(p.choices) / 16
	var out []top
	for m := range lay.markets {
		var rooms []vec
		for _, ci := range slices.Backward(lay.markets[m].choices) {
			c := &p.choices[ci]
			if limits[c.seller].covers(c.cost) && !slices.ContainsFunc(rooms, func(v vec) bool { return v.covers(c.room) }) {
				rooms = append(slices.DeleteFunc(rooms, func(v vec) bool { return c.room.covers(v) }), c.room)
			}
		}
		if len(rooms) > 0 {
			out = append(out, top{int32(m), rooms})
		}
	}
	return out
}

// fits returns how many of n pods of group g the machine could still take.
func (p *packer) fits(o *open, g, n int) int {
	most := 0
	for i := range o.tops {
		if t := &o.tops[i]; p.trades(t.market, g) {
			for _, room := range t.rooms {
				most = max(most, room.timesBeside(o.used, p.sizes[g], n))
			}
		}
	}
	if most == 0 {
		return 0
	}
	for _, t := range p.ties[g] {
		h, limit := o.held[t.at], t.limit
		if h.limit > 0 {
			limit = min(limit, h.limit-1)
		}
		if t.adds > 0 {
			most = min(most, int(max(0, limit-h.n)/t.adds))
		} else if h.n > limit {
			return 0
		}
	}
	return most
}

// trades reports whether machines of the market take the group.
func (p *packer) trades(market int32, g int) bool {
	return p.takes(int(p.lay.markets[market].choices[0]), g)
}

// put adds a load. Nobody who waits asks for less than least.
func (p *packer) put(o *open, l load, least vec) {
	g, k := l.group, l.n
	o.loads = append(o.loads, l)
	o.used.take(p.sizes[g], -k)
	if slices.ContainsFunc(o.tops, func(t top) bool { return !p.trades(t.market, g) }) {
		o.tops = slices.DeleteFunc(slices.Clone(o.tops), func(t top) bool { return !p.trades(t.market, g) })
	}
	if len(p.ties[g]) > 0 && o.held == nil {
		o.held = map[int32]held{}
	}
	for _, t := range p.ties[g] {
		h := o.held[t.at]
		h.n += t.adds * int32(k)
		if h.limit == 0 || t.limit+1 < h.limit {
			h.limit = t.limit + 1 // so that nothing stands for no limit
		}
		o.held[t.at] = h
	}
	o.full = !slices.ContainsFunc(o.tops, func(t top) bool {
		return slices.ContainsFunc(t.rooms, func(v vec) bool { return v.timesBeside(o.used, least, 1) > 0 })
	})
}

// least returns the least that any waiting pod asks for, amount by amount.
func (p *packer) least(want []int) vec {
	var v vec
	for g, n := range want {
		if n > 0 && v == nil {
			v = p.sizes[g].clone()
		}
		if n > 0 {
			for r, x := range p.sizes[g] {
				v[r] = min(v[r], x)
			}
		}
	}
	return v
}
