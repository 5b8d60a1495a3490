package portfolio

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// apart packs pods that no machine could hold together each for themselves: pods of many pools of their own, of several architectures, or in zones. Every
// part of the search is then about what it can mix, and gets the share of the budget that its pods have. nil when all belong together.
func (p *Packer) apart(want []int) *Draft {
	of, n := p.components(want)
	if n < 2 {
		return nil
	}
	parts := partsOf(p, want, of, n)
	d := &Draft{}
	left := p.Remaining(nil)
	steps := p.Steps / sum(want)
	for i := range parts {
		part := &parts[i]
		if len(part.choices) == 0 {
			continue // nobody sells to them
		}
		q, some := part.only(p, want, left)
		q.Steps = max(1, steps*sum(some))
		budget := q.Steps
		for _, b := range q.together(some).Bins {
			b = part.named(b)
			d.Bins = append(d.Bins, b)
			c := &p.Choices[b.Choice]
			left[c.Seller].Take(c.Cost, 1)
		}
		p.Steps -= budget - max(q.Steps, 0)
		p.Cut = p.Cut || q.Cut
	}
	p.settle(d, want)
	if d.Missed > 0 { // a limit that they share, perhaps: who comes first may take what others need more
		if o := p.together(want); o.Better(d) {
			return o
		}
	}
	return d
}

// part is what belongs together: groups that wait, and the choices that take some of them, each by its number in the packer.
type part struct{ groups, choices []int }

// partsOf lists what belongs to each of n components.
func partsOf(p *Packer, want, of []int, n int) []part {
	out := make([]part, n)
	for g, n := range want {
		if n > 0 {
			part := &out[of[p.Kinds[g]]]
			part.groups = append(part.groups, g)
		}
	}
	for ci := range p.Choices {
		if k := p.wanted(ci, of); k >= 0 {
			part := &out[of[k]]
			part.choices = append(part.choices, ci)
		}
	}
	return out
}

// only is a packer that knows nothing but a part, so that what it does costs what the part is, and how many pods of each of its groups wait.
func (part *part) only(p *Packer, want []int, limits []vec.Vec) (*Packer, []int) {
	q, some := *p, make([]int, 0, len(part.groups))
	q.lay, q.scratch, q.Sizes, q.Kinds, q.Ties, q.Arrivals = nil, nil, nil, nil, nil, nil
	for _, g := range part.groups {
		some = append(some, want[g])
		q.Sizes, q.Kinds, q.Ties = append(q.Sizes, p.Sizes[g]), append(q.Kinds, p.Kinds[g]), append(q.Ties, p.Ties[g])
		if p.Arrivals != nil {
			q.Arrivals = append(q.Arrivals, p.Arrivals[g])
		}
	}
	seller := map[int]int{}
	q.Choices, q.Limits = make([]Choice, 0, len(part.choices)), nil
	for _, ci := range part.choices {
		c := p.Choices[ci]
		at, known := seller[c.Seller]
		if !known {
			at = len(q.Limits)
			seller[c.Seller], q.Limits = at, append(q.Limits, limits[c.Seller])
		}
		c.Seller = at
		q.Choices = append(q.Choices, c)
	}
	return &q, some
}

// named is a machine of a part in the packer's numbers.
func (p *part) named(b Bin) Bin {
	out := Bin{p.choices[b.Choice], slices.Clone(b.Loads)}
	for i := range out.Loads {
		out.Loads[i].Group = p.groups[out.Loads[i].Group]
	}
	return out
}

// components numbers the forms that wait by who may share a machine with whom, or with somebody who may; -1 for those of which nobody waits.
func (p *Packer) components(want []int) (of []int, parts int) {
	for _, k := range p.Kinds {
		of = append(of, make([]int, max(0, k+1-len(of)))...)
	}
	for k := range of {
		of[k] = -1
	}
	for g, n := range want {
		if n > 0 {
			of[p.Kinds[g]] = p.Kinds[g]
		}
	}
	top := func(k int) int {
		for of[k] != k {
			of[k] = of[of[k]]
			k = of[k]
		}
		return k
	}
	for ci := range p.Choices {
		first := p.wanted(ci, of)
		if first < 0 {
			continue
		}
		takes := p.Choices[ci].Takes
		for k := takes.Next(first + 1); k >= 0; k = takes.Next(k + 1) {
			if k < len(of) && of[k] >= 0 {
				of[top(k)] = top(first)
			}
		}
	}
	number := map[int]int{}
	out := make([]int, len(of))
	for k := range of {
		if out[k] = -1; of[k] >= 0 {
			root := top(k)
			if _, known := number[root]; !known {
				number[root] = len(number)
			}
			out[k] = number[root]
		}
	}
	return out, len(number)
}

// wanted is the first form that a choice takes and that is not -1 in of; -1 when there is none.
func (p *Packer) wanted(ci int, of []int) int {
	takes := p.Choices[ci].Takes
	for k := takes.First(); k >= 0; k = takes.Next(k + 1) {
		if k < len(of) && of[k] >= 0 {
			return k
		}
	}
	return -1
}
