package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// varyWork bounds the search among neighbours of a decision: so many pods, nodes and offerings, each counted once per decision made anew.
// Small worlds are looked at from many sides, large ones, where a seat more or less says little, from none.
const varyWork = 1_500

// offeringsAsOne is how many offerings are as much work as one pod.
const offeringsAsOne = 8

// varied returns the best decision that can be reached from one by changing one thing after the other: fewer pods of a group in one of
// the places where they were seated, say, or another group that goes first. Seats are taken group by group, each where it is best for the
// group alone; what that costs those who come later shows only when all machines are bought. Where wishes are granted, or some pods only
// stand for room, the price is not all that counts, and nothing is changed.
func varied(best *decision, pods []*model.Pod) *decision {
	if !best.in.uses(varyOne) || len(best.plan.Buy) == 0 || best.wishes || slices.ContainsFunc(pods, func(p *model.Pod) bool { return p.Virtual }) {
		return best
	}
	tries := varyWork / best.scale(len(pods))
	for last := (*decision)(nil); best != last && tries > 0; {
		last = best
		best = best.cheaperOf(pods, best.neighbours(), &tries)
	}
	return best
}

// cheaperOf returns the first decision that knows what one of the others does and is cheaper; d itself when there is none.
func (d *decision) cheaperOf(pods []*model.Pod, others []lessons, tries *int) *decision {
	for _, known := range others {
		if *tries <= 0 || d.in.exhausted() {
			break
		}
		*tries--
		o := &decision{in: d.in, wishes: d.wishes, lessons: known}
		if o.run(pods); o.cheaper(d) {
			return o
		}
	}
	return d
}

// cheaper reports whether a decision that differs in one thing is to be preferred: not for fewer machines at the same price.
func (d *decision) cheaper(o *decision) bool {
	return d.compare(o) < 0 && (d.plan.Price != o.plan.Price || len(d.plan.Left) < len(o.plan.Left)) && d.asHeavy(o)
}

// asHeavy reports whether no more machines are bought in light pools than another decision buys: a machine of a lighter pool may take along
// pods that a heavier one would take, but is never bought for them because it is cheaper.
func (d *decision) asHeavy(o *decision) bool {
	more := d.machines()
	for _, m := range o.made {
		more[m.seller.pool.Weight]--
	}
	sum := 0
	for _, w := range slices.Sorted(maps.Keys(more)) {
		if sum += more[w]; sum > 0 && w < d.sellers[0].pool.Weight {
			return false
		}
	}
	return true
}

// machines counts those that are bought, by the weight of their pools.
func (d *decision) machines() map[int]int {
	n := map[int]int{}
	for i := range d.made {
		n[d.made[i].seller.pool.Weight]++
	}
	return n
}

// scale is how much work it is to decide once.
func (d *decision) scale(pods int) int {
	w := &d.in.World
	n := 1 + pods + w.Index.All().Len() + len(w.Nodes) + len(w.Claims)
	for _, s := range d.sellers {
		n += len(s.shelf.items) / offeringsAsOne
	}
	return n
}

// neighbours lists what other decisions would know that differ from this one in one thing: fewer pods in a place, pods of one machine that
// leave its pools alone because lighter ones are bought from anyway, a group that goes first.
func (d *decision) neighbours() []lessons {
	var out []lessons
	seated := map[capKey]int{}
	var places []capKey
	for _, s := range d.seats {
		k := d.capKeyOf(s)
		if seated[k] == 0 {
			places = append(places, k)
		}
		seated[k] += s.n
	}
	for _, k := range places {
		for _, to := range slices.Compact([]int{seated[k] - 1, 0}) {
			known := d.lessons
			known.caps = maps.Clone(d.caps)
			remember(&known.caps, k, to)
			out = append(out, known)
		}
	}
	for i := range d.made {
		m := &d.made[i]
		if !slices.ContainsFunc(d.made, func(o made) bool { return o.seller.pool.Weight < m.seller.pool.Weight }) {
			continue
		}
		known := d.lessons
		known.shy = maps.Clone(d.shy)
		for _, l := range m.loads {
			k := shyKey{l.g.key, m.seller.pool.Weight}
			remember(&known.shy, k, known.shy[k]+l.n)
		}
		out = append(out, known)
	}
	round := d.round()
	for i, g := range d.groups {
		if i > 0 && g.why == "" && cmp.Compare(g.priority, d.groups[i-1].priority) == 0 {
			known := d.lessons
			known.ahead = maps.Clone(d.ahead)
			remember(&known.ahead, g.key, round)
			out = append(out, known)
		}
	}
	return out
}
