package place

import (
	"cmp"
	"math"
	"slices"
)

// box is a machine to be bought in a pool of some weight, with pods of groups.
type box struct {
	weight int
	loads  []content
}

type content struct {
	g *group
	n int
}

// mingled packs what has to be bought as users of Karpenter know it: pods from large to small, each onto any machine that is open already, of
// whatever pool, before the heaviest pool that takes it is asked for a new one. Our own packing fills the machines of heavy pools first, and so
// cannot see that a pod does without one beside others who need a machine of a lighter pool anyway. It returns how many pods of each group leave the
// pools of each weight alone for that, and the machines.
func (d *decision) mingled() (map[shyKey]int, []box) {
	buying := d.buying
	d.buying = slices.Clone(buying)
	slices.SortStableFunc(d.buying, func(a, b *group) int { return byAge(a.first(), b.first()) })
	p, want, groups := d.packing(d.sellers)
	d.buying = buying
	if len(p.choices) == 0 {
		return nil, nil
	}
	for _, s := range d.sellers {
		p.weights = append(p.weights, s.pool.Weight)
	}
	p.steps /= greedyShare
	budget := p.steps
	g := p.opened(want, make([]int64, len(want)), &draft{missed: math.MaxInt, price: math.MaxInt64})
	d.steps -= budget - max(p.steps, 0)
	if g == nil {
		return nil, nil
	}
	shy := map[shyKey]int{}
	var boxes []box
	for _, o := range g.bins {
		c := box{weight: d.sellers[g.breeds[o.breed].seller].pool.Weight}
		for _, l := range o.loads {
			c.loads = append(c.loads, content{groups[l.group], l.n})
		}
		boxes = append(boxes, c)
		for at, s := range d.sellers {
			if s.pool.Weight <= c.weight || at > 0 && d.sellers[at-1].pool.Weight == s.pool.Weight {
				continue
			}
			for _, l := range c.loads {
				shy[shyKey{l.g.of.key, s.pool.Weight}] += l.n
			}
		}
	}
	return shy, boxes
}

// asMingled returns the better of a tier's draft and of the boxes of its weight; the latter, too, where the draft has more machines than may be
// bought in so light a pool.
func (d *decision) asMingled(p *packer, best *draft, want []int, groups []*group) *draft {
	weight := d.sellers[p.choices[0].seller].pool.Weight
	limits, out := p.remaining(nil), &draft{}
	for _, c := range d.boxes {
		if c.weight != weight {
			continue
		}
		var loads []load
		for _, l := range c.loads {
			i := slices.Index(groups, l.g)
			if i < 0 {
				return best
			}
			loads = append(loads, load{i, l.n})
		}
		ci := p.cheapest(loads, limits)
		if ci < 0 {
			return best
		}
		limits[p.choices[ci].seller].take(p.choices[ci].cost, 1)
		slices.SortFunc(loads, func(a, b load) int { return cmp.Compare(a.group, b.group) })
		out.bins = append(out.bins, bin{ci, loads})
	}
	p.settle(out, want)
	if slices.ContainsFunc(out.left, func(n int) bool { return n < 0 }) {
		return best
	}
	few := len(best.bins) <= d.mingle[weight] || weight == d.sellers[0].pool.Weight
	if out.better(best) || out.missed == best.missed && !few && len(out.bins) < len(best.bins) {
		return out
	}
	return best
}
