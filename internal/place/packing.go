package place

import (
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// packing sets up the packing of what still waits into machines of pools of one weight; there are no choices when they sell nothing to them.
func (d *purchasing) packing(tier []*nodePool) (p *portfolio.Packer, choices []choice, want []int, groups []*group) {
	p = &portfolio.Packer{Steps: d.steps, Without: d.without}
	shy := maps.Clone(d.shy)
	for _, g := range d.buying {
		sold := false
		for _, s := range tier { // all of them are asked: packing looks at the answers
			sold = d.allowedOf(s, g.constraint).ok.First() >= 0 || sold
		}
		n, k := g.waiting(), shyKey{g.of.key, tier[0].pool.Weight}
		if stay := min(n, shy[k]); stay > 0 {
			n -= stay
			shy[k] -= stay
		}
		if n > 0 && sold {
			groups, want, p.Sizes = append(groups, g), append(want, n), append(p.Sizes, g.size)
		}
	}
	if len(groups) > 0 {
		choices = newChoices(tier, classify(p, groups))
		p.Arrivals = arrivals(p, groups)
	}
	for i := range choices {
		p.Choices = append(p.Choices, choices[i].Choice)
	}
	for _, s := range d.pools {
		p.Limits = append(p.Limits, s.left.Clone())
	}
	return p, choices, want, groups
}

// tier packs what still waits into machines of pools of one weight, and returns how many machines had to be given up.
func (d *purchasing) tier(tier []*nodePool) int {
	p, choices, want, groups := d.packing(tier)
	if len(p.Choices) == 0 {
		return 0
	}
	best := drafted(p, want, groups)
	if best.Missed > 0 {
		best = p.ByPriority(best, want, turns(groups))
	}
	d.steps, d.exceeded = p.Steps, d.exceeded || p.Cut
	p.Separate(best)
	b := &buyer{d: d, pools: d.pools, classes: groups, choices: choices, most: d.most, spare: p.Remaining(best.Bins)}
	bought, given := b.purchases(best)
	d.plan.NewClaims = append(d.plan.NewClaims, bought...)
	return given
}

// classify numbers, for packing, the node constraints of the groups and the counts that tie them on one machine.
func classify(p *portfolio.Packer, groups []*group) []*nodeConstraint {
	var kinds []*nodeConstraint
	kindOf := map[*nodeConstraint]int{}
	at := map[*term]int32{}
	users := map[*term]int{}
	for _, g := range groups {
		for _, r := range g.host {
			if r.limit < noBound {
				users[r.term]++
			}
		}
	}
	var flat []portfolio.Tie
	ends := make([]int, 0, len(groups))
	for _, g := range groups {
		k, ok := kindOf[g.constraint]
		if !ok {
			k = len(kinds)
			kindOf[g.constraint] = k
			kinds = append(kinds, g.constraint)
		}
		p.Kinds = append(p.Kinds, k)
		for _, r := range g.host {
			if users[r.term] == 0 {
				continue // nobody minds
			}
			i, ok := at[r.term]
			if !ok {
				i = int32(len(at))
				at[r.term] = i
			}
			flat = append(flat, portfolio.Tie{Count: i, Adds: r.adds, Limit: r.limit})
		}
		ends = append(ends, len(flat))
	}
	from := 0
	for _, end := range ends {
		p.Ties, from = append(p.Ties, flat[from:end:end]), end
	}
	p.Counts = len(at)
	return kinds
}

// arrivals says how the pods of each group will be let in.
func arrivals(p *portfolio.Packer, groups []*group) []portfolio.Arrival {
	out := make([]portfolio.Arrival, len(groups))
	for i, g := range groups {
		switch {
		case g.bundled || len(p.Ties[i]) > 0:
			out[i].How = portfolio.Fixed
		case g.of.tied() && len(g.of.near.terms) > 0:
			out[i] = portfolio.Arrival{How: portfolio.Leading, Where: g.cell.key()}
		case g.of.tied():
			out[i] = portfolio.Arrival{How: portfolio.InTurn, Where: g.cell.key()}
		}
	}
	return out
}

// turns says of each group how many priorities are above its own. Groups come in order of their turn.
func turns(groups []*group) []int {
	out := make([]int, len(groups))
	for i := 1; i < len(groups); i++ {
		out[i] = out[i-1]
		if groups[i].compare(groups[i-1].turn) != 0 {
			out[i]++
		}
	}
	return out
}

// drafted packs. Sizes add up, which volumes that pods share do not: packing first leaves these out and looks whether machines attach
// them all the same, then counts them once on every machine that is to have such pods, and, where that does not do, once per pod.
func drafted(p *portfolio.Packer, want []int, groups []*group) *portfolio.Draft {
	most := make(vec.Vec, len(p.Choices[0].Room))
	for _, g := range groups {
		more := g.size.Clone()
		more.Take(g.lean, 1)
		for i, n := range more {
			most[i] = max(most[i], n)
		}
	}
	if !slices.ContainsFunc(most, func(n int64) bool { return n > 0 }) {
		return p.Pack(want)
	}
	full := p.Sizes
	p.Sizes = nil
	for _, g := range groups {
		p.Sizes = append(p.Sizes, g.lean)
	}
	best := p.Pack(want)
	if !attaches(p, best, groups) {
		best = setAside(p, want, groups, most)
		sound := attaches(p, best, groups)
		p.Sizes = full
		if d := p.Pack(want); !sound || d.Better(best) {
			best = d
		}
	}
	p.Sizes = full
	return best
}

// setAside packs with every choice twice: with room for the most volumes that pods share set aside, and as it is, for pods that share none.
func setAside(p *portfolio.Packer, want []int, groups []*group, most vec.Vec) *portfolio.Draft {
	kinds := slices.Max(p.Kinds) + 1
	kind := slices.Clone(p.Kinds)
	for i, g := range groups {
		if len(g.shared) > 0 {
			kind[i] += kinds
		}
	}
	options := make([]portfolio.Choice, 0, 2*len(p.Choices))
	for _, c := range p.Choices {
		for _, aside := range []bool{false, true} {
			x := c
			x.Takes = bitset.New(2 * kinds)
			c.Takes.Each(func(k int) {
				x.Takes.Add(k)
				if aside {
					x.Takes.Add(k + kinds)
				}
			})
			if aside {
				x.Room = c.Room.Clone()
				x.Room.Take(most, 1)
			}
			options = append(options, x)
		}
	}
	q := p.Among(kind, options)
	d := q.Pack(want)
	p.Steps, p.Cut = q.Steps, p.Cut || q.Cut
	for i := range d.Bins {
		d.Bins[i].Choice /= 2
	}
	return d
}

// attaches reports whether all machines of a draft bear their volumes, those that pods share counted once.
func attaches(p *portfolio.Packer, d *portfolio.Draft, groups []*group) bool {
	return !slices.ContainsFunc(d.Bins, func(b portfolio.Bin) bool { return !p.Choices[b.Choice].Room.Covers(needs(b, groups)) })
}

// needs is what the pods of a machine need together.
func needs(b portfolio.Bin, groups []*group) vec.Vec {
	out := make(vec.Vec, len(groups[0].size))
	addNeeds(out, b, groups)
	return out
}

// addNeeds adds what the pods of a machine need together.
func addNeeds(out vec.Vec, b portfolio.Bin, groups []*group) {
	var seen []string
	for _, l := range b.Loads {
		g := groups[l.Group]
		out.Take(g.lean, -l.N)
		for _, m := range g.shared {
			if !slices.Contains(seen, m.id) {
				seen = append(seen, m.id)
				out[m.column]++
			}
		}
	}
}
