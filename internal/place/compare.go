package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// asEqual: prices that differ by less than such a part are as good as each other.
const asEqual = 100_000

// compare orders decisions: fewer planned pods for whom machines would be bought twice, or that lost their place; then fewer pods left over,
// those that matter most before others; then cheaper, and fewer machines where the price is next to equal.
func (d *decision) compare(o *decision) int {
	fewer := 0
	if diff := d.Plan.Price - o.Plan.Price; max(diff, -diff) <= max(d.Plan.Price, o.Plan.Price)/asEqual {
		fewer = cmp.Compare(len(d.Plan.NewClaims), len(o.Plan.NewClaims))
	}
	return cmp.Or(d.comparePlaces(o), fewer, cmp.Compare(d.Plan.Price, o.Plan.Price), cmp.Compare(len(d.Plan.NewClaims), len(o.Plan.NewClaims)))
}

// comparePlaces is compare without the price.
func (d *decision) comparePlaces(o *decision) int {
	return cmp.Or(cmp.Compare(d.Twice, o.Twice), cmp.Compare(len(d.Broken), len(o.Broken)), d.compareLeft(o))
}

// compareLeft orders decisions by who stays: fewer pods, important ones first.
func (d *decision) compareLeft(o *decision) int {
	return slices.CompareFunc(d.leftByPriority(), o.leftByPriority(), func(a, b leftCount) int {
		// Who has somebody left of a higher priority is worse.
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.n, b.n))
	})
}

// leftCount says how many pods of one priority stay.
type leftCount struct {
	priority int32
	n        int
}

// leftByPriority counts the pods that stay, high priorities first; priorities of which nobody stays are not listed.
func (d *decision) leftByPriority() []leftCount {
	of := map[model.PodKey]int32{}
	for _, g := range d.Classes {
		for _, p := range g.Pods {
			of[p.Key()] = p.Priority
		}
	}
	n := map[int32]int{}
	for _, l := range d.Plan.Unscheduled {
		n[of[l.Pod]]++
	}
	var out []leftCount
	for p, k := range n {
		out = append(out, leftCount{p, k})
	}
	slices.SortFunc(out, func(a, b leftCount) int { return cmp.Compare(b.priority, a.priority) })
	return out
}

// cheaper reports whether a decision that differs in one thing is to be preferred: not for fewer machines at the same
// price.
func (d *decision) cheaper(o *decision) bool {
	return d.compare(o) < 0 && (d.Plan.Price != o.Plan.Price || len(d.Plan.Unscheduled) < len(o.Plan.Unscheduled)) && d.asHeavy(o)
}

// asHeavy reports whether no more machines are bought in light pools than another decision buys: a machine of a lighter
// pool may take along pods that a heavier one would take, but is never bought for them because it is cheaper.
func (d *decision) asHeavy(o *decision) bool {
	more := d.machines()
	for _, m := range o.Made {
		more[m.Pool.Pool.Weight]--
	}
	sum := 0
	for _, w := range slices.Sorted(maps.Keys(more)) {
		if sum += more[w]; sum > 0 && w < d.Pools[0].Pool.Weight {
			return false
		}
	}
	return true
}

// machines counts those that are bought, by the weight of their pools.
func (d *decision) machines() map[int]int {
	n := map[int]int{}
	for i := range d.Made {
		n[d.Made[i].Pool.Pool.Weight]++
	}
	return n
}
