// Package pack answers: which bins hold these items most cheaply?
//
// It is vector bin packing with bins of many types, by column generation (Gilmore and Gomory): a linear program buys patterns, each a bin with
// whole items in it, and asks, at its own prices, for patterns that would make it cheaper; prices at which no pattern would, bound every packing
// from below. Then it dives: patterns that the program buys whole are bought, the best fraction is rounded up, and the program is solved again for
// what is left. At last it dives again for what is in a few bins at a time. The package knows no pod, node or label.
package pack

import (
	"cmp"
	"math"
	"slices"
)

// Item is things that are alike.
type Item struct {
	Size  []int64 // per resource, not negative; one is positive
	Count int
	Kind  int   // see Bin.Takes
	Ties  []Tie // what bounds how many of some items share a bin
}

// Tie bounds what shares a bin: each item adds to a count, and no item bears more than its limit.
type Tie struct{ Count, Adds, Limit int32 }

// Bin is a type of bin that may be bought, in any number.
type Bin struct {
	Room  []int64 // per resource
	Price int64   // positive
	Takes []uint64
}

// takes reports whether bins of the type take items of a kind.
func (b *Bin) takes(kind int) bool {
	return kind>>6 < len(b.Takes) && b.Takes[kind>>6]&(1<<(kind&63)) != 0
}

// Load is how many of an item are in a bin.
type Load struct{ Item, N int }

// Pattern is a bin type with what is in it, bought so many times.
type Pattern struct {
	Bin   int
	Loads []Load // by item
	Times int
}

// Input is one question. Items that no bin holds are left over; everything else is packed.
type Input struct {
	Items []Item
	Bins  []Bin
	// Start is a packing that is known already. The answer is never dearer.
	Start []Pattern
	// Steps bounds the work, in visits of an item by a bin and numbers of the linear program touched. It is spent as long as the price is not close
	// to the bound and something still changes. Work goes the same way whatever the bound: more steps never make an answer dearer.
	Steps int
}

// Packing is an answer.
type Packing struct {
	Patterns []Pattern
	Left     []int // per item
	Price    int64
	// Bound is what any packing of all items costs at least; 0 when the work did not suffice for one.
	Bound int64
	// Worth prices items such that no pattern is worth more than its bin costs, but for rounding: it proves the bound.
	Worth []float64
	Spent int
}

const (
	// fine: a load that is worth no more than so much above the price of its bin is not looked for.
	fine = 5e-4
	tiny = 1e-9
)

// packer is one question being answered.
type packer struct {
	in    *Input
	dims  int
	left  []int // per item: to be packed
	bins  []bin // those that hold something
	dirs  [][]float64
	rest  int       // steps that are left in all
	steps int       // and for what is being done
	worth []float64 // per item: see Packing
	bound float64   // what all items are worth
	fine  float64   // see the constant
	alone []column  // per item: see singles
	pool  []column  // all patterns known so far
	// Scratch of pricing.
	order         []int
	ratio, weight []float64 // per item
	cap           []int     // per item: how many fit into the empty bin
	state         []int8
	basic         []int // per resource
	width         int   // of a row of suffix
	suffix        []float64
	lambda        []float64 // per resource
	small         []float64
	room          []int64
	best, now     []Load
	bestValue     float64
	nodes         int
	counts        []int32
	limits        []int32
}

// bin is a type of bin with the items that it holds.
type bin struct {
	at     int // in Input.Bins
	items  []int
	set    int // those with the same items have the same number
	price  float64
	nodes  int
	lambda []float64 // what its amounts were worth last
	known  bool
	tops   []float64 // per direction: its room
}

// Shares of the work of a stage, per cent, and the first stage. Each takes twice the steps of the one before.
const (
	firstStage = 1_000_000
	relaxShare = 40
	diveShare  = 100
	againShare = 20 // once for what the dive found, and once for the best
	// patient: after so many stages in a row that changed nothing, the answer is left as it is.
	patient = 2
)

// Pack packs. The same input gives the same packing. O(Steps).
func Pack(in Input) Packing {
	p := newPacker(&in)
	var out Packing
	var m *master
	p.share(p.rest, func() { out, m = p.start(), p.relax() })
	idle := 0
	for stage, n := 0, firstStage; p.rest > 0 && idle < patient; stage, n = stage+1, 2*n {
		price, bound := out.Price, p.bound
		p.share(n*relaxShare/100, func() { m.settle() })
		next := Packing{Left: slices.Clone(p.left)}
		p.share(n*diveShare/100, func() { p.dive(&next) })
		better := func() {
			if a, b := missing(next.Left), missing(out.Left); a < b || a == b && next.Price < out.Price {
				out = next
			}
		}
		better()
		if missing(next.Left) == 0 {
			p.share(n*againShare/100, func() { p.again(&next, lots(2*stage)) })
			better()
		}
		if missing(out.Left) == 0 {
			p.share(n*againShare/100, func() { p.again(&out, lots(2*stage+1)) })
			if !p.open(out.Price) {
				break
			}
		}
		if idle++; out.Price != price || p.bound > bound*(1+slow) || missing(next.Left) > 0 {
			idle = 0
		}
	}
	for i, x := range in.Items {
		out.Left[i] += x.Count - p.left[i] // what no bin holds
	}
	out.Worth, out.Bound, out.Spent = p.worth, int64(p.bound), in.Steps-max(p.rest, 0)
	return out
}

