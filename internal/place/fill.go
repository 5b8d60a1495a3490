package place

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// filler fills machine after machine for one guide of prices.
type filler struct {
	*packer
	left   []int
	limits []vec
	worth  []int64
	lanes  [][]lane // per market
	tries  []int32  // choices for which patterns are built
	// alive and dead count the groups in lanes, and those of them of which nothing is left.
	alive, dead int
	// The machine being filled.
	counts []count // per knot
	now    int
	used   []int // per group, in the machine being filled
	room   vec
	need   vec
	float  []float64 // room
	at     []int32   // per group used: its load
	order  []scored  // the lanes of the market that are not done, by the most that each may score; cut from ranks
	ranks  []scored
	old    []load // what the pattern was before
	puts   int    // how often something was put on
}

// count is what the pods of a machine count for a knot, and the least that they bear; of other machines than the one being filled it says
// nothing.
type count struct {
	of       int // which machine
	n, limit int32
}

// scored is a lane with the most that it may score.
type scored struct {
	score float64
	lane  int
}

// pattern is a way to fill a machine, the cheapest choice that holds it, and what it is worth.
type pattern struct {
	loads  []load
	choice int
	worth  int64
	known  bool
}

// someLoads is for how many loads there is room in a pattern at first.
const someLoads = 16

// fill buys machine after machine: of all choices' best patterns the one with most worth per price, as often as it fits
// in the waiting pods. A pattern gets worse as pods run out, never better, so only those are built anew that seem best.
func (p *packer) fill(want []int, worth []int64) *draft {
	f := p.newFiller(want, worth)
	for len(p.scratch) < len(f.tries) {
		p.scratch = append(p.scratch, pattern{})
	}
	patterns := p.scratch[:len(f.tries)]
	for i := range patterns {
		patterns[i] = pattern{loads: patterns[i].loads[:0]}
	}
	d := &draft{}
	for {
		best := -1
		for {
			best = -1
			for i := range patterns {
				pt := &patterns[i]
				if !pt.known {
					best = i
					break
				}
				if len(pt.loads) > 0 && (best < 0 || ratioAbove(pt.worth, p.choices[pt.choice].price, patterns[best].worth, p.choices[patterns[best].choice].price)) {
					best = i
				}
			}
			if best < 0 || patterns[best].known && f.goes(&patterns[best]) {
				break
			}
			f.build(&patterns[best], int(f.tries[best]))
			if p.steps < 0 {
				p.cut = true
				return p.settle(d, want)
			}
		}
		if best < 0 {
			return p.settle(d, want)
		}
		f.buy(d, &patterns[best], 1)
	}
}

// goes reports whether the pods of a pattern are still waiting, and the limits bear its machine.
func (f *filler) goes(pt *pattern) bool {
	for _, l := range pt.loads {
		if f.left[l.group] < l.n {
			return false
		}
	}
	c := &f.choices[pt.choice]
	return f.limits[c.seller].covers(c.cost)
}

// buy takes a pattern as often as it goes, or that divided by something; at least once. It returns how often.
func (f *filler) buy(d *draft, pt *pattern, by int) int {
	c := &f.choices[pt.choice]
	times := 1 << 30
	for _, l := range pt.loads {
		times = min(times, f.left[l.group]/l.n)
	}
	times = max(1, f.limits[c.seller].times(c.cost, times)/by)
	loads := slices.Clone(pt.loads)
	slices.SortFunc(loads, func(a, b load) int { return cmp.Compare(a.group, b.group) })
	for range times {
		d.bins = append(d.bins, bin{pt.choice, loads})
	}
	f.limits[c.seller].take(c.cost, times)
	for _, l := range pt.loads {
		if f.left[l.group] -= l.n * times; f.left[l.group] == 0 {
			f.dead++
		}
	}
	if f.dead*2 > f.alive {
		f.tidy()
	}
	return times
}

// ratioAbove reports whether a/b > c/d; b and d below 1 count as 1.
func ratioAbove(a, b, c, d int64) bool {
	ah, al := bits.Mul64(uint64(a), uint64(max(d, 1)))
	ch, cl := bits.Mul64(uint64(c), uint64(max(b, 1)))
	return ah > ch || ah == ch && al > cl
}

func (p *packer) newFiller(want []int, worth []int64) *filler {
	dims := len(p.choices[0].room)
	f := &filler{packer: p, left: slices.Clone(want), limits: p.remaining(nil), worth: worth,
		counts: make([]count, p.knots), used: make([]int, len(want)),
		room: make(vec, dims), need: make(vec, dims), float: make([]float64, dims), at: make([]int32, len(want))}
	p.arranged(want)
	f.layLanes()
	for m := range f.lanes {
		if len(f.lanes[m]) > 0 {
			f.tries = append(f.tries, p.lay.markets[m].tries...)
		}
	}
	slices.Sort(f.tries)
	return f
}

// build fills one machine of a choice, and finds the cheapest choice that holds it.
func (f *filler) build(pt *pattern, ci int) {
	f.now++
	copy(f.room, f.choices[ci].room)
	f.old = append(f.old[:0], pt.loads...)
	*pt = pattern{known: true, choice: ci, loads: pt.loads[:0]}
	for _, l := range f.old {
		if n := min(l.n, f.left[l.group]); n > 0 {
			f.load(pt, l.group, n)
		}
	}
	market := f.lay.marketOf[ci]
	lanes := f.lanes[market]
	f.begin(lanes)
	for {
		l, k := f.next(lanes)
		if l == nil {
			break
		}
		// Pods of one size go on together, whatever group they are of.
		for row := l.row; k > 0 && l.row == row; {
			n := min(k, l.waits)
			f.load(pt, int(l.group), n)
			if k -= n; k > 0 && !f.advance(l) {
				break
			}
		}
		f.moved()
	}
	for r, v := range f.choices[ci].room {
		f.need[r] = v - f.room[r]
	}
	for _, l := range pt.loads {
		f.used[l.group] = 0
	}
	if other := f.holding(&f.lay.markets[market]); other >= 0 {
		pt.choice = other
	}
	if c := &f.choices[pt.choice]; !f.limits[c.seller].covers(c.cost) {
		*pt = pattern{known: true, choice: ci, loads: pt.loads[:0]}
	}
}

