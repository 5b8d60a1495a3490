package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// DefaultMinimumSaving is the least share, in per cent, of the price of what leaves that a
// replacement has to save. No pod is moved for pennies; and since each move of a pod to a new
// machine saves so much, none is undone by the next.
const DefaultMinimumSaving = 5

// spotTypes is how many cheaper instance types there must be for a spot machine to be replaced by
// another, as users of Karpenter know it: with fewer, the cheapest is soon taken back.
const spotTypes = 15

// underutilized decides about nodes whose pods cost less elsewhere, and returns the others. Those
// come first that cost most for each pod that has to move, as users of Karpenter know it.
func (s *picture) underutilized(list []*candidate) (others []*candidate) {
	var able []*candidate
	ratio := map[*candidate]float64{}
	for _, x := range list {
		r := s.consolidatable(x)
		switch {
		case r.why == model.WhyNotEmpty:
			others = append(others, x)
		case r.why != "":
			s.keep(x, r)
		default:
			x.keeps = reason{}
			able, ratio[x] = append(able, x), x.price.Float()/x.cost()
		}
	}
	slices.SortFunc(able, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(ratio[b], ratio[a]), cmp.Compare(a.claim.Name, b.claim.Name))
	})
	scores, before := balance{s: s}, s.begun()
	s.together(able, &scores)
	for _, x := range able {
		if s.done[x.claim.Name] {
			continue
		}
		r := s.movable(x) // others may send pods here by now
		if r.why == "" {
			r = s.within(x, budget.Underutilized)
		}
		if r.why == "" {
			r = s.save(x, &scores)
		}
		x.keeps = r
	}
	s.together(able, &scores)
	if s.begun() == before {
		s.inFew(able, &scores)
	}
	for _, x := range able {
		if !s.done[x.claim.Name] {
			s.keep(x, x.keeps)
		}
	}
	return others
}

// consolidatable looks at what keeps a node with pods that might cost less elsewhere.
func (s *picture) consolidatable(x *candidate) reason {
	switch {
	case x.pool.Replicas != nil: // it has drifted, and that is on hold
		return reason{why: model.WhyNotEmpty}
	case x.pool.Policy != model.WhenEmptyOrUnderutilized && x.pool.Policy != model.Balanced:
		return reason{why: model.WhyNotEmpty}
	case x.pool.ConsolidateAfter == nil:
		return never(x.pool)
	case x.price == 0 && len(s.World.Catalog(x.pool.Name, x.pool.Class).Types) == 0:
		return reason{why: model.WhyNoOfferings, detail: "what the cloud offers has not been read yet"}
	case x.price == 0 && x.claim.Offering() == model.OfferingKey{}:
		return reason{why: model.WhyNoCheaperHome,
			detail: "its price is not known: its labels do not say what machine it is"}
	case x.price == 0:
		return reason{why: model.WhyNoCheaperHome,
			detail: "its price is not known: the cloud does not list " + x.claim.Offering().String()}
	}
	r := s.movable(x)
	if r.why == "" {
		r = s.pods(x)
	}
	if r.why == "" {
		r = s.quiet(x)
	}
	return r
}

// save moves a node whose pods cost less elsewhere, or says why it stays.
func (s *picture) save(x *candidate, scores *balance) reason {
	var keeps reason
	var buy []place.NewClaim
	b := bill([]*candidate{x})
	a, ok := s.whatIf().TryWithin(b.most(), []string{x.node.Name}, func(a place.Answer) bool {
		buy, keeps = s.certain([]*candidate{x}, a)
		if keeps.why == "" {
			keeps = scores.judge([]*candidate{x}, x.price-a.Price)
		}
		return keeps.why == ""
	})
	switch {
	case ok:
		s.begin(reason{why: model.WhyUnderutilized}, []*candidate{x}, a, buy)
	case a.AtLeast > 0:
		return b.dear(a.AtLeast, "at least ", "at most ")
	case len(a.Left) > 0:
		return reason{why: model.WhyNoHome, detail: fmt.Sprintf(
			"%d of its pods would have no other place, such as %s", len(a.Left), a.Left[0])}
	case a.Later:
		return reason{why: model.WhyOtherMovesFirst}
	}
	return keeps
}

// worth says what to buy so that the nodes' pods cost less than now, whatever of it is bought in the
// end, or why they stay.
func (s *picture) worth(members []*candidate, a place.Answer) ([]place.NewClaim, reason) {
	late := s.unready(a)
	if late != "" {
		return nil, reason{why: model.WhyOtherMovesFirst,
			detail: "its pods would go to " + late + ", which is not there yet"}
	}
	if len(a.Buy) == 0 {
		return nil, reason{}
	}
	b := bill(members)
	keeps := b.dear(a.Price, "", "")
	if keeps.why != "" {
		return nil, keeps
	}
	spot := !slices.ContainsFunc(members, func(x *candidate) bool {
		return x.claim.Labels[model.LabelCapacityType] != model.Spot
	})
	room := b.now - a.Price - b.saving()
	out := make([]place.NewClaim, len(a.Buy))
	for i, n := range a.Buy {
		limit := n.Options[0].Price + room/model.Price(len(a.Buy))
		c := cheaper{claim: n, limit: limit, catalog: s.World.Catalog(n.Pool, n.Class)}
		why := c.narrow(spot, len(members) == 1, s.SpotToSpot)
		if why != "" {
			return nil, reason{why: model.WhyNoCheaperHome, detail: why}
		}
		out[i] = c.claim
	}
	return out, reason{}
}

// costs is what nodes cost now, and the least share of it, in per cent, that is to be saved: the
// largest that any of their pools asks for. pool is the first of these.
type costs struct {
	now  model.Price
	pct  float64
	pool string
}

func bill(members []*candidate) costs {
	out := costs{pool: members[0].pool.Name}
	for _, x := range members {
		out.now += x.price
		out.pct = max(out.pct, minimumSaving(x.pool))
	}
	return out
}

// saving is the least that is to be saved.
func (c *costs) saving() model.Price { return model.Price(float64(c.now) * c.pct / 100) }

// most is the most that machines instead may cost.
func (c *costs) most() model.Price { return min(c.now-1, c.now-c.saving()) }

// dear says why machines at the price are no reason to move. Where the price is a bound, costs and
// saves say of which side.
func (c *costs) dear(price model.Price, costs, saves string) reason {
	switch {
	case price >= c.now:
		return reason{why: model.WhyNoCheaperHome, detail: fmt.Sprintf(
			"its pods would cost %s%s elsewhere, and it costs %s", costs, price, c.now)}
	case price > c.now-c.saving():
		return reason{why: model.WhySavingTooSmall, detail: fmt.Sprintf(
			"%s%s would be saved of %s; NodePool %s asks for %s%%",
			saves, c.now-price, c.now, c.pool, strconv.FormatFloat(c.pct, 'f', -1, 64))}
	}
	return reason{}
}

// minimumSaving is the least share, in per cent, that a replacement has to save.
func minimumSaving(p *model.Pool) float64 {
	n, said, _ := p.MinimumSaving() // what cannot be read is told on the pool (ready)
	if !said {
		return DefaultMinimumSaving
	}
	return n
}
