// Package pack answers: which bins hold these items most cheaply?
//
// It is vector bin packing with bins of many types, by column generation (Gilmore and Gomory): a linear program buys patterns, each a bin with
// whole items in it, and asks, at its own prices, for patterns that would make it cheaper; its value bounds every packing from below. Then it
// dives: patterns that the program buys whole are bought, the best fraction is rounded up, and the program is solved again for what is left. The
// package knows no pod, node or label.
package pack

import (
	"cmp"
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
	// Start holds patterns that are known to be good.
	Start []Pattern
	// Steps bounds the work, in visits of an item by a bin and numbers of the linear program touched.
	Steps int
}

// Packing is an answer.
type Packing struct {
	Patterns []Pattern
	Left     []int // per item
	Price    int64
	// Bound is what any packing of all items costs at least; 0 when the work did not suffice for one.
	Bound int64
	// Worth is what one of each item costs in the linear program.
	Worth []float64
	Spent int
}

const (
	// closeEnough: a price this near its bound is not worth more work.
	closeEnough = 1e-3
	tiny        = 1e-9
)

// packer is one question being answered.
type packer struct {
	in    *Input
	dims  int
	left  []int // per item: to be packed
	bins  []bin // those that hold something
	dirs  [][]float64
	steps int
	// Scratch of pricing.
	order         []int
	ratio, weight []float64 // per item
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
	at    int // in Input.Bins
	items []int
	set   int // those with the same items have the same number
	price float64
	tops  []float64 // per direction: its room
}

// Pack packs. The same input gives the same packing. O(Steps).
func Pack(in Input) Packing {
	p := newPacker(&in)
	m := p.relax()
	out := Packing{Left: make([]int, len(in.Items)), Worth: slices.Clone(m.worth), Bound: int64(m.bound)}
	for i := range in.Items {
		out.Left[i] = in.Items[i].Count
	}
	p.dive(m, &out)
	out.Spent = in.Steps - max(p.steps, 0)
	return out
}

func newPacker(in *Input) *packer {
	p := &packer{in: in, left: make([]int, len(in.Items)), steps: in.Steps}
	sets := map[string]int{}
	for i := range in.Bins {
		b := bin{at: i, price: float64(max(in.Bins[i].Price, 1))}
		var text []byte
		for g := range in.Items {
			if x := &in.Items[g]; x.Count > 0 && in.Bins[i].takes(x.Kind) && fits(x.Size, in.Bins[i].Room) {
				b.items = append(b.items, g)
				text = append(text, byte(g), byte(g>>8), byte(g>>16))
			}
		}
		p.dims = len(in.Bins[i].Room)
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
