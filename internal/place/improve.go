package place

import (
	"cmp"
	"slices"
)

// Bounds of the local search: how many of the most wasteful machines it looks at, how many rounds it runs, and what
// one exact look at a few machines may cost in steps.
const (
	worst      = 10
	maxRounds  = 8
	smallExact = 5_000
)

// improve makes a draft cheaper where that is easy: smaller machines for what is on them, and better ways to pack the pods
// of the one to three most wasteful machines. The result is never worse.
func (p *packer) improve(d *draft, want []int, worth []int64) *draft {
	d = p.rightsize(d, want)
	for range maxRounds {
		if !p.uses(localSearch) {
			break
		}
		slices.SortStableFunc(d.bins, func(a, b bin) int { return cmp.Compare(p.waste(b, worth), p.waste(a, worth)) })
		if !p.round(d, want, worth) {
			break
		}
	}
	return d
}

// waste is the part of a machine's price that its pods are not worth.
func (p *packer) waste(b bin, worth []int64) int64 {
	w := p.choices[b.choice].price * 1024
	for _, l := range b.loads {
		w -= worth[l.group] * int64(l.n)
	}
	return w
}

// rightsize gives every machine the cheapest choice that holds its load.
func (p *packer) rightsize(d *draft, want []int) *draft {
	limits := p.remaining(d.bins)
	for i, b := range d.bins {
		old := p.choices[b.choice]
		limits[old.seller].take(old.cost, -1)
		if ci := p.cheapest(b.loads, limits); ci >= 0 {
			d.bins[i].choice = ci
		}
		now := p.choices[d.bins[i].choice]
		limits[now.seller].take(now.cost, 1)
	}
	return p.settle(d, want)
}

// round tries to pack some of the worst machines' pods anew, with the pods that found no place, and takes the first
// way that is better. It changes d and reports whether it did.
func (p *packer) round(d *draft, want []int, worth []int64) bool {
	n := min(worst, len(d.bins))
	picks := [][]int{{}}
	for i := range n {
		picks = append(picks, []int{i})
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			picks = append(picks, []int{i, j})
		}
	}
	for i := 0; i+2 < n; i++ {
		picks = append(picks, []int{i, i + 1, i + 2})
	}
	for _, pick := range picks {
		if p.steps <= 0 {
			return false
		}
		if next := p.repack(d, pick, worth); next != nil {
			d.bins = next
			p.settle(d, want)
			return true
		}
	}
	return false
}

// repack packs the pods of the picked machines and the pods left over again. nil when that is no better.
func (p *packer) repack(d *draft, pick []int, worth []int64) []bin {
	if len(pick) == 0 && d.missed == 0 {
		return nil
	}
	sub := slices.Clone(d.left)
	old := &draft{missed: d.missed}
	var keep []bin
	for i, b := range d.bins {
		if !slices.Contains(pick, i) {
			keep = append(keep, b)
			continue
		}
		old.bins = append(old.bins, b)
		old.price += p.choices[b.choice].price
		for _, l := range b.loads {
			sub[l.group] += l.n
		}
	}
	q := *p
	q.limits, q.cut = p.remaining(keep), false
	next := q.small(sub, smallExact)
	if next == nil {
		q.steps -= len(p.choices) * len(p.choices) / 256 // to arrange so many choices is work as well
		next = q.rightsize(q.fill(sub, worth), sub)
	}
	p.steps = q.steps
	if !next.better(old) {
		return nil
	}
	return append(keep, next.bins...)
}
