package disrupt

import (
	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// certain is worth for moves that nobody needs: they must hold although kube-scheduler puts pods where it
// likes, and pay even where it does so in the worst order. A plan that holds only in one way is hardly
// ever carried out so; machines are bought for pods that find their place taken, and these are the next
// to be underutilized, without end.
func (s *picture) certain(members []*candidate, a place.Answer) ([]place.NewClaim, reason) {
	buy, keeps := s.worth(members, a)
	if keeps.why != "" {
		return nil, keeps
	}
	b, price := bill(members), model.Price(0)
	for i := range buy {
		price += buy[i].Options[0].Price
	}
	ok, worst := s.whatIf().Certain(buy)
	if ok && price+worst <= b.most() {
		return buy, reason{}
	}
	return nil, reason{why: model.WhyUncertainHome, detail: "its pods fit elsewhere, but where " +
		"kube-scheduler puts some of them first, others may find no place, and a machine would be " +
		"bought for them"}
}

// begun counts moves of this decision, those that are only told among them.
func (s *picture) begun() int { return len(s.out.Moves) + len(s.out.Observed) }

// inFew asks about nodes, alone and in groups, for whose pods many small machines are not certain: a few
// large ones have room for them in any order. They may cost more, and so it is asked only where nothing
// else is left to be saved.
func (s *picture) inFew(list []*candidate, scores *balance) {
	for _, x := range list {
		if !s.done[x.claim.Name] && x.keeps.why == model.WhyUncertainHome &&
			s.movable(x).why == "" && s.within(x, budget.Underutilized).why == "" {
			s.saveInFew([]*candidate{x}, scores)
		}
	}
	s.inGroups(list, func(group []*candidate) { s.saveInFew(group, scores) })
}

// few is in how many machines, or as many larger ones, nodes are asked to go one after the other.
var few = []int{4, 2, 1}

func (s *picture) saveInFew(members []*candidate, scores *balance) {
	b := bill(members)
	for _, n := range few {
		var buy []place.NewClaim
		a, ok := s.whatIf().TryLarge(n, b.most(), nodesOf(members), func(a place.Answer) bool {
			var keeps reason
			buy, keeps = s.certain(members, a)
			if keeps.why == "" {
				keeps = scores.judge(members, b.now-a.Price)
			}
			return len(a.Buy) > 0 && keeps.why == ""
		})
		if ok {
			s.begin(reason{why: model.WhyUnderutilized}, members, a, buy)
			return
		}
	}
}
