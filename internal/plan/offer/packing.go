package offer

import (
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// packing sets up the packing of what still waits into machines of pools of one weight; there are no choices when they sell nothing to them.
func (d *Purchasing) packing(
	tier []*problem.NodePool,
) (p *portfolio.Packer, choices []choice, want []int, groups []*assign.Group) {
	p = &portfolio.Packer{Steps: d.Steps, Without: d.Without}
	shy := maps.Clone(d.Shy)
	for _, g := range d.Buying {
		sold := false
		for _, s := range tier { // all of them are asked: packing looks at the answers
			sold = d.AllowedOf(s, g.Constraint).OK.First() >= 0 || sold
		}
		n, k := g.Waiting(), problem.ShyKey{Group: g.Of.Key, Weight: tier[0].Pool.Weight}
		if stay := min(n, shy[k]); stay > 0 {
			n -= stay
			shy[k] -= stay
		}
		if n > 0 && sold {
			groups, want, p.Sizes = append(groups, g), append(want, n), append(p.Sizes, g.Size)
		}
	}
	if len(groups) > 0 {
		choices = d.newChoices(tier, classify(p, groups))
		p.Arrivals = arrivals(p, groups)
	}
	p.Choices = make([]portfolio.Choice, len(choices))
	for i := range choices {
		p.Choices[i] = choices[i].Choice
	}
	for _, s := range d.Pools {
		p.Limits = append(p.Limits, s.Left.Clone())
	}
	return p, choices, want, groups
}

// tier packs what still waits into machines of pools of one weight, and returns how many machines had to be given up.
func (d *Purchasing) tier(tier []*problem.NodePool) int {
	p, choices, want, groups := d.packing(tier)
	if len(p.Choices) == 0 {
		return 0
	}
	best := drafted(p, want, groups)
	if best.Missed > 0 {
		best = p.ByPriority(best, want, turns(groups))
	}
	d.Steps, d.Exceeded = p.Steps, d.Exceeded || p.Cut
	p.Separate(best)
	b := &buyer{
		d:       d,
		pools:   d.Pools,
		classes: groups,
		choices: choices,
		most:    d.Most,
		spare:   p.Remaining(best.Bins),
	}
	bought, given := b.purchases(best)
	d.Plan.NewClaims = append(d.Plan.NewClaims, bought...)
	return given
}

// classify numbers, for packing, the node constraints of the groups and the counts that tie them on one machine.
func classify(p *portfolio.Packer, groups []*assign.Group) []*problem.NodeConstraint {
	var kinds []*problem.NodeConstraint
	kindOf := map[*problem.NodeConstraint]int{}
	at := map[*topology.Term]int32{}
	users := map[*topology.Term]int{}
	for _, g := range groups {
		for _, r := range g.Host {
			if r.Limit < topology.NoBound {
				users[r.Term]++
			}
		}
	}
	var flat []portfolio.Tie
	ends := make([]int, 0, len(groups))
	for _, g := range groups {
		k, ok := kindOf[g.Constraint]
		if !ok {
			k = len(kinds)
			kindOf[g.Constraint] = k
			kinds = append(kinds, g.Constraint)
		}
		p.Kinds = append(p.Kinds, k)
		for _, r := range g.Host {
			if users[r.Term] == 0 {
				continue // nobody minds
			}
			i, ok := at[r.Term]
			if !ok {
				i = int32(len(at))
				at[r.Term] = i
			}
			flat = append(flat, portfolio.Tie{Count: i, Adds: r.Adds, Limit: r.Limit})
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
func arrivals(p *portfolio.Packer, groups []*assign.Group) []portfolio.Arrival {
	out := make([]portfolio.Arrival, len(groups))
	for i, g := range groups {
		switch {
		case g.Bundled || len(p.Ties[i]) > 0:
			out[i].How = portfolio.Fixed
		case g.Of.Tied() && len(g.Of.Near.Terms) > 0:
			out[i] = portfolio.Arrival{How: portfolio.Leading, Where: g.Cell.Key()}
		case g.Of.Tied():
			out[i] = portfolio.Arrival{How: portfolio.InTurn, Where: g.Cell.Key()}
		}
	}
	return out
}

// turns says of each group how many priorities are above its own. Groups come in order of their turn.
func turns(groups []*assign.Group) []int {
	out := make([]int, len(groups))
	for i := 1; i < len(groups); i++ {
		out[i] = out[i-1]
		if groups[i].Compare(groups[i-1].Turn) != 0 {
			out[i]++
		}
	}
	return out
}

// drafted packs. Sizes add up, which volumes that pods share do not: packing first leaves these out and looks whether machines attach
// them all the same, then counts them once on every machine that is to have such pods, and, where that does not do, once per pod.
func drafted(p *portfolio.Packer, want []int, groups []*assign.Group) *portfolio.Draft {
	most := make(vec.Vec, len(p.Choices[0].Room))
	for _, g := range groups {
		more := g.Size.Clone()
		more.Take(g.Lean, 1)
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
		p.Sizes = append(p.Sizes, g.Lean)
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
func setAside(
	p *portfolio.Packer,
	want []int,
	groups []*assign.Group,
	most vec.Vec,
) *portfolio.Draft {
	kinds := slices.Max(p.Kinds) + 1
	kind := slices.Clone(p.Kinds)
	for i, g := range groups {
		if len(g.Shared) > 0 {
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
func attaches(p *portfolio.Packer, d *portfolio.Draft, groups []*assign.Group) bool {
	return !slices.ContainsFunc(d.Bins, func(b portfolio.Bin) bool {
		return !p.Choices[b.Choice].Room.Covers(needs(b, groups))
	})
}

// needs is what the pods of a machine need together.
func needs(b portfolio.Bin, groups []*assign.Group) vec.Vec {
	out := make(vec.Vec, len(groups[0].Size))
	addNeeds(out, b, groups)
	return out
}

// addNeeds adds what the pods of a machine need together.
func addNeeds(out vec.Vec, b portfolio.Bin, groups []*assign.Group) {
	var seen []string
	for _, l := range b.Loads {
		g := groups[l.Group]
		out.Take(g.Lean, -l.N)
		for _, m := range g.Shared {
			if !slices.Contains(seen, m.ID) {
				seen = append(seen, m.ID)
				out[m.Column]++
			}
		}
	}
}
