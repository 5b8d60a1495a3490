package portfolio

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// filler fills machine after machine for one guide of prices.
type filler struct {
	*Packer
	left   []int
	limits []vec.Vec
	worth  []int64
	lanes  [][]lane // per market
	tries  []int32  // choices for which patterns are built
	bought []int    // per choice: machines
	// alive and dead count the groups in lanes, and those of them of which nothing is left.
	alive, dead int
	// The machine being filled.
	counts []count // per knot
	now    int
	used   []int // per group, in the machine being filled
	room   vec.Vec
	need   vec.Vec
	float  []float64 // room
	at     []int32   // per group used: its load
	order  []scored  // the lanes of the market that are not done, by the most that each may score; cut from ranks
	ranks  []scored
	old    []Load // what the pattern was before
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
	loads  []Load
	choice int
	worth  int64
	known  bool
}

// someLoads is for how many loads there is room in a pattern at first.
const someLoads = 16

// fill buys machine after machine: of all choices' best patterns the one with most worth per price, as often as it fits
// in the waiting pods. A pattern gets worse as pods run out, never better, so only those are built anew that seem best.
func (p *Packer) fill(want []int, worth []int64) *Draft {
	f := p.newFiller(want, worth)
	for len(p.scratch) < len(f.tries) {
		p.scratch = append(p.scratch, pattern{})
	}
	patterns := p.scratch[:len(f.tries)]
	for i := range patterns {
		patterns[i] = pattern{loads: patterns[i].loads[:0]}
	}
	d := &Draft{}
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
				if len(pt.loads) > 0 && (best < 0 || ratioAbove(pt.worth, p.Choices[pt.choice].Price, patterns[best].worth, p.Choices[patterns[best].choice].Price)) {
					best = i
				}
			}
			if best < 0 || patterns[best].known && f.goes(&patterns[best]) {
				break
			}
			f.build(&patterns[best], int(f.tries[best]))
			if p.Steps < 0 {
				p.Cut = true
				return p.settle(d, want)
			}
		}
		if best < 0 {
			return p.settle(d, want)
		}
		next, alike := f.rarest(patterns, &patterns[best])
		f.buy(d, next, alike)
	}
}

// asGood: of machines that are alike, one whose pods are worth less by no more than one part in so many is as good as the best.
const asGood = 200

// rarest is, of patterns that are as good as the best, in machines that are like its own, the one of whose machines the fewest were
// bought, and how many such patterns there are. Filling would take the first for all pods that may go anywhere. With a pod or
// two beside them that may not, nearly all machines would be in that zone, and, of spot machines, of one spot pool.
func (f *filler) rarest(patterns []pattern, best *pattern) (rare *pattern, alike int) {
	rare, alike = best, 1
	c, least := &f.Choices[best.choice], best.worth-best.worth/asGood
	twin := func(pt *pattern) bool {
		return len(pt.loads) > 0 && pt.worth >= least && pt.choice != best.choice && f.Choices[pt.choice].like(c)
	}
	for i := range patterns {
		pt := &patterns[i]
		if !twin(pt) {
			continue
		}
		alike++
		if f.bought[pt.choice] >= f.bought[rare.choice] {
			continue
		}
		if !f.goes(pt) {
			f.build(pt, int(f.tries[i]))
		}
		if twin(pt) {
			rare = pt
		}
	}
	return rare, alike
}

// goes reports whether the pods of a pattern are still waiting, and the limits bear its machine.
func (f *filler) goes(pt *pattern) bool {
	for _, l := range pt.loads {
		if f.left[l.Group] < l.N {
			return false
		}
	}
	c := &f.Choices[pt.choice]
	return f.limits[c.Seller].Covers(c.Cost)
}

