package disrupt

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// mostTogether is how many nodes one move takes away at most. They leave all or none, so more of them
// fail more easily.
const mostTogether = 16

// together decides about nodes that are not worth replacing one by one: what several of them hold may
// cost less on other machines, one large for many small or the other way round. The nodes are asked
// about in groups of 16, then of 8, 4 and 2, emptiest first, so that all of it costs about four plans
// for all pods.
func (s *picture) together(list []*candidate) {
	list = slices.DeleteFunc(slices.Clone(list), func(x *candidate) bool {
		return x.pool.Policy == model.Balanced ||
			x.why != model.WhyNoCheaperHome && x.why != model.WhySavingTooSmall
	})
	fill := make(map[*candidate]float64, len(list))
	for _, x := range list {
		fill[x] = x.fill()
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(fill[a], fill[b]), cmp.Compare(a.claim.Name, b.claim.Name))
	})
	floor := floors{s: s}
	for size := mostTogether; size > 1; size /= 2 {
		list = slices.DeleteFunc(list, func(x *candidate) bool {
			return s.done[x.claim.Name] || s.receiving[x.node.Name]
		})
		for group := range slices.Chunk(list, size) {
			group = s.affordable(group)
			if len(group) > 1 && floor.leaves(group) {
				s.saveTogether(group)
			}
		}
	}
}

// fill is how much of the node its pods ask for, of what they ask for most.
func (x *candidate) fill() float64 {
	used, has := x.there.Used, x.node.Allocatable
	return max(
		float64(used.CPU)/float64(max(has.CPU, 1)),
		float64(used.Memory)/float64(max(has.Memory, 1)),
	)
}

// affordable leaves out nodes beyond the budgets of their pools, and those that get pods by now.
func (s *picture) affordable(group []*candidate) (out []*candidate) {
	taken := map[string]int{}
	for _, x := range group {
		if s.receiving[x.node.Name] ||
			taken[x.pool.Name] >= s.budgets.left(*x.pool, budget.Underutilized) {
			continue
		}
		taken[x.pool.Name]++
		out = append(out, x)
	}
	return out
}

// saveTogether moves as few of the nodes as bring what all of them bring.
func (s *picture) saveTogether(group []*candidate) {
	ask := func(list []*candidate) model.Price { return s.gain(list, s.whatIf().Without(nodesOf(list)...)) }
	best := ask(group)
	if best <= 0 {
		return
	}
	for i := len(group) - 1; i >= 0 && len(group) > 1; i-- { // the fullest first
		fewer := slices.Delete(slices.Clone(group), i, i+1)
		gain := ask(fewer)
		if gain >= best {
			group, best = fewer, gain
		}
	}
	var buy []place.NewClaim
	a, ok := s.whatIf().Try(nodesOf(group), func(a place.Answer) bool {
		var keeps reason
		buy, keeps = s.worth(group, a)
		return keeps.why == ""
	})
	if ok {
		s.begin(model.WhyUnderutilized, group, a, buy)
	}
}

// gain is what an answer saves, 0 when it cannot be carried out.
func (s *picture) gain(list []*candidate, a place.Answer) model.Price {
	if len(a.Left) > 0 || a.Later || s.unready(a) != "" {
		return 0
	}
	var now model.Price
	for _, x := range list {
		now += x.price
	}
	return now - a.Price
}

func nodesOf(list []*candidate) (out []string) {
	for _, x := range list {
		out = append(out, x.node.Name)
	}
	return out
}

// floors knows the least that a core and a byte cost in a pool's catalogue.
type floors struct {
	s     *picture
	known map[string][2]float64 // by pool: dollars for a milli-core, for a byte
}

// leaves reports whether new machines for what the group's pods ask for might be cheaper by enough:
// all that is bought has its cores and its memory, and none sells them for less. Groups that would
// fit on what is there are left out, too: their nodes were asked about one by one.
func (f *floors) leaves(group []*candidate) bool {
	var cores, bytes, now, least float64
	unit := [2]float64{}
	for i, x := range group {
		u := f.of(x.pool)
		if i == 0 || u[0] < unit[0] {
			unit[0] = u[0]
		}
		if i == 0 || u[1] < unit[1] {
			unit[1] = u[1]
		}
		used := x.there.Used.Sub(x.there.Daemons)
		cores, bytes = cores+float64(used.CPU), bytes+float64(used.Memory)
		now, least = now+float64(x.price), max(least, minimumSaving(x.pool))
	}
	return now-max(cores*unit[0], bytes*unit[1]) >= now*least/100
}

func (f *floors) of(p *model.Pool) [2]float64 {
	u, ok := f.known[p.Name]
	if ok {
		return u
	}
	for _, t := range f.s.World.Catalog(p.Name, p.Class).Types {
		for _, o := range t.Offerings {
			if !o.Available || t.Allocatable.CPU <= 0 || t.Allocatable.Memory <= 0 {
				continue
			}
			core, byte := float64(
				o.Price,
			)/float64(
				t.Allocatable.CPU,
			), float64(
				o.Price,
			)/float64(
				t.Allocatable.Memory,
			)
			if u[0] == 0 || core < u[0] {
				u[0] = core
			}
			if u[1] == 0 || byte < u[1] {
				u[1] = byte
			}
		}
	}
	if f.known == nil {
		f.known = map[string][2]float64{}
	}
	f.known[p.Name] = u
	return u
}