// load puts k pods of a group on.
func (f *filler) load(pt *pattern, g, k int) {
	if f.used[g] == 0 {
		if cap(pt.loads) == 0 {
			pt.loads = make([]load, 0, someLoads)
		}
		f.at[g] = int32(len(pt.loads))
		pt.loads = append(pt.loads, load{group: g})
	}
	pt.loads[f.at[g]].n += k
	pt.worth += f.worth[g] * int64(k)
	f.room.take(f.sizes[g], k)
	f.used[g] += k
	f.steps--
	for _, t := range f.ties[g] {
		c := &f.counts[t.at]
		if c.of != f.now {
			*c = count{f.now, 0, noBound}
		}
		c.n += t.adds * int32(k)
		c.limit = min(c.limit, t.limit)
	}
}

// next picks the lane of which to put on next, and how many pods: of each lane the largest that fits, and of these the one that
// would use the rest of the room for most worth. What a lane scored when there was more room is taken as the most that it can
// score now, so only those that may be the best are looked at again.
func (f *filler) next(lanes []lane) (best *lane, many int) {
	for len(f.order) > 0 {
		x := f.order[0]
		l := &lanes[x.lane]
		if l.scored != f.puts {
			if x.score = f.score(l); x.score <= 0 {
				f.order = f.order[1:]
				continue
			}
			f.rank(x, 1)
			if f.order[0].lane != x.lane {
				continue
			}
		}
		return l, max(1, f.room.times(l.size, noCap)/2)
	}
	return nil, 0
}

// rank moves those from at on up that come before x, and puts x after them. Of equals, the lane that is listed first comes first.
func (f *filler) rank(x scored, at int) {
	for ; at < len(f.order); at++ {
		if y := f.order[at]; y.score < x.score || y.score == x.score && y.lane > x.lane {
			break
		}
		f.order[at-1] = f.order[at]
	}
	f.order[at-1] = x
}

// begin scores all lanes for an empty machine, or one that has what it had before.
func (f *filler) begin(lanes []lane) {
	f.moved()
	order := f.ranks[:0]
	for i := range lanes {
		x := scored{f.score(&lanes[i]), i}
		if x.score <= 0 {
			continue
		}
		order = append(order, x)
		at := len(order) - 1
		for ; at > 0 && order[at-1].score < x.score; at-- {
			order[at] = order[at-1]
		}
		order[at] = x
	}
	f.order, f.ranks = order, order
}

// holding is the first of a market's choices that holds what was put on, within the limits; -1 when none does.
func (f *filler) holding(m *market) int {
	for b := range m.most {
		if !m.most[b].covers(f.need) {
			continue
		}
		for _, ci := range m.choices[b*marketBlock : min((b+1)*marketBlock, len(m.choices))] {
			if c := &f.choices[ci]; c.room.covers(f.need) && f.limits[c.seller].covers(c.cost) {
				return int(ci)
			}
		}
	}
	return -1
}

// moved makes older scores stale: something was put on.
func (f *filler) moved() {
	for r, v := range f.room {
		f.float[r] = float64(v)
	}
	f.puts++
}

// score is what the lane scores now: nothing when none of its groups may go on, and none will, for room only shrinks.
func (f *filler) score(l *lane) float64 {
	l.scored = f.puts
	if !f.stands(l) && !f.advance(l) {
		return 0
	}
	times := math.MaxFloat64 // as often as it would go into the room
	float := f.float[:len(l.inverse)]
	for r, one := range l.inverse {
		if x := float[r] * one; x < times {
			times = x
		}
	}
	return float64(f.worth[l.group]) * (times + bonus)
}

// bonus makes large pods come before small ones that are worth about the same.
const bonus = 0.3

// stands reports whether the group that the lane offers may still go on.
func (f *filler) stands(l *lane) bool {
	if l.seen != f.now || f.left[l.group] == f.used[l.group] {
		return false
	}
	room := f.room[:len(l.size)]
	for r, v := range l.size {
		if room[r] < v {
			return false
		}
	}
	l.waits = f.left[l.group] - f.used[l.group]
	if l.tied {
		l.waits = min(l.waits, f.bears(int(l.group)))
	}
	return l.waits > 0
}

// waits returns how many pods of group g are waiting and bearable.
func (f *filler) waits(g int) int {
	have := f.left[g] - f.used[g]
	if have > 0 && len(f.ties[g]) > 0 {
		have = min(have, f.bears(g))
	}
	return have
}

// bears returns how many pods of group g may still join the machine being filled, as far as ties go.
func (f *filler) bears(g int) int {
	best := noCap
	for _, t := range f.ties[g] {
		n, limit := int32(0), t.limit
		if c := &f.counts[t.at]; c.of == f.now {
			n, limit = c.n, min(limit, c.limit)
		}
		if t.adds == 1 {
			best = min(best, int(max(0, limit-n)))
		} else if t.adds > 0 {
			best = min(best, int(max(0, limit-n)/t.adds))
		} else if n > limit {
			return 0
		}
	}
	return best
}
