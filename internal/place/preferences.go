package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

// Preferences says what preferences are worth (Input.Preferences).
type Preferences string

// The ways to treat preferences: preferred node affinity, preferred pod affinity and anti-affinity, spread that is not required
// (ScheduleAnyway), and taints that only discourage (PreferNoSchedule).
const (
	// Respect grants preferences where they cost nothing, or no more than they are worth: a preference of weight 100 is worth 5 % of its pod's
	// share of the price of all that is bought, others in proportion; to keep off a taint that discourages has weight 50, whatever the pool's
	// weight is. It never leaves a pod over that could have a place without.
	Respect Preferences = "Respect"
	// Ignore looks at requirements only.
	Ignore Preferences = "Ignore"
)

// anyPrefers reports whether any of the pods has a preference that could matter.
func anyPrefers(w model.World, pods []*model.Pod) bool {
	soft := func(list []model.Taint) bool {
		return slices.ContainsFunc(list, func(t model.Taint) bool { return t.Effect == model.PreferNoSchedule })
	}
	if slices.ContainsFunc(w.Pools, func(p model.Pool) bool { return soft(p.Taints) }) ||
		slices.ContainsFunc(w.Nodes, func(n model.Node) bool { return soft(n.Taints) }) {
		return true
	}
	return slices.ContainsFunc(pods, func(p *model.Pod) bool {
		return len(p.Prefers) > 0 || slices.ContainsFunc(p.Spread, func(c model.Spread) bool { return !c.Hard })
	})
}

// worthIt reports whether granting preferences is worth what it costs beside the plan without.
func (d *decision) worthIt(plain *decision) bool {
	if c := d.comparePlaces(plain); c != 0 || d.Plan.BudgetExceeded && !plain.Plan.BudgetExceeded {
		return c < 0 // more pods have a place, however that came
	}
	pods, weight, soft := 0, int64(0), d.Discouraging()
	for _, g := range d.Classes {
		pods += len(g.Pods)
		most := int32(0)
		for _, w := range g.Preferences {
			if _, minds := problem.Discouraging(soft, g.Tolerations); minds || !w.Picky {
				most = max(most, w.Weight)
			}
		}
		weight += int64(most) * int64(len(g.Pods))
	}
	value := float64(plain.Plan.Price) * wishPercent / 100 * float64(weight) / 100 / float64(max(pods, 1))
	return float64(d.Plan.Price-plain.Plan.Price) <= value
}

// wishPercent of a pod's share of the price is what its preferences may cost at most.
const wishPercent = 5
