package place

import (
	"cmp"
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

// option is one kind of machine that may be bought.
type option struct {
	seller int
	price  int64 // micro-dollars per hour
	room   vec
	cost   vec // of the seller's limits
	takes  set // kinds of groups that it accepts
	// free tells apart those of one seller that cost and hold the same; who has 0 may stand for all.
	free int
}

// pruneBlock is how many choices are looked at together when one is sought that beats another.
const pruneBlock = 32

// prune returns the positions of those of n options that no other beats: as cheap, as roomy, accepting as much, taking no
// more of the limits. Options come by price; of equals the first stays.
func prune(n int, option func(int) *option) []int {
	var out []int
	var most []vec // per block of out: the most of each amount that any of them has room for
next:
	for i := range n {
		c := option(i)
		for b := len(most) - 1; b >= 0; b-- { // what is about as dear is about as large
			if !most[b].covers(c.room) {
				continue
			}
			for _, j := range out[b*pruneBlock : min((b+1)*pruneBlock, len(out))] {
				o := option(j)
				if o.room.covers(c.room) && o.seller == c.seller && c.cost.covers(o.cost) && c.takes.within(o.takes) &&
					(o.free == c.free || o.free == 0) {
					continue next
				}
			}
		}
		if len(out)%pruneBlock == 0 {
			most = append(most, c.room.clone())
		}
		last := most[len(most)-1]
		for r, v := range c.room {
			last[r] = max(last[r], v)
		}
		out = append(out, i)
	}
	return out
}

// packer packs waiting pods of some groups into machines of some choices. Every answer depends on the values of its input only.
type packer struct {
	sizes   []vec // per group
	kind    []int // per group: position of its form in the sets of choices
	ties    [][]knot
	knots   int       // how many different counts ties speak of
	lay     *layout   // made when first asked for
	scratch []pattern // of the last fill, for the room of its loads
	choices []option
	limits  []vec // per seller: what is left
	// steps is what the search may still cost, in visits of a group by a choice. It never goes below zero by much.
	steps int
	cut   bool
	// uses reports whether a mechanism is used.
	uses func(Mechanism) bool
}

// knot is a relation in packing: the count's number, what a pod adds to it, and the most that it bears.
type knot struct{ at, adds, limit int32 }

// among is the packer with other kinds and choices.
func (p *packer) among(kind []int, choices []option) *packer {
	q := *p
	q.lay, q.scratch, q.kind, q.choices = nil, nil, kind, choices
	return &q
}

// takes reports whether machines of the choice suit the group.
func (p *packer) takes(ci, g int) bool { return p.choices[ci].takes.has(p.kind[g]) }

// bearable returns how many pods of group g may join the loads on one machine, as far as ties go.
func (p *packer) bearable(loads []load, g int) int {
	best := noCap
	for _, t := range p.ties[g] {
		n, limit := int32(0), t.limit
		for _, l := range loads {
			for _, o := range p.ties[l.group] {
				if o.at == t.at {
					n += o.adds * int32(l.n)
					limit = min(limit, o.limit)
				}
			}
		}
		if t.adds > 0 {
			best = min(best, int(max(0, limit-n)/t.adds))
		} else if n > limit {
			best = 0
		}
	}
	return best
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

// Bounds of the portfolio, in steps. Each part of the search gets a little whatever the size of the input and a little per pod, so
// that few pods are looked at thoroughly and many in a time that grows as they do.
const (
	thorough = 400_000 // for the exact search where there are few pods
	fewPods  = 600     // pods of which the exact search gets half of that
	learn    = 10_000  // for learning what pods are worth, beyond the first lessons
	polish   = 5_000   // for making one draft cheaper
)

// pack returns the best draft that the portfolio finds for want pods per group. It always returns a sound draft.
func (p *packer) pack(want []int) *draft {
	if p.uses(packingApart) {
		if d := p.apart(want); d != nil {
			return d
		}
	}
	return p.together(want)
}

// together packs pods that may share machines.
func (p *packer) together(want []int) *draft {
	total := 0
	for _, n := range want {
		total += n
	}
	if d := p.small(want, min(p.steps/2, max(polish, thorough/(fewPods+total)*fewPods))); d != nil {
		return d
	}
	best, guide := p.learned(want, learn)
	mix := p.newSliced(want)
	least := mix.bound()
	if p.uses(lpMix) {
		if d := p.blend(want, mix, best); d != nil && d.better(best) {
			best = d
		}
	}
	best = p.frugally(polish, func(q *packer) *draft { return q.improve(best, want, guide) })
	if p.uses(columnPacking) {
		if d := p.columns(want, best, least); d != nil && d.better(best) {
			best = d
		}
	}
	return best
}

// small is the exact search, where it is used.
func (p *packer) small(want []int, budget int) *draft {
	if !p.uses(exactSearch) {
		return nil
	}
	return p.exact(want, budget)
}

// frugally lets f work on a part of the budget.
func (p *packer) frugally(budget int, f func(q *packer) *draft) *draft {
	q := *p
	q.steps, q.cut = min(budget, p.steps), false
	start := q.steps
	d := f(&q)
	p.steps -= start - max(q.steps, 0)
	return d
}

// important packs again in order of priority where not all pods found a place: what is short goes to those that matter
// most. Turn says of each group how many priorities are above its own; groups come in this order.
func (p *packer) important(best *draft, want, turn []int) *draft {
	last := turn[len(turn)-1]
	if last == 0 {
		return best
	}
	out := &draft{}
	limits := p.limits
	for now := range last + 1 {
		some := make([]int, len(want))
		for g, t := range turn {
			if t == now {
				some[g] = want[g]
			}
		}
		p.limits = p.remaining(nil)
		if p.topUp(out.bins, some); slices.Max(some) > 0 {
			out.bins = append(out.bins, p.pack(some).bins...)
		}
		p.limits = limits
		p.limits = p.remaining(out.bins)
	}
	p.limits = limits
	p.settle(out, want)
	had, have := make([]int, last+1), make([]int, last+1)
	for g, t := range turn {
		had[t] += best.left[g]
		have[t] += out.left[g]
	}
	if slices.Compare(have, had) < 0 {
		return out
	}
	return best
}

// topUp puts pods onto machines of a draft that have room for them, and takes them out of want. Of their groups, none is on any yet.
func (p *packer) topUp(bins []bin, want []int) {
	for i := range bins {
		b := &bins[i]
		room := p.choices[b.choice].room.clone()
		for _, l := range b.loads {
			room.take(p.sizes[l.group], l.n)
		}
		for g, n := range want {
			if n == 0 || !p.takes(b.choice, g) {
				continue
			}
			if k := min(room.times(p.sizes[g], n), p.bearable(b.loads, g)); k > 0 {
				b.loads = append(slices.Clip(b.loads), load{g, k})
				room.take(p.sizes[g], k)
				want[g] -= k
			}
		}
	}
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
	for ci := range p.choices {
		c := &p.choices[ci]
		if c.room.covers(need) && limits[c.seller].covers(c.cost) && p.suits(ci, loads) {
			return ci
		}
	}
	return -1
}

func (p *packer) suits(ci int, loads []load) bool {
	for _, l := range loads {
		if !p.takes(ci, l.group) {
			return false
		}
	}
	return true
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
