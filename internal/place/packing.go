package place

import (
	"maps"
	"slices"
)

// packing sets up the packing of what still waits into machines of pools of one weight; there are no choices when they sell nothing to them.
func (d *decision) packing(tier []*seller) (p *packer, choices []choice, want []int, groups []*group) {
	p = &packer{steps: d.steps, uses: d.in.uses}
	shy := maps.Clone(d.shy)
	for _, g := range d.buying {
		sold := false
		for _, s := range tier { // all of them are asked: packing looks at the answers
			sold = d.lotOf(s, g.form).ok.first() >= 0 || sold
		}
		n, k := g.waiting(), shyKey{g.of.key, tier[0].pool.Weight}
		if stay := min(n, shy[k]); stay > 0 {
			n -= stay
			shy[k] -= stay
		}
		if n > 0 && sold {
			groups, want, p.sizes = append(groups, g), append(want, n), append(p.sizes, g.size)
		}
	}
	if len(groups) > 0 {
		choices = newChoices(tier, classify(p, groups))
	}
	for i := range choices {
		p.choices = append(p.choices, choices[i].option)
	}
	for _, s := range d.sellers {
		p.limits = append(p.limits, s.left.clone())
	}
	return p, choices, want, groups
}

// tier packs what still waits into machines of pools of one weight, and returns how many machines had to be given up.
func (d *decision) tier(tier []*seller) int {
	p, choices, want, groups := d.packing(tier)
	if len(p.choices) == 0 {
		return 0
	}
	best := drafted(p, want, groups)
	if best.missed > 0 {
		best = p.important(best, want, turns(groups))
	}
	d.steps, d.plan.Cut = p.steps, d.plan.Cut || p.cut
	if p.uses(separateZones) {
		p.separate(best, arrivals(p, groups))
	}
	b := &buyer{d: d, sellers: d.sellers, groups: groups, choices: choices, most: d.most, spare: p.remaining(best.bins)}
	bought, given := b.purchases(best)
	d.plan.Buy = append(d.plan.Buy, bought...)
	return given
}

// classify numbers, for packing, the forms of the groups and the counts that tie them on one machine.
func classify(p *packer, groups []*group) []*form {
	var kinds []*form
	kindOf := map[*form]int{}
	at := map[*term]int32{}
	users := map[*term]int{}
	for _, g := range groups {
		for _, r := range g.host {
			if r.limit < noBound {
				users[r.term]++
			}
		}
	}
	var flat []knot
	ends := make([]int, 0, len(groups))
	for _, g := range groups {
		k, ok := kindOf[g.form]
		if !ok {
			k = len(kinds)
			kindOf[g.form] = k
			kinds = append(kinds, g.form)
		}
		p.kind = append(p.kind, k)
		for _, r := range g.host {
			if users[r.term] == 0 {
				continue // nobody minds
			}
			i, ok := at[r.term]
			if !ok {
				i = int32(len(at))
				at[r.term] = i
			}
			flat = append(flat, knot{i, r.adds, r.limit})
		}
		ends = append(ends, len(flat))
	}
	from := 0
	for _, end := range ends {
		p.ties, from = append(p.ties, flat[from:end:end]), end
	}
	p.knots = len(at)
	return kinds
}

// arrivals says how the pods of each group will be let in.
func arrivals(p *packer, groups []*group) []arrival {
	out := make([]arrival, len(groups))
	for i, g := range groups {
		switch {
		case g.bundled || len(p.ties[i]) > 0:
			out[i].how = fixed
		case g.of.tied() && len(g.of.near.terms) > 0:
			out[i] = arrival{leading, g.cell.key()}
		case g.of.tied():
			out[i] = arrival{inTurn, g.cell.key()}
		}
	}
	return out
}

// turns says of each group how many priorities are above its own. Groups come in order of their turn.
func turns(groups []*group) []int {
	out := make([]int, len(groups))
	for i := 1; i < len(groups); i++ {
		out[i] = out[i-1]
		if groups[i].turn(groups[i-1]) != 0 {
			out[i]++
		}
	}
	return out
}

// drafted packs. Sizes add up, which volumes that pods share do not: packing first leaves these out and looks whether machines attach
// them all the same, then counts them once on every machine that is to have such pods, and, where that does not do, once per pod.
func drafted(p *packer, want []int, groups []*group) *draft {
	most := make(vec, len(p.choices[0].room))
	for _, g := range groups {
		more := g.size.clone()
		more.take(g.lean, 1)
		for i, n := range more {
			most[i] = max(most[i], n)
		}
	}
	if !slices.ContainsFunc(most, func(n int64) bool { return n > 0 }) {
		return p.pack(want)
	}
	full := p.sizes
	p.sizes = nil
	for _, g := range groups {
		p.sizes = append(p.sizes, g.lean)
	}
	best := p.pack(want)
	if !attaches(p, best, groups) {
		best = setAside(p, want, groups, most)
		sound := attaches(p, best, groups)
		p.sizes = full
		if d := p.pack(want); !sound || d.better(best) {
			best = d
		}
	}
	p.sizes = full
	return best
}

// setAside packs with every choice twice: with room for the most volumes that pods share set aside, and as it is, for pods that share none.
func setAside(p *packer, want []int, groups []*group, most vec) *draft {
	kinds := slices.Max(p.kind) + 1
	kind := slices.Clone(p.kind)
	for i, g := range groups {
		if len(g.shared) > 0 {
			kind[i] += kinds
		}
	}
	options := make([]option, 0, 2*len(p.choices))
	for _, c := range p.choices {
		for _, aside := range []bool{false, true} {
			x := c
			x.takes = newSet(2 * kinds)
			c.takes.each(func(k int) {
				if x.takes.add(k); aside {
					x.takes.add(k + kinds)
				}
			})
			if aside {
				x.room = c.room.clone()
				x.room.take(most, 1)
			}
			options = append(options, x)
		}
	}
	q := p.among(kind, options)
	d := q.pack(want)
	p.steps, p.cut = q.steps, p.cut || q.cut
	for i := range d.bins {
		d.bins[i].choice /= 2
	}
	return d
}

// attaches reports whether all machines of a draft bear their volumes, those that pods share counted once.
func attaches(p *packer, d *draft, groups []*group) bool {
	return !slices.ContainsFunc(d.bins, func(b bin) bool { return !p.choices[b.choice].room.covers(needs(b, groups)) })
}

// needs is what the pods of a machine need together.
func needs(b bin, groups []*group) vec {
	out := make(vec, len(groups[0].size))
	addNeeds(out, b, groups)
	return out
}

// addNeeds adds what the pods of a machine need together.
func addNeeds(out vec, b bin, groups []*group) {
	var seen []string
	for _, l := range b.loads {
		g := groups[l.group]
		out.take(g.lean, -l.n)
		for _, m := range g.shared {
			if !slices.Contains(seen, m.id) {
				seen = append(seen, m.id)
				out[m.column]++
			}
		}
	}
}