// Prices prices items such that no bin can hold items worth more than it costs, but for rounding, and all together are worth as much as the work
// suffices for: what Pack knows of what packings must cost. O(Steps).
func Prices(in Input) []float64 {
	p := newPacker(&in)
	var m *master
	p.share(p.rest, func() { _, m = p.start(), p.relax() })
	for _, p.fine = range []float64{fine, fine / 10, fine / 100} {
		before := math.Inf(-1)
		for p.rest > 0 && p.bound > before*(1+p.fine) {
			before = p.bound
			p.share(p.rest, m.settle)
		}
	}
	return p.worth
}

// share gives a part of the work to what f does.
func (p *packer) share(steps int, f func()) {
	given := min(steps, p.rest)
	p.steps = given
	f()
	p.rest -= given - p.steps
}

// open reports whether a price is so far from the bound that it is worth more work.
func (p *packer) open(price int64) bool { return float64(price) > p.bound*(1+2*p.fine) }

// start is what is known already, as far as bins hold it.
func (p *packer) start() Packing {
	p.singles()
	out := Packing{Left: slices.Clone(p.left)}
	for _, x := range p.in.Start {
		c := column{x.Bin, float64(max(p.in.Bins[x.Bin].Price, 1)), slices.Clone(x.Loads)}
		p.pool = append(p.pool, c)
		p.buy(&out, &c, x.Times)
	}
	out.Price = p.paid(out.Patterns)
	return out
}

func newPacker(in *Input) *packer {
	p := &packer{in: in, left: make([]int, len(in.Items)), rest: in.Steps, fine: fine}
	sets := map[string]int{}
	for i := range in.Bins {
		b := bin{at: i, nodes: nodesFirst, price: float64(max(in.Bins[i].Price, 1))}
		var text []byte
		for g := range in.Items {
			if x := &in.Items[g]; x.Count > 0 && in.Bins[i].takes(x.Kind) && fits(x.Size, in.Bins[i].Room) {
				b.items = append(b.items, g)
				text = append(text, byte(g), byte(g>>8), byte(g>>16))
			}
		}
		p.dims = len(in.Bins[i].Room)
		b.lambda = make([]float64, p.dims)
		if len(b.items) == 0 {
			continue
		}
		n, known := sets[string(text)]
		if !known {
			n = len(sets)
			sets[string(text)] = n
		}
		b.set = n
		p.bins = append(p.bins, b)
	}
	p.directions()
	ties := 0
	for i := range in.Items {
		for _, t := range in.Items[i].Ties {
			ties = max(ties, int(t.Count)+1)
		}
	}
	p.counts, p.limits = make([]int32, ties), make([]int32, ties)
	p.room, p.lambda, p.small = make([]int64, p.dims), make([]float64, p.dims), make([]float64, p.dims*(p.dims+3))
	p.cap, p.state, p.basic = make([]int, len(in.Items)), make([]int8, len(in.Items)), make([]int, p.dims)
	p.ratio, p.weight = make([]float64, len(in.Items)), make([]float64, len(in.Items))
	return p
}

func fits(size, room []int64) bool {
	for r, v := range size {
		if v > room[r] {
			return false
		}
	}
	return true
}

// shapes is how many directions are looked along.
const shapes = 12

// directions chooses weights of resources: those of bins that are unlike each other. Along each, the weight of what is in a bin is at most that
// of its room, which bounds what it is worth.
func (p *packer) directions() {
	type shape struct {
		dir []float64
		n   int
	}
	var list []shape
	for i := range p.bins {
		room := p.in.Bins[p.bins[i].at].Room
		dir := make([]float64, p.dims)
		for r, v := range room {
			if v > 0 {
				dir[r] = 1 / float64(v)
			}
		}
		like := func(s shape) bool {
			for r, v := range s.dir {
				if (v > 0) != (dir[r] > 0) {
					return false
				}
				if v > 0 && r > 0 && s.dir[0] > 0 && dir[0] > 0 {
					if x := (v / s.dir[0]) / (dir[r] / dir[0]); x < 0.7 || x > 1.4 {
						return false
					}
				}
			}
			return true
		}
		if at := slices.IndexFunc(list, like); at >= 0 {
			list[at].n++
		} else {
			list = append(list, shape{dir, 1})
		}
	}
	slices.SortStableFunc(list, func(a, b shape) int { return cmp.Compare(b.n, a.n) })
	for _, s := range list[:min(len(list), shapes)] {
		p.dirs = append(p.dirs, s.dir)
	}
	for r := range p.dims {
		dir := make([]float64, p.dims)
		dir[r] = 1
		p.dirs = append(p.dirs, dir)
	}
	for i := range p.bins {
		b := &p.bins[i]
		for _, dir := range p.dirs {
			b.tops = append(b.tops, weigh(dir, p.in.Bins[b.at].Room))
		}
	}
}

func weigh(dir []float64, v []int64) float64 {
	sum := 0.0
	for r, x := range v {
		sum += dir[r] * float64(x)
	}
	return sum
}
