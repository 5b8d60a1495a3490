package pack

import (
	"cmp"
	"slices"
)

// Bounds of packing anew.
const (
	fewBins   = 8   // are packed anew together
	fruitless = 100 // attempts in a row, after which the packing is left as it is
)

// one is a single bin with what is in it, and by how much it costs more than that is worth.
type one struct {
	bin   int
	loads []Load
	waste float64
}

// again packs the contents of a few bins anew, time and again, as long as that helps: those that cost most beyond what is in them is worth, each
// with others drawn by lot, the wasteful more often than the rest.
func (p *packer) again(out *Packing, lot lots) {
	var list []one
	add := func(patterns []Pattern) {
		for _, x := range patterns {
			waste := float64(p.in.Bins[x.Bin].Price) - p.sum(x.Loads, p.worth)
			for range x.Times {
				list = append(list, one{x.Bin, x.Loads, waste})
			}
		}
	}
	add(out.Patterns)
	for miss := 0; miss < fruitless && len(list) > 1 && p.steps > 0 && p.open(out.Price); miss++ {
		slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(b.waste, a.waste) })
		k, lead := min(fewBins, len(list)), miss%((len(list)+1)/2)
		list[0], list[lead] = list[lead], list[0]
		for i := 1; i < k; i++ {
			n := len(list) - i
			j := i + min(lot.draw(n), lot.draw(n))
			list[i], list[j] = list[j], list[i]
		}
		old, gain := int64(0), 0.0
		next := Packing{Left: make([]int, len(p.left))}
		for _, b := range list[:k] {
			old += p.in.Bins[b.bin].Price
			gain += b.waste
			for _, l := range b.loads {
				next.Left[l.Item] += l.N
			}
		}
		p.steps -= len(list)
		if gain <= 0 { // it cannot be had for less
			continue
		}
		p.dive(&next)
		if next.Price >= old || missing(next.Left) > 0 {
			continue
		}
		out.Price += next.Price - old
		list = slices.Delete(list, 0, k)
		add(next.Patterns)
		miss = -1
	}
	out.Patterns = nil
	for _, b := range list {
		out.Patterns = append(out.Patterns, Pattern{b.bin, b.loads, 1})
	}
}

// lots are drawn by a fixed rule (Knuth's MMIX generator), so that the same question is answered alike.
type lots uint64

func (l *lots) draw(n int) int {
	*l = *l*6364136223846793005 + 1442695040888963407
	return int(*l>>33) % n
}

// missing is how many items are left.
func missing(left []int) int {
	n := 0
	for _, v := range left {
		n += v
	}
	return n
}