// buy takes a pattern as often as it goes, or that divided by something; at least once.
func (f *filler) buy(d *Draft, pt *pattern, by int) {
	c := &f.Choices[pt.choice]
	times := 1 << 30
	for _, l := range pt.loads {
		times = min(times, f.left[l.Group]/l.N)
	}
	times = max(1, f.limits[c.Seller].Times(c.Cost, times)/by)
	f.bought[pt.choice] += times
	loads := slices.Clone(pt.loads)
	slices.SortFunc(loads, func(a, b Load) int { return cmp.Compare(a.Group, b.Group) })
	for range times {
		d.Bins = append(d.Bins, Bin{pt.choice, loads})
	}
	f.limits[c.Seller].Take(c.Cost, times)
	for _, l := range pt.loads {
		if f.left[l.Group] -= l.N * times; f.left[l.Group] == 0 {
			f.dead++
		}
	}
	if f.dead*2 > f.alive {
		f.tidy()
	}
}

// ratioAbove reports whether a/b > c/d; b and d below 1 count as 1.
func ratioAbove(a, b, c, d int64) bool {
	ah, al := bits.Mul64(uint64(a), uint64(max(d, 1)))
	ch, cl := bits.Mul64(uint64(c), uint64(max(b, 1)))
	return ah > ch || ah == ch && al > cl
}

func (p *Packer) newFiller(want []int, worth []int64) *filler {
	dims := len(p.Choices[0].Room)
	f := &filler{Packer: p, left: slices.Clone(want), limits: p.Remaining(nil), worth: worth, bought: make([]int, len(p.Choices)),
		counts: make([]count, p.Counts), used: make([]int, len(want)),
		room: make(vec.Vec, dims), need: make(vec.Vec, dims), float: make([]float64, dims), at: make([]int32, len(want))}
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
	copy(f.room, f.Choices[ci].Room)
	f.old = append(f.old[:0], pt.loads...)
	*pt = pattern{known: true, choice: ci, loads: pt.loads[:0]}
	for _, l := range f.old {
		if n := min(l.N, f.left[l.Group]); n > 0 {
			f.load(pt, l.Group, n)
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
	for r, v := range f.Choices[ci].Room {
		f.need[r] = v - f.room[r]
	}
	for _, l := range pt.loads {
		f.used[l.Group] = 0
	}
	if other := f.holding(&f.lay.markets[market]); other >= 0 {
		pt.choice = other
	}
	if c := &f.Choices[pt.choice]; !f.limits[c.Seller].Covers(c.Cost) {
		*pt = pattern{known: true, choice: ci, loads: pt.loads[:0]}
	}
}

// load puts k pods of a group on.
func (f *filler) load(pt *pattern, g, k int) {
	if f.used[g] == 0 {
		if cap(pt.loads) == 0 {
			pt.loads = make([]Load, 0, someLoads)
		}
		f.at[g] = int32(len(pt.loads))
		pt.loads = append(pt.loads, Load{Group: g})
	}
	pt.loads[f.at[g]].N += k
	pt.worth += f.worth[g] * int64(k)
	f.room.Take(f.Sizes[g], k)
	f.used[g] += k
	f.Steps--
	for _, t := range f.Ties[g] {
		c := &f.counts[t.Count]
		if c.of != f.now {
			*c = count{f.now, 0, NoLimit}
		}
		c.n += t.Adds * int32(k)
		c.limit = min(c.limit, t.Limit)
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
		return l, max(1, f.room.Times(l.size, noCap)/2)
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
		if !m.most[b].Covers(f.need) {
			continue
		}
		for _, ci := range m.choices[b*marketBlock : min((b+1)*marketBlock, len(m.choices))] {
			if c := &f.Choices[ci]; c.Room.Covers(f.need) && f.limits[c.Seller].Covers(c.Cost) {
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
	if have > 0 && len(f.Ties[g]) > 0 {
		have = min(have, f.bears(g))
	}
	return have
}

// bears returns how many pods of group g may still join the machine being filled, as far as ties go.
func (f *filler) bears(g int) int {
	best := noCap
	for _, t := range f.Ties[g] {
		n, limit := int32(0), t.Limit
		if c := &f.counts[t.Count]; c.of == f.now {
			n, limit = c.n, min(limit, c.limit)
		}
		if t.Adds == 1 {
			best = min(best, int(max(0, limit-n)))
		} else if t.Adds > 0 {
			best = min(best, int(max(0, limit-n)/t.Adds))
		} else if n > limit {
			return 0
		}
	}
	return best
}
