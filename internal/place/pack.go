package place

import (
	"cmp"
	"math/bits"
	"slices"
)

// load is how many pods of one group go onto a machine.
type load struct{ group, n int }

// bin is one machine of a draft: a choice and what goes onto it.
type bin struct {
	choice int
	loads  []load // by group
}

// draft is a way to pack: machines, and what found no place.
type draft struct {
	bins   []bin
	left   []int // per group
	missed int   // sum of left
	price  int64
}

// better orders drafts: more pods placed, then cheaper, then fewer machines.
func (d *draft) better(o *draft) bool {
	return cmp.Or(cmp.Compare(d.missed, o.missed), cmp.Compare(d.price, o.price), cmp.Compare(len(d.bins), len(o.bins))) < 0
}

// packer packs waiting pods of some groups into machines of some choices. All its amounts are integers, and every
// answer depends on their values only.
type packer struct {
	sizes   []vec // per group
	choices []choice
	limits  []vec // per seller: what is left
	members [][]int
	// steps is what the search may still cost, in visits of a group by a choice. It never goes below zero by much.
	steps int
	cut   bool
}

// spend takes n steps and reports whether there were any left.
func (p *packer) spend(n int) bool {
	p.steps -= n
	if p.steps < 0 {
		p.cut = true
		return false
	}
	return true
}

// pack returns the best draft that the portfolio finds for want pods per group. It always returns a sound draft.
func (p *packer) pack(want []int) *draft {
	p.members = make([][]int, len(p.choices))
	for ci, c := range p.choices {
		c.takes.each(func(g int) { p.members[ci] = append(p.members[ci], g) })
	}
	if d := p.exact(want, p.steps/2); d != nil {
		return d
	}
	best := p.greedy(want)
	for _, worth := range p.worths(want) {
		for _, order := range []order{byFit, bySize} {
			if p.steps <= 0 {
				p.cut = true
				return best
			}
			if d := p.fill(want, worth, order); d.better(best) {
				best = d
			}
		}
	}
	return p.improve(best, want)
}

// settle computes the sums of a draft from its bins.
func (p *packer) settle(d *draft, want []int) *draft {
	d.left, d.missed, d.price = slices.Clone(want), 0, 0
	for _, b := range d.bins {
		d.price += p.choices[b.choice].price
		for _, l := range b.loads {
			d.left[l.group] -= l.n
		}
	}
	for _, n := range d.left {
		d.missed += n
	}
	return d
}

// weight is what the loads need.
func (p *packer) weight(loads []load) vec {
	v := make(vec, len(p.choices[0].room))
	for _, l := range loads {
		v.take(p.sizes[l.group], -l.n)
	}
	return v
}

// cheapest returns the first choice, in order of price, that takes the loads within the limits; -1 when none does.
func (p *packer) cheapest(loads []load, limits []vec) int {
	need := p.weight(loads)
	for ci, c := range p.choices {
		if c.room.covers(need) && limits[c.seller].covers(c.cost) &&
			!slices.ContainsFunc(loads, func(l load) bool { return !c.takes.has(l.group) }) {
			return ci
		}
	}
	return -1
}

// remaining returns the limits less what the bins take.
func (p *packer) remaining(bins []bin) []vec {
	out := make([]vec, len(p.limits))
	for i, v := range p.limits {
		out[i] = v.clone()
	}
	for _, b := range bins {
		c := p.choices[b.choice]
		out[c.seller].take(c.cost, 1)
	}
	return out
}

