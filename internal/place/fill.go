package place

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Bounds of filling.
const (
	// octave is how finely machines are told apart by size when patterns are tried: so many steps per doubling.
	octave = 2
	// buckets is how finely groups are told apart by memory per core.
	buckets = 24
	// own is how many groups with the same ties get lanes of their own.
	own = 4
)

// lane is groups of one form with about the same memory per core, large ones first; with ties, either all the same or none
// asked about.
type lane struct {
	groups []int
	tied   bool
	same   bool // all groups have the ties of the first
	dead   int
}

// filler fills machine after machine for one guide of prices.
type filler struct {
	*packer
	left   []int
	limits []vec
	worth  []int64
	lanes  []lane
	// of lists, per choice, the lanes that it takes; choices that take the same share the list.
	of      [][]int32
	laneOf  []int32
	tries   []int32 // choices for which patterns are built
	shrinks [][]int32
	// The machine being filled: counts and limits per knot, valid where the mark is the current one.
	n, lim []int32
	mark   []int
	now    int
	used   []int // per group, in the machine being filled
	room   vec
	need   vec
	active []int32
	// from is, per lane, the first group that may still go on; valid where seen is now.
	from []int32
	seen []int
}

// pattern is a way to fill a machine, the cheapest choice that holds it, and what it is worth.
type pattern struct {
	loads  []load
	choice int
	worth  int64
	known  bool
}

// fill buys machine after machine: of all choices' best patterns the one with most worth per price, as often as it fits
// in the waiting pods. A pattern gets worse as pods run out, never better, so only those are built anew that seem best.
func (p *packer) fill(want []int, worth []int64) *draft {
	f := p.newFiller(want, worth)
	patterns := make([]pattern, len(f.tries))
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
			if best < 0 || patterns[best].known && repeats(patterns[best].loads, f.left) > 0 && f.limits[p.choices[patterns[best].choice].seller].covers(p.choices[patterns[best].choice].cost) {
				break
			}
			patterns[best] = f.pattern(int(f.tries[best]))
			if p.steps < 0 {
				p.cut = true
				return p.settle(d, want)
			}
		}
		if best < 0 {
			return p.settle(d, want)
		}
		f.buy(d, &patterns[best])
	}
}

// buy takes a pattern as often as it goes.
func (f *filler) buy(d *draft, pt *pattern) {
	c := &f.choices[pt.choice]
	times := max(1, f.limits[c.seller].times(c.cost, repeats(pt.loads, f.left)))
	for range times {
		d.bins = append(d.bins, bin{pt.choice, pt.loads})
	}
	f.limits[c.seller].take(c.cost, times)
	for _, l := range pt.loads {
		if f.left[l.group] -= l.n * times; f.left[l.group] == 0 {
			f.bury(l.group)
		}
	}
}

