package portfolio

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

const (
	// octave is how finely machines are told apart by size when patterns are tried: so many steps per doubling.
	octave = 2
	// buckets is how finely groups are told apart by memory per core.
	buckets = 24
	// marketBlock is how many choices of a market are looked at together when one is sought that holds something.
	marketBlock = 16
)

// layout is what filling machines asks of choices and groups, whatever is waiting. It is made once per packer.
type layout struct {
	markets  []market
	marketOf []int32   // per choice
	takers   [][]int32 // per kind: the markets that take it
	order    []int32   // groups, in the order in which lanes list them
	inverse  [][]float64
	bucket   []int8 // per group: memory per core
}

// market is the choices that take the same kinds.
type market struct {
	choices []int32   // by price
	tries   []int32   // those for which patterns are built
	most    []vec.Vec // per block of choices: the most of each amount that any of them has room for
}

// lane is the waiting groups of a market with about the same memory per core.
type lane struct {
	rows   []row   // large ones first
	groups []int32 // of all rows, to cut theirs from
	// The machine being filled: the first row and the first group in it that may still go on; valid where seen is now.
	row, pos, seen int
	// What that group is, and how many of it may go on.
	group   int32
	waits   int
	tied    bool
	size    vec.Vec
	inverse []float64
	scored  int // when it was scored last
}

// row is groups of one size.
type row struct {
	size vec.Vec
	// inverse is one over size; very large where size is nothing.
	inverse []float64
	groups  []int32
	// gone, where nothing is left of the row, is how far the next one is of which something may be.
	gone int32
}

// arranged returns the layout of the packer. O(choices + groups log groups) once.
func (p *Packer) arranged(want []int) *layout {
	if p.lay != nil {
		return p.lay
	}
	l := &layout{marketOf: make([]int32, len(p.Choices)), order: make([]int32, len(p.Sizes)), bucket: make([]int8, len(p.Sizes))}
	p.lay = l
	var sets []bitset.Set
	for ci := range p.Choices {
		takes := p.Choices[ci].Takes
		m := slices.IndexFunc(sets, func(s bitset.Set) bool { return slices.Equal(s, takes) })
		if m < 0 {
			m = len(sets)
			sets, l.markets = append(sets, takes), append(l.markets, market{})
		}
		l.marketOf[ci] = int32(m)
		l.markets[m].choices = append(l.markets[m].choices, int32(ci))
	}
	kinds := 0
	for g := range p.Sizes {
		l.order[g], l.bucket[g] = int32(g), int8(ratioBucket(p.Sizes[g]))
		kinds = max(kinds, p.Kinds[g]+1)
	}
	l.takers = make([][]int32, kinds)
	for k := range l.takers {
		for m := range sets {
			if sets[m].Has(k) {
				l.takers[k] = append(l.takers[k], int32(m))
			}
		}
	}
	for m := range l.markets {
		l.markets[m].tries = p.pickTries(l.markets[m].choices)
		for block := range slices.Chunk(l.markets[m].choices, marketBlock) {
			most := p.Choices[block[0]].Room.Clone()
			for _, ci := range block[1:] {
				for r, v := range p.Choices[ci].Room {
					most[r] = max(most[r], v)
				}
			}
			l.markets[m].most = append(l.markets[m].most, most)
		}
	}
	l.inverse = make([][]float64, len(p.Sizes))
	flat := make([]float64, len(p.Sizes)*len(p.Choices[0].Room))
	for g, v := range p.Sizes {
		l.inverse[g], flat = flat[:len(v):len(v)], flat[len(v):]
		for r, x := range v {
			l.inverse[g][r] = math.MaxFloat32
			if x > 0 {
				l.inverse[g][r] = 1 / float64(x)
			}
		}
	}
	machines := make([]int, len(want))
	for g, n := range want {
		machines[g] = p.machines(g, n)
	}
	slices.SortFunc(l.order, func(a, b int32) int {
		return cmp.Or(-slices.Compare(p.Sizes[a], p.Sizes[b]), cmp.Compare(machines[b], machines[a]), cmp.Compare(a, b))
	})
	return l
}

// machines is how many machines n pods of the group need at least because of its ties.
func (p *Packer) machines(g, n int) int {
	most := 0
	for _, t := range p.Ties[g] {
		if t.Adds > 0 && t.Limit < NoLimit {
			most = max(most, n*int(t.Adds)/int(max(t.Limit, 1)))
		}
	}
	return most
}

// ratioBucket tells amounts apart by memory per core, in half powers of two around 2 GiB.
func ratioBucket(v vec.Vec) int {
	ratio := (float64(v[1]) + 1) / (float64(v[0]) + 1) / (1 << 21) // bytes per thousandth of a core
	return min(max(int(math.Round(2*math.Log2(ratio)))+buckets/2, 0), buckets-1)
}

// pickTries chooses, of choices that take the same, the best per size, memory per core and devices: with most room per price.
func (p *Packer) pickTries(list []int32) []int32 {
	type likeness struct {
		size, ratio int
		devices     uint64
	}
	best := map[likeness]int32{}
	for _, ci := range list {
		c := &p.Choices[ci]
		like := likeness{size: int(octave * math.Log2(float64(c.Room[0])+1)), ratio: ratioBucket(c.Room)}
		for r := 4; r < len(c.Room); r++ {
			if c.Room[r] > 0 {
				like.devices |= 1 << min(r, 63)
			}
		}
		if old, ok := best[like]; !ok || p.density(ci) > p.density(old) {
			best[like] = ci
		}
	}
	out := make([]int32, 0, len(best))
	for _, ci := range best {
		out = append(out, ci)
	}
	slices.Sort(out)
	return out
}

