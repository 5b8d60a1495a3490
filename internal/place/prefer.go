package place

import "cmp"

// better reports whether option a beats b for the next pod.
func (d *desk) better(g *seatClass, a *seatOption, aSlot bool, b *seatOption, bSlot bool) bool {
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
		weight, price = cmp.Compare(b.offer.weight, a.offer.weight), cmp.Compare(a.offer.price, b.offer.price)
	}
	aOwn, aOthers := d.crowd(g, d.optionSite(a, aSlot))
	bOwn, bOthers := d.crowd(g, d.optionSite(b, bSlot))
	return cmp.Or(weight, cmp.Compare(aOthers, bOthers), price, cmp.Compare(aOwn, bOwn)) < 0
}

// sought is how many planned pods wait in a cell for the first pod that they want to be near.
func (d *desk) sought(g *seatClass, doms []int32) int32 {
	n := int32(0)
	for _, x := range g.matches {
		if x.near && x.key != host && x.matched.at(doms[x.key]) == 0 {
			n += x.seekers.at(doms[x.key])
		}
	}
	return n
}

// crowd is how many pods count against the group's own spread in a cell, and against the spread of others that it counts for:
// these are kept even first of all, so that they can be bound in any order.
func (d *desk) crowd(g *seatClass, at site) (own, others int32) {
	for _, r := range g.spread {
		if r.term.key != host {
			own += r.term.matched.at(at.doms[r.term.key])
		}
	}
	for _, x := range g.matches {
		if x.elig != nil && x.key != host && !g.owns(x) && d.counts(x.elig, at) != never {
			others += x.matched.at(at.doms[x.key]) + x.maybe.at(at.doms[x.key])
		}
	}
	return own, others
}

// optionSite is where the next pod would be: on an existing node of the option's cell, or on a machine to be bought there.
func (d *desk) optionSite(o *seatOption, slot bool) site {
	if slot {
		return d.siteOf(d.existing[o.at])
	}
	return o.c.site()
}
