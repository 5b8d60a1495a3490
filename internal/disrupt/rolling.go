package disrupt

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// rollWorth is how much, in per cent, the replacements of drifted nodes have to cost less together
// than apart: nodes that leave together wait for the last of their machines, and stay when one is lost.
const rollWorth = 2

// rollTogether has drifted nodes of a pool leave together, as many as may leave now, where what
// replaces them costs less together than one by one: pods of half empty nodes share machines then,
// instead of each few getting one. The nodes come in the order in which they are to leave.
func (s *picture) rollTogether(old []*candidate, why func(*candidate) reason) {
	byPool := map[string][]*candidate{}
	for _, x := range old {
		if x.pool.Replicas != nil { // its nodes are replaced one for one
			continue
		}
		r := s.movable(x)
		if r.why == "" && x.claim.TerminationGracePeriod == nil {
			r = s.pods(x)
		}
		if r.why == "" {
			byPool[x.pool.Name] = append(byPool[x.pool.Name], x)
		}
	}
	for i := range s.World.Pools {
		list := byPool[s.World.Pools[i].Name]
		if len(list) == 0 {
			continue
		}
		n := min(s.budgets.left(*list[0].pool, budget.Drifted), s.turns(list[0]), len(list))
		for group := range slices.Chunk(list[:n], mostTogether) {
			s.roll(group, why)
		}
	}
}

// roll has those of the group leave together that are worth it.
func (s *picture) roll(group []*candidate, why func(*candidate) reason) {
	alone := map[*candidate]model.Price{} // what replacing it by itself would cost
	group = slices.DeleteFunc(slices.Clone(group), func(x *candidate) bool {
		if s.receiving[x.node.Name] {
			return true
		}
		a := s.whatIf().Without(x.node.Name)
		alone[x] = a.Price
		return len(a.Left) > 0 || len(a.Buy) == 0 || s.unready(a) != ""
	})
	apart := func(list []*candidate) (sum model.Price) {
		for _, x := range list {
			sum += alone[x]
		}
		return sum
	}
	gain := func(list []*candidate) model.Price {
		a := s.whatIf().Without(nodesOf(list)...)
		if len(a.Left) > 0 || s.unready(a) != "" {
			return 0
		}
		return apart(list) - a.Price
	}
	if len(group) < 2 {
		return
	}
	best := gain(group)
	for i := len(group) - 1; i >= 0 && len(group) > 2 && best > 0; i-- { // who brings nothing leaves by itself
		fewer := slices.Delete(slices.Clone(group), i, i+1)
		g := gain(fewer)
		if g >= best {
			group, best = fewer, g
		}
	}
	if best <= 0 || best*100 < apart(group)*rollWorth {
		return
	}
	a, ok := s.whatIf().Try(nodesOf(group), func(a place.Answer) bool {
		return s.unready(a) == "" && len(group)+len(a.Buy) <= maxMembers
	})
	if ok {
		s.begin(why(group[0]), group, a, a.Buy)
	}
}
