package portfolio

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/pack"
)

// Bounds of column generation.
const (
	maxRows    = 256       // sizes of pods that are told apart
	maxShare   = 64        // pods per machine, on average: where there are more, pods are as good as sand
	someShare  = 16        // beyond so many it hardly matters which they are, unless the bound says otherwise: see share
	farOff     = 20        // a draft more than one part in so many above the bound
	columnWork = 7_000_000 // steps of pack
	crowdWork  = 1_000_000 // likewise, where there are many pods on each machine
	// workAsStep: so many of them are as much work as one of ours.
	workAsStep = 4
)

// columns packs by column generation over whole pods: prices of amounts do not see which pods fill a machine up. It begins with the machines of
// the best draft so far. nil where there is nothing to win: next to the bound, with too many sizes, or with so many pods on each machine that it
// hardly matters which they are.
func (p *Packer) columns(want []int, best *Draft, bound int64) *Draft {
	total := sum(want)
	if best.Missed > 0 || total > p.share(want, best, bound)*len(best.Bins) || best.Price <= bound+bound/closeEnough {
		return nil
	}
	k := p.newColumns(want)
	if k == nil || len(k.in.Items) < 2 {
		return nil
	}
	if total > someShare*len(best.Bins) {
		k.in.Steps = min(k.in.Steps, crowdWork)
	}
	for _, b := range best.Bins {
		k.in.Start = append(k.in.Start, pack.Pattern{Bin: b.Choice, Loads: k.loads(b), Times: 1})
	}
	got := pack.Pack(k.in)
	p.Steps -= got.Spent / workAsStep
	worth := make([]int64, len(want))
	for g, i := range k.item {
		worth[g] = max(1, int64(1024*got.Worth[i]))
	}
	d, left, limits := &Draft{}, slices.Clone(want), p.Remaining(nil)
	for _, x := range got.Patterns {
		c := &p.Choices[x.Bin]
		for range limits[c.Seller].Times(c.Cost, x.Times) {
			d.Bins = append(d.Bins, k.bin(x, left))
			limits[c.Seller].Take(c.Cost, 1)
		}
	}
	if slices.Max(left) > 0 { // the work was spent, or a limit
		q := *p
		q.Limits, q.Cut = limits, false
		rest := q.fill(left, worth)
		if more, _, _ := q.learned(left, learn); more.Better(rest) {
			rest = more
		}
		p.Steps = q.Steps
		d.Bins = append(d.Bins, rest.Bins...)
	}
	p.settle(d, want)
	return p.frugally(polish, func(q *Packer) *Draft { return q.improve(d, want, worth) })
}

// columnar says which groups are which items: pods of one size that suit the same machines and are not tied to others are the same item.
type columnar struct {
	in     pack.Input
	item   []int   // per group
	groups [][]int // per item
}

// newColumns is nil when there are more items than one looks at.
func (p *Packer) newColumns(want []int) *columnar {
	k := &columnar{in: pack.Input{Steps: min(columnWork, p.Steps*workAsStep)}, item: make([]int, len(want))}
	at := map[string]int{}
	var text []byte
	for g, n := range want {
		if n == 0 {
			continue
		}
		text = binary.AppendUvarint(text[:0], uint64(p.Kinds[g]))
		for _, v := range p.Sizes[g] {
			text = binary.AppendVarint(text, v)
		}
		i, known := at[string(text)]
		if tied := len(p.Ties[g]) > 0; !known || tied {
			if i = len(k.in.Items); i == maxRows {
				return nil
			}
			if !tied {
				at[string(text)] = i
			}
			x := pack.Item{Size: p.Sizes[g], Kind: p.Kinds[g], Ties: make([]pack.Tie, 0, len(p.Ties[g]))}
			for _, t := range p.Ties[g] {
				x.Ties = append(x.Ties, pack.Tie{Count: t.Count, Adds: t.Adds, Limit: t.Limit})
			}
			k.in.Items, k.groups = append(k.in.Items, x), append(k.groups, nil)
		}
		k.item[g] = i
		k.in.Items[i].Count += n
		k.groups[i] = append(k.groups[i], g)
	}
	k.in.Bins = make([]pack.Bin, 0, len(p.Choices))
	for ci := range p.Choices {
		c := &p.Choices[ci]
		k.in.Bins = append(k.in.Bins, pack.Bin{Room: c.Room, Price: max(c.Price, 1), Takes: c.Takes})
	}
	return k
}

// loads is what a machine has, in items.
func (k *columnar) loads(b Bin) []pack.Load {
	var out []pack.Load
	for _, l := range b.Loads {
		i := k.item[l.Group]
		at := slices.IndexFunc(out, func(o pack.Load) bool { return o.Item == i })
		if at < 0 {
			at = len(out)
			out = append(out, pack.Load{Item: i})
		}
		out[at].N += l.N
	}
	return out
}

// bin is one machine of a pattern, and takes its pods out of left.
func (k *columnar) bin(x pack.Pattern, left []int) Bin {
	b := Bin{Choice: x.Bin}
	for _, l := range x.Loads {
		waiting := l.N
		for _, g := range k.groups[l.Item] {
			if n := min(waiting, left[g]); n > 0 {
				b.Loads = append(b.Loads, Load{g, n})
				left[g] -= n
				waiting -= n
			}
		}
	}
	slices.SortFunc(b.Loads, func(a, b Load) int { return a.Group - b.Group })
	return b
}

// share is how many pods per machine, on average, whole pods are looked at for. Amounts tell nearly all where pods are
// small, so that a draft far above the bound is one on which something else counts. But machines that are filled to the
// last are no good to pods that are let in one after the other: kube-scheduler puts some of them elsewhere, and the last
// finds pieces. In a landing of 500 mixed pods it cost one machine more than was planned.
func (p *Packer) share(want []int, best *Draft, bound int64) int {
	if best.Price <= bound+bound/farOff || p.inTurn(want) {
		return someShare
	}
	return maxShare
}

// inTurn reports whether some of the pods are let in one after the other.
func (p *Packer) inTurn(want []int) bool {
	for g, a := range p.Arrivals {
		if want[g] > 0 && (a.How == InTurn || a.How == Leading) {
			return true
		}
	}
	return false
}
