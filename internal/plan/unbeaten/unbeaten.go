// Package unbeaten answers: which of these options does no other beat?
//
// It compares what is for sale by room, what it takes of limits, and whom it suits. It packs nothing,
// and knows no prices: options come in their order.
package unbeaten

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// Option is one thing that may be bought.
type Option struct {
	Seller int
	Room   vec.Vec
	Cost   vec.Vec    // of the seller's limits
	Takes  bitset.Set // kinds of groups that it accepts
	// Free tells apart those of one seller that cost and hold the same; who has 0 may stand for all.
	Free int
}

// Block is how many options are looked at together when one is sought that beats another.
const Block = 32

// PerStep is how many comparisons are as much work as a question about a pod, or a step of packing.
const PerStep = 64

// flavour is whose options are compared with each other.
type flavour struct{ seller, free int }

// lot is the kept options of a flavour, and of each block what none of it has more room for.
type lot struct {
	kept []int
	most []vec.Vec
}

// Of returns the positions of those of n options that no other beats: as cheap, as roomy, accepting
// as much, taking no more of the limits. Options come by price; of equals the first stays. Each
// seller's flavours are apart, but for the one that stands for all. It compares as long as steps are
// left, and says how many it took: beyond them whatever comes is kept, which is never wrong.
// O(options² / Block) where none beats another.
func Of(n int, option func(int) *Option, steps int) (out []int, took int) {
	lots := map[flavour]*lot{}
	looks, most := 0, min(steps, maxSteps)*PerStep
	for i := range n {
		c := option(i)
		if looks < most && beaten(c, lots, option, &looks) {
			continue
		}
		own := flavour{c.Seller, c.Free}
		if lots[own] == nil {
			lots[own] = &lot{}
		}
		lots[own].keep(i, c)
		out = append(out, i)
	}
	return out, looks / PerStep
}

// maxSteps is more than anybody has.
const maxSteps = 1 << 40

// beaten reports whether a kept option beats c. It counts whom it looks at, and blocks.
func beaten(c *Option, lots map[flavour]*lot, option func(int) *Option, looks *int) bool {
	of := []flavour{{c.Seller, c.Free}, {c.Seller, 0}} // 0 is the one for all
	for _, f := range of[:min(c.Free+1, 2)] {
		l := lots[f]
		if l == nil {
			continue
		}
		for b := len(l.most) - 1; b >= 0; b-- { // what is about as dear is about as large
			*looks++
			if !l.most[b].Covers(c.Room) {
				continue
			}
			block := l.kept[b*Block : min((b+1)*Block, len(l.kept))]
			by := slices.IndexFunc(block, func(j int) bool {
				o := option(j)
				return o.Room.Covers(c.Room) && c.Cost.Covers(o.Cost) && c.Takes.Within(o.Takes)
			})
			if by >= 0 {
				*looks += by + 1
				return true
			}
			*looks += len(block)
		}
	}
	return false
}

func (l *lot) keep(i int, c *Option) {
	if len(l.kept)%Block == 0 {
		l.most = append(l.most, c.Room.Clone())
	}
	last := l.most[len(l.most)-1]
	for r, v := range c.Room {
		last[r] = max(last[r], v)
	}
	l.kept = append(l.kept, i)
}
