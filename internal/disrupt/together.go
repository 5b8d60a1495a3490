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

// together decides about several nodes at once: what they hold may cost less on other machines, one
// large for many small or the other way round. It goes before and after looking one by one: a machine
// that suits one node alone would stand in the way of one that suits many. The nodes are asked
// about in groups of 16, then of 8, 4 and 2, emptiest first, so that all of it costs about four plans
// for all pods.
func (s *picture) together(list []*candidate, scores *balance) {
	s.inGroups(list, func(group []*candidate) { s.saveTogether(group, scores) })
}

// inGroups has groups of nodes looked at that are not decided about, and that might cost less together.
func (s *picture) inGroups(list []*candidate, look func(group []*candidate)) {
	list = slices.DeleteFunc(slices.Clone(list), func(x *candidate) bool {
		return x.keeps.why != "" && x.keeps.why != model.WhyNoCheaperHome &&
			x.keeps.why != model.WhySavingTooSmall && x.keeps.why != model.WhyUncertainHome
	})
	fill := make(map[*candidate]float64, len(list))
	for _, x := range list {
		fill[x] = x.fill()
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(fill[a], fill[b]), cmp.Compare(a.claim.Name, b.claim.Name))
	})
	for size := mostTogether; size > 1; size /= 2 {
		list = slices.DeleteFunc(list, func(x *candidate) bool {
			return s.done[x.claim.Name] || s.receiving[x.node.Name]
		})
		for group := range slices.Chunk(list, size) {
			group = s.affordable(group)
			if len(group) > 1 && s.leaves(group) {
				look(group)
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
func (s *picture) saveTogether(group []*candidate, scores *balance) {
	var buy []place.NewClaim
	// sure reports whether what is planned for the nodes is to be done.
	sure := func(list []*candidate, a place.Answer) bool {
		var keeps reason
		buy, keeps = s.certain(list, a)
		if keeps.why == "" {
			b := bill(list)
			keeps = scores.judge(list, b.now-a.Price)
		}
		return keeps.why == ""
	}
	all, judged := bill(group), false
	// Mostly no fewer of them come into question: then the answer for all is the one to do.
	a, ok := s.whatIf().TryWithin(all.now-1, nodesOf(group), func(a place.Answer) bool {
		gain := s.gain(group, a)
		judged = gain > 0 && !fewerMay(group, gain)
		return judged && sure(group, a)
	})
	if !ok {
		if judged {
			return
		}
		a.Later = false // fewer of them may not have to wait
		gain := s.gain(group, a)
		if gain <= 0 {
			return
		}
		group = s.asFew(group, gain)
		a, ok = s.whatIf().Try(nodesOf(group), func(a place.Answer) bool { return sure(group, a) })
	}
	if ok {
		s.begin(reason{why: model.WhyUnderutilized}, group, a, buy)
	}
}

// fewerMay reports whether some of the nodes cost as much as is gained: others cannot bring it.
func fewerMay(group []*candidate, gain model.Price) bool {
	for cut := len(group) / 2; cut > 0; cut /= 2 {
		b := bill(group[:len(group)-cut])
		if b.now >= gain {
			return true
		}
	}
	return false
}

// asFew is as few of the nodes, emptiest first, as bring what all of them bring.
func (s *picture) asFew(group []*candidate, best model.Price) []*candidate {
	for cut := len(group) / 2; cut > 0; {
		fewer := group[:len(group)-cut] // without the fullest
		b := bill(fewer)
		gain := model.Price(0)
		if b.now >= best {
			gain = s.gain(fewer, s.whatIf().Within(b.now-best, nodesOf(fewer)...))
		}
		if gain >= best {
			group, best = fewer, gain
			cut = min(cut, len(group)/2)
			continue
		}
		cut /= 2
	}
	return group
}

// gain is what an answer saves, 0 when it cannot be carried out.
func (s *picture) gain(list []*candidate, a place.Answer) model.Price {
	if a.AtLeast > 0 || len(a.Left) > 0 || a.Later || s.unready(a) != "" {
		return 0
	}
	b := bill(list)
	return b.now - a.Price
}

func nodesOf(list []*candidate) (out []string) {
	for _, x := range list {
		out = append(out, x.node.Name)
	}
	return out
}

// leaves reports whether new machines for what the group's pods ask for might be cheaper by enough:
// all that is bought has its cores and its memory, and nothing on sale has both for less. Groups that
// would fit on what is there are left out, too: their nodes were asked about one by one.
func (s *picture) leaves(group []*candidate) bool {
	var sum model.Resources
	for _, x := range group {
		sum = sum.Add(x.there.Used.Sub(x.there.Daemons))
	}
	b := bill(group)
	return s.whatIf().AtLeast(sum) <= b.most()
}
