package portfolio

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
func (p *Packer) improve(d *Draft, want []int, worth []int64) *Draft {
	d = p.rightsize(d, want)
	for range maxRounds {
		if !p.uses(localSearch) {
			break
		}
		slices.SortStableFunc(d.Bins, func(a, b Bin) int { return cmp.Compare(p.waste(b, worth), p.waste(a, worth)) })
		if !p.round(d, want, worth) {
			break
		}
	}
	return d
}

// waste is the part of a machine's price that its pods are not worth.
func (p *Packer) waste(b Bin, worth []int64) int64 {
	w := p.Choices[b.Choice].Price * 1024
	for _, l := range b.Loads {
		w -= worth[l.Group] * int64(l.N)
	}
	return w
}

// rightsize gives every machine the cheapest choice that holds its load.
func (p *Packer) rightsize(d *Draft, want []int) *Draft {
	limits := p.Remaining(d.Bins)
	for i, b := range d.Bins {
		old := p.Choices[b.Choice]
		limits[old.Seller].Take(old.Cost, -1)
		if ci := p.cheapest(b.Loads, limits); ci >= 0 {
			d.Bins[i].Choice = ci
		}
		now := p.Choices[d.Bins[i].Choice]
		limits[now.Seller].Take(now.Cost, 1)
	}
	return p.settle(d, want)
}

// round tries to pack some of the worst machines' pods anew, with the pods that found no place, and takes the first
// way that is better. It changes d and reports whether it did.
func (p *Packer) round(d *Draft, want []int, worth []int64) bool {
	n := min(worst, len(d.Bins))
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
		if p.Steps <= 0 {
			return false
		}
		if next := p.repack(d, pick, worth); next != nil {
			d.Bins = next
			p.settle(d, want)
			return true
		}
	}
	return false
}

// repack packs the pods of the picked machines and the pods left over again. nil when that is no better.
func (p *Packer) repack(d *Draft, pick []int, worth []int64) []Bin {
	if len(pick) == 0 && d.Missed == 0 {
		return nil
	}
	sub := slices.Clone(d.Left)
	old := &Draft{Missed: d.Missed}
	var keep []Bin
	for i, b := range d.Bins {
		if !slices.Contains(pick, i) {
			keep = append(keep, b)
			continue
		}
		old.Bins = append(old.Bins, b)
		old.Price += p.Choices[b.Choice].Price
		for _, l := range b.Loads {
			sub[l.Group] += l.N
		}
	}
	q := *p
	q.Limits, q.Cut = p.Remaining(keep), false
	next := q.small(sub, smallExact)
	if next == nil {
		q.Steps -= len(p.Choices) * len(p.Choices) / 256 // to arrange so many choices is work as well
		next = q.rightsize(q.fill(sub, worth), sub)
	}
	p.Steps = q.Steps
	if !next.Better(old) {
		return nil
	}
	return append(keep, next.Bins...)
}