// greedy packs as users of Karpenter know it: groups from large to small, each pod onto the first machine that could
// still grow enough, and at the end each machine becomes the cheapest that holds its load.
func (p *packer) greedy(want []int) *draft {
	type open struct {
		loads []load
		used  vec
		can   []int // choices that still hold it
	}
	var bins []*open
	limits := p.remaining(nil)
	for g, n := range want {
		fits := func(o *open, n int) int {
			most := 0
			for _, ci := range o.can {
				if c := p.choices[ci]; c.takes.has(g) {
					free := c.room.clone()
					free.take(o.used, 1)
					most = max(most, free.times(p.sizes[g], n))
				}
			}
			return most
		}
		put := func(o *open, k int) {
			o.loads = append(o.loads, load{g, k})
			o.used.take(p.sizes[g], -k)
			o.can = slices.DeleteFunc(o.can, func(ci int) bool { return !p.choices[ci].takes.has(g) || !p.choices[ci].room.covers(o.used) })
		}
		for _, o := range bins {
			if n == 0 || !p.spend(1+len(o.can)/8) {
				break
			}
			if k := fits(o, n); k > 0 {
				put(o, k)
				n -= k
			}
		}
		for n > 0 && p.spend(len(p.choices)) {
			o := &open{used: make(vec, len(p.sizes[g]))}
			for ci, c := range p.choices {
				if limits[c.seller].covers(c.cost) {
					o.can = append(o.can, ci)
				}
			}
			k := fits(o, n)
			if k == 0 {
				break
			}
			put(o, k)
			// Like the machines themselves, the limit is counted when a machine is opened: by the cheapest that holds it.
			limits[p.choices[o.can[0]].seller].take(p.choices[o.can[0]].cost, 1)
			bins, n = append(bins, o), n-k
		}
	}
	d := &draft{}
	limits = p.remaining(nil)
	for _, o := range bins {
		if ci := p.cheapest(o.loads, limits); ci >= 0 {
			limits[p.choices[ci].seller].take(p.choices[ci].cost, 1)
			d.bins = append(d.bins, bin{ci, o.loads})
		}
	}
	return p.settle(d, want)
}

// worths returns price guides: what one pod of each group is worth, in 1024ths of a micro-dollar. The first is its share of
// the best machine filled with its like without end, the second the same when only the waiting ones count;
// the third is shadow's.
func (p *packer) worths(want []int) [][]int64 {
	out := [][]int64{make([]int64, len(want)), make([]int64, len(want))}
	for g, n := range want {
		for _, c := range p.choices {
			if n == 0 || !c.takes.has(g) {
				continue
			}
			k := int64(c.room.times(p.sizes[g], 1<<20))
			if k == 0 {
				continue
			}
			for i, per := range []int64{k, min(k, int64(n))} {
				if v := max(c.price, 1) * 1024 / per; out[i][g] == 0 || v < out[i][g] {
					out[i][g] = max(v, 1)
				}
			}
		}
	}
	return append(out, p.shadow(want))
}

// shadowSteps is how many ways to split the price of machines between cpu and memory are tried.
const shadowSteps = 64

// shadow is a third guide: prices of cpu and memory at which no machine holds more than it costs, chosen so that the
// waiting pods are worth as much as possible (the dual of buying by the slice).
func (p *packer) shadow(want []int) []int64 {
	const cpu, memory = 0, 1 // columns of vec
	out := make([]int64, len(want))
	most, sum := -1.0, [2]float64{}
	for _, c := range p.choices {
		if x := float64(c.price) / float64(max(c.room[cpu], 1)); most < 0 || x < most {
			most = x
		}
	}
	for g, n := range want {
		sum[0] += float64(n) * float64(p.sizes[g][cpu])
		sum[1] += float64(n) * float64(p.sizes[g][memory])
	}
	best := -1.0
	for i := range shadowSteps + 1 {
		u, v := most*float64(i)/shadowSteps, -1.0
		for _, c := range p.choices {
			if x := max(0, (float64(c.price)-u*float64(c.room[cpu]))/float64(max(c.room[memory], 1))); v < 0 || x < v {
				v = x
			}
		}
		if w := u*sum[0] + v*sum[1]; w > best {
			best = w
			for g := range want {
				out[g] = max(1, int64(1024*(u*float64(p.sizes[g][cpu])+v*float64(p.sizes[g][memory]))))
			}
		}
	}
	return out
}