func (p *Packer) density(ci int32) float64 {
	c := &p.Choices[ci]
	return (float64(c.Room[0])/1000 + float64(c.Room[1])/(4<<30)) / float64(max(c.Price, 1))
}

// layLanes sorts the waiting groups into the lanes of each market.
func (f *filler) layLanes() {
	f.lanes = make([][]lane, len(f.lay.markets))
	at := make([]int32, len(f.lanes)*buckets) // per market and bucket: how many groups; then less than nothing by 1 + the lane
	total := 0
	for _, g := range f.lay.order {
		if f.left[g] == 0 {
			continue
		}
		f.alive++
		for _, m := range f.lay.takers[f.Kinds[g]] {
			at[int(m)*buckets+int(f.lay.bucket[g])]++
			total++
		}
	}
	flat := make([]int32, total)
	for m := range f.lanes {
		n := 0
		for _, k := range at[m*buckets:][:buckets] {
			n += int(min(k, 1))
		}
		f.lanes[m] = make([]lane, 0, n)
	}
	for _, g := range f.lay.order {
		if f.left[g] == 0 {
			continue
		}
		for _, m := range f.lay.takers[f.Kinds[g]] {
			i := &at[int(m)*buckets+int(f.lay.bucket[g])]
			if *i > 0 {
				f.lanes[m] = append(f.lanes[m], lane{groups: flat[:0:*i]})
				flat = flat[*i:]
				*i = -int32(len(f.lanes[m]))
			}
			l := &f.lanes[m][-*i-1]
			if n := len(l.rows); n == 0 || !slices.Equal(l.rows[n-1].size, f.Sizes[g]) {
				l.rows = append(l.rows, row{size: f.Sizes[g], inverse: f.lay.inverse[g], groups: l.groups[len(l.groups):]})
			}
			l.groups = append(l.groups, g)
			r := &l.rows[len(l.rows)-1]
			r.groups = r.groups[:len(r.groups)+1]
		}
	}
}

// tidy drops groups of which nothing is left. It is called when half of them are: O(1) per group, over all.
func (f *filler) tidy() {
	f.alive, f.dead = f.alive-f.dead, 0
	for m := range f.lanes {
		for i := range f.lanes[m] {
			l := &f.lanes[m][i]
			for j := range l.rows {
				l.rows[j].groups = slices.DeleteFunc(l.rows[j].groups, func(g int32) bool { return f.left[g] == 0 })
			}
			l.rows = slices.DeleteFunc(l.rows, func(r row) bool { return len(r.groups) == 0 })
			for j := range l.rows {
				l.rows[j].gone = 0
			}
		}
		f.lanes[m] = slices.DeleteFunc(f.lanes[m], func(l lane) bool { return len(l.rows) == 0 })
	}
}

// alive is the first row from one on of which something is left. What is passed over is passed over at once the next time.
func (l *lane) alive(from int) int {
	to := from
	for to < len(l.rows) && l.rows[to].gone > 0 {
		to += int(l.rows[to].gone)
	}
	for from < to {
		step := int(l.rows[from].gone)
		l.rows[from].gone = int32(to - from)
		from += step
	}
	return to
}

// smaller is the first row after the one that the lane is at whose pods ask for no more of the first amount: rows come large ones first.
func (l *lane) smaller(room int64) int {
	rest := l.rows[l.row+1:]
	return l.row + 1 + sort.Search(len(rest), func(i int) bool { return rest[i].size[0] <= room })
}

// advance makes the lane offer the first group that may go on; it is false when there is none. Room only shrinks while a machine is
// filled, and so does what ties bear: who was passed over is never looked at again.
func (f *filler) advance(l *lane) bool {
	if l.seen != f.now {
		l.seen, l.row, l.pos = f.now, 0, 0
	}
next:
	for l.row < len(l.rows) {
		r := &l.rows[l.row]
		switch {
		case r.gone > 0:
			l.row, l.pos = l.alive(l.row), 0
			continue
		case r.size[0] > f.room[0]:
			l.row, l.pos = l.smaller(f.room[0]), 0
			continue
		}
		room := f.room[:len(r.size)]
		for i, v := range r.size {
			if room[i] < v {
				l.row, l.pos = l.row+1, 0
				continue next
			}
		}
		some := false
		for ; l.pos < len(r.groups); l.pos++ {
			g := int(r.groups[l.pos])
			if n := f.waits(g); n > 0 {
				l.waits, l.group, l.tied, l.size, l.inverse = n, r.groups[l.pos], len(f.Ties[g]) > 0, r.size, r.inverse
				return true
			}
			some = some || f.left[g] > 0
		}
		if !some && !slices.ContainsFunc(r.groups, func(g int32) bool { return f.left[g] > 0 }) {
			r.gone = 1
		}
		l.row, l.pos = l.row+1, 0
	}
	return false
}
