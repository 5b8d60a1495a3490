package assign

import (
	"cmp"

	"github.com/karpenter-aks/karpenter/internal/plan/topology"
)

// better reports whether option a beats b for the next pod.
func (d *desk) better(g *Class, a *seatOption, aSlot bool, b *seatOption, bSlot bool) bool {
	if len(d.held) > 0 {
		if x, y := d.sought(g, a.c.doms), d.sought(g, b.c.doms); x != y {
			return x > y
		}
	}
	if aSlot != bSlot {
		return aSlot
	}
	var weight, price int
	if !aSlot {
		weight = cmp.Compare(b.offer.weight, a.offer.weight)
		price = cmp.Compare(a.offer.price, b.offer.price)
	}
	aOwn, aOthers := d.crowd(g, d.optionSite(a, aSlot))
	bOwn, bOthers := d.crowd(g, d.optionSite(b, bSlot))
	return cmp.Or(weight, cmp.Compare(aOthers, bOthers), price, cmp.Compare(aOwn, bOwn)) < 0
}

// sought is how many planned pods wait in a cell for the first pod that they want to be near.
func (d *desk) sought(g *Class, doms []int32) int32 {
	n := int32(0)
	for _, x := range g.Matches {
		if x.Near && x.Key != topology.Host && x.Matched.At(doms[x.Key]) == 0 {
			n += x.Seekers.At(doms[x.Key])
		}
	}
	return n
}

// crowd is how many pods count against the class's own spread in a cell, and against the spread of others that it counts for:
// these are kept even first of all, so that they can be bound in any order.
func (d *desk) crowd(g *Class, at topology.Site) (own, others int32) {
	for _, r := range g.Spread {
		if r.Term.Key != topology.Host {
			own += r.Term.Matched.At(at.Doms[r.Term.Key])
		}
	}
	for _, x := range g.Matches {
		if x.Elig != nil && x.Key != topology.Host && !g.Owns(x) &&
			d.Counts(x.Elig, at) != topology.Never {
			others += x.Matched.At(at.Doms[x.Key]) + x.Maybe.At(at.Doms[x.Key])
		}
	}
	return own, others
}

// optionSite is where the next pod would be: on an existing node of the option's cell, or on a machine to be bought there.
func (d *desk) optionSite(o *seatOption, slot bool) topology.Site {
	if slot {
		return d.SiteOf(d.Existing[o.at])
	}
	return o.c.site()
}