// order is how a pattern is filled.
type order int

const (
	byFit  order = iota // next comes what is worth most for what it takes of the scarcest room
	bySize              // large ones first
)

// pattern is a way to fill one choice, and what it is worth.
type pattern struct {
	loads []load
	worth int64
	known bool
}

// fill buys machine after machine: of all choices' best patterns the one with most worth per price, as often as it fits
// in the waiting pods.
func (p *packer) fill(want []int, worth []int64, how order) *draft {
	left, limits := slices.Clone(want), p.remaining(nil)
	patterns := make([]pattern, len(p.choices))
	d := &draft{}
	for {
		best, times := -1, 0
		for ci := range p.choices {
			c := &p.choices[ci]
			if !limits[c.seller].covers(c.cost) {
				continue
			}
			pt := &patterns[ci]
			if !pt.known || repeats(pt.loads, left) == 0 {
				if !p.spend(1 + len(p.members[ci])) {
					return p.settle(d, want)
				}
				*pt = p.pattern(ci, left, worth, how)
			}
			if len(pt.loads) > 0 && (best < 0 || ratioAbove(pt.worth, c.price, patterns[best].worth, p.choices[best].price)) {
				best = ci
			}
		}
		if best < 0 {
			return p.settle(d, want)
		}
		c := p.choices[best]
		times = limits[c.seller].times(c.cost, repeats(patterns[best].loads, left))
		for range max(times, 1) {
			d.bins = append(d.bins, bin{best, patterns[best].loads})
			limits[c.seller].take(c.cost, 1)
			for _, l := range patterns[best].loads {
				left[l.group] -= l.n
			}
		}
	}
}

// repeats says how often loads can be taken out of left.
func repeats(loads []load, left []int) int {
	n := 1 << 30
	for _, l := range loads {
		n = min(n, left[l.group]/l.n)
	}
	if len(loads) == 0 {
		return 1 // an empty pattern stays empty
	}
	return n
}

// ratioAbove reports whether a/b > c/d; b and d below 1 count as 1.
func ratioAbove(a, b, c, d int64) bool {
	ah, al := bits.Mul64(uint64(a), uint64(max(d, 1)))
	ch, cl := bits.Mul64(uint64(c), uint64(max(b, 1)))
	return ah > ch || ah == ch && al > cl
}

// pattern fills one machine of a choice.
func (p *packer) pattern(ci int, left []int, worth []int64, how order) pattern {
	room := p.choices[ci].room.clone()
	out := pattern{known: true}
	put := func(g, k int) {
		room.take(p.sizes[g], k)
		out.worth += worth[g] * int64(k)
		if i := slices.IndexFunc(out.loads, func(l load) bool { return l.group == g }); i >= 0 {
			out.loads[i].n += k
		} else {
			out.loads = append(out.loads, load{g, k})
		}
	}
	if how == bySize {
		for _, g := range p.members[ci] {
			if k := room.times(p.sizes[g], left[g]); k > 0 {
				put(g, k)
			}
		}
		return out
	}
	rest := map[int]int{}
	for {
		best, fit := -1, 0
		var score int64
		for _, g := range p.members[ci] {
			have := left[g] - rest[g]
			if have == 0 {
				continue
			}
			k := room.times(p.sizes[g], have)
			if k == 0 {
				continue
			}
			// How many of its like would fill the machine, times what each is worth.
			if v := worth[g] * int64(room.times(p.sizes[g], 1<<16)); best < 0 || v > score {
				best, fit, score = g, k, v
			}
		}
		if best < 0 {
			break
		}
		k := max(1, fit/2)
		put(best, k)
		rest[best] += k
	}
	slices.SortFunc(out.loads, func(a, b load) int { return cmp.Compare(a.group, b.group) })
	return out
}