// bury notes that a group is empty, and tidies its lane now and then.
func (f *filler) bury(g int) {
	l := &f.lanes[f.laneOf[g]]
	if l.dead++; l.dead*2 > len(l.groups) {
		l.groups = slices.DeleteFunc(l.groups, func(g int) bool { return f.left[g] == 0 })
		l.dead = 0
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

func (p *packer) newFiller(want []int, worth []int64) *filler {
	f := &filler{packer: p, left: slices.Clone(want), limits: p.remaining(nil), worth: worth, laneOf: make([]int32, len(want)),
		n: make([]int32, p.knots), lim: make([]int32, p.knots), mark: make([]int, p.knots), used: make([]int, len(want)),
		room: make(vec, len(p.choices[0].room)), need: make(vec, len(p.choices[0].room))}
	f.layLanes()
	f.from, f.seen = make([]int32, len(f.lanes)), make([]int, len(f.lanes))
	kinds := make([]set, 0, 8)
	lists := map[string]int{}
	var shared [][]int32
	var members [][]int32
	f.of, f.shrinks = make([][]int32, len(p.choices)), make([][]int32, len(p.choices))
	group := make([]int, len(p.choices))
	for ci := range p.choices {
		takes := p.choices[ci].takes
		var key []byte
		for _, w := range takes {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
		i, ok := lists[string(key)]
		if !ok {
			i = len(shared)
			lists[string(key)] = i
			kinds = append(kinds, takes)
			var list []int32
			for li := range f.lanes {
				if takes.has(p.kind[f.lanes[li].groups[0]]) {
					list = append(list, int32(li))
				}
			}
			shared, members = append(shared, list), append(members, nil)
		}
		group[ci] = i
		members[i] = append(members[i], int32(ci))
	}
	for ci := range p.choices {
		f.of[ci], f.shrinks[ci] = shared[group[ci]], members[group[ci]]
	}
	for i := range members {
		if len(shared[i]) > 0 {
			f.pickTries(members[i])
		}
	}
	slices.Sort(f.tries)
	return f
}

// layLanes sorts the waiting groups into lanes.
func (f *filler) layLanes() {
	type laneKey struct {
		kind, bucket int
		ties         string
	}
	alike := map[string]int{}
	texts := make([]string, len(f.left))
	var buf []byte
	for g, n := range f.left {
		if n == 0 || len(f.ties[g]) == 0 {
			continue
		}
		buf = buf[:0]
		for _, t := range f.ties[g] {
			buf = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(buf, int64(t.at)), int64(t.adds)), int64(t.limit))
		}
		texts[g] = string(buf)
		alike[texts[g]]++
	}
	at := map[laneKey]int{}
	for g, n := range f.left {
		if n == 0 {
			continue
		}
		k := laneKey{f.kind[g], ratioBucket(f.sizes[g]), texts[g]}
		same := alike[k.ties] >= own
		if k.ties != "" && !same {
			k.ties = "?"
		}
		i, ok := at[k]
		if !ok {
			i = len(f.lanes)
			at[k] = i
			f.lanes = append(f.lanes, lane{tied: k.ties != "", same: same})
		}
		f.lanes[i].groups = append(f.lanes[i].groups, g)
		f.laneOf[g] = int32(i)
	}
	for i := range f.lanes {
		slices.SortStableFunc(f.lanes[i].groups, func(a, b int) int {
			return cmp.Or(cmp.Compare(f.sizes[b][0], f.sizes[a][0]), cmp.Compare(f.sizes[b][1], f.sizes[a][1]))
		})
	}
}

// ratioBucket tells amounts apart by memory per core, in half powers of two around 2 GiB.
func ratioBucket(v vec) int {
	ratio := (float64(v[1]) + 1) / (float64(v[0]) + 1) / (1 << 21) // bytes per thousandth of a core
	return min(max(int(math.Round(2*math.Log2(ratio)))+buckets/2, 0), buckets-1)
}

// pickTries chooses, of choices that take the same, the best per size, memory per core and devices: with most room per price.
func (f *filler) pickTries(list []int32) {
	type likeness struct {
		size, ratio int
		devices     uint64
	}
	best := map[likeness]int32{}
	for _, ci := range list {
		c := &f.choices[ci]
		like := likeness{size: int(octave * math.Log2(float64(c.room[0])+1)), ratio: ratioBucket(c.room)}
		for r := 4; r < len(c.room); r++ {
			if c.room[r] > 0 {
				like.devices |= 1 << min(r, 63)
			}
		}
		if old, ok := best[like]; !ok || f.density(ci) > f.density(old) {
			best[like] = ci
		}
	}
	for _, ci := range best {
		f.tries = append(f.tries, ci)
	}
}

func (f *filler) density(ci int32) float64 {
	c := &f.choices[ci]
	return (float64(c.room[0])/1000 + float64(c.room[1])/(4<<30)) / float64(max(c.price, 1))
}

// pattern fills one machine of a choice, and finds the cheapest choice that holds it.
func (f *filler) pattern(ci int) pattern {
	f.now++
	copy(f.room, f.choices[ci].room)
	out := pattern{known: true, choice: ci}
	f.active = append(f.active[:0], f.of[ci]...)
	for {
		g, k := f.next()
		if g < 0 {
			break
		}
		f.room.take(f.sizes[g], k)
		f.used[g] += k
		f.steps--
		for _, t := range f.ties[g] {
			if f.mark[t.at] != f.now {
				f.mark[t.at], f.n[t.at], f.lim[t.at] = f.now, 0, noBound
			}
			f.n[t.at] += t.adds * int32(k)
			f.lim[t.at] = min(f.lim[t.at], t.limit)
		}
		out.worth += f.worth[g] * int64(k)
		if i := slices.IndexFunc(out.loads, func(l load) bool { return l.group == g }); i >= 0 {
			out.loads[i].n += k
		} else {
			out.loads = append(out.loads, load{g, k})
		}
	}
	slices.SortFunc(out.loads, func(a, b load) int { return cmp.Compare(a.group, b.group) })
	for r, v := range f.choices[ci].room {
		f.need[r] = v - f.room[r]
	}
	for _, l := range out.loads {
		f.used[l.group] = 0
	}
	for _, other := range f.shrinks[ci] {
		if c := &f.choices[other]; c.room.covers(f.need) && f.limits[c.seller].covers(c.cost) {
			out.choice = int(other)
			break
		}
	}
	if c := &f.choices[out.choice]; !f.limits[c.seller].covers(c.cost) {
		return pattern{known: true, choice: ci}
	}
	return out
}

// next picks the group to put on next, and how many of it: of each lane the largest that fits, and of these the one that
// would use the rest of the room for most worth.
func (f *filler) next() (best, many int) {
	best = -1
	score := -1.0
	keep := f.active[:0]
	for _, li := range f.active {
		g, k := f.largest(li)
		if g < 0 {
			continue // and later ones neither: room only shrinks
		}
		keep = append(keep, li)
		share := 0.0
		for r, s := range f.sizes[g] {
			if s > 0 {
				share = max(share, float64(s)/float64(f.room[r]))
			}
		}
		if v := float64(f.worth[g]) / share * (1 + bonus*share); v > score {
			best, many, score = g, k, v
		}
	}
	f.active = keep
	if best < 0 {
		return best, 0
	}
	return best, max(1, many/2)
}

// bonus makes large pods come before small ones that are worth about the same.
const bonus = 0.3

// largest returns the first group of the lane that fits, and how many of it do.
func (f *filler) largest(li int32) (int, int) {
	l := &f.lanes[li]
	if len(l.groups) == 0 || l.same && f.bears(l.groups[0]) == 0 {
		return -1, 0
	}
	// Room only shrinks while a machine is filled, and so does what ties bear: who was passed over is never looked at again.
	if f.seen[li] != f.now {
		f.seen[li], f.from[li] = f.now, 0
	}
	for i := f.from[li]; int(i) < len(l.groups); i++ {
		g := l.groups[i]
		have := f.left[g] - f.used[g]
		if have > 0 && l.tied {
			have = min(have, f.bears(g))
		}
		if have > 0 {
			if k := f.room.times(f.sizes[g], have); k > 0 {
				f.from[li] = i
				return g, k
			}
		}
	}
	return -1, 0
}

// bears returns how many pods of group g may still join the machine being filled, as far as ties go.
func (f *filler) bears(g int) int {
	best := noCap
	for _, t := range f.ties[g] {
		n, limit := int32(0), t.limit
		if f.mark[t.at] == f.now {
			n, limit = f.n[t.at], min(limit, f.lim[t.at])
		}
		if t.adds > 0 {
			best = min(best, int(max(0, limit-n)/t.adds))
		} else if n > limit {
			return 0
		}
	}
	return best
}
