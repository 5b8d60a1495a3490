package portfolio

// apart packs pods that no machine could hold together each for themselves: pods of many pools of their own, of several architectures, or in zones. Every
// part of the search is then about what it can mix, and gets the share of the budget that its pods have. nil when all belong together.
func (p *Packer) apart(want []int) *Draft {
	of, parts := p.components(want)
	if parts < 2 {
		return nil
	}
	total := sum(want)
	pods := make([]int, parts)
	for g, n := range want {
		if n > 0 {
			pods[of[p.Kinds[g]]] += n
		}
	}
	d := &Draft{}
	steps := p.Steps
	for part := range parts {
		var choices []Choice
		var at []int // of these, in p
		for ci := range p.Choices {
			if k := p.wanted(ci, of); k >= 0 && of[k] == part {
				choices, at = append(choices, p.Choices[ci]), append(at, ci)
			}
		}
		if len(choices) == 0 {
			continue // nobody sells to them
		}
		some := make([]int, len(want))
		for g, n := range want {
			if n > 0 && of[p.Kinds[g]] == part {
				some[g] = n
			}
		}
		q := *p
		q.Choices, q.Limits, q.lay, q.scratch = choices, p.Remaining(d.Bins), nil, nil
		q.Steps = max(1, steps/total*pods[part])
		budget := q.Steps
		for _, b := range q.together(some).Bins {
			b.Choice = at[b.Choice]
			d.Bins = append(d.Bins, b)
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
