package place

import "slices"

// low is the count that kube-scheduler measures skew from.
func (d *ties) low(g *tiedClass, i int) int32 {
	r := &g.spread[i]
	if len(g.among[i]) < int(r.min) {
		return 0
	}
	if len(r.term.matched.n) >= len(g.among[i]) {
		d.toil(len(g.among[i]) / domainsAsOne)
	}
	n := r.term.least(g.among[i], !d.keeping)
	if n == noBound {
		return 0
	}
	return n
}

// stands reports whether the ties of the group let one more pod of it into domains. On a machine yet to be bought, what is on the
// same machine is left to packing.
func (d *ties) stands(g *tiedClass, doms []int32, fresh bool) bool {
	if !g.tied() {
		return true
	}
	if !d.toil(g.ask()) {
		return false
	}
	for i := range g.spread {
		r := &g.spread[i]
		if r.term.key == host && fresh {
			continue
		}
		dom := doms[r.term.key]
		if dom < 0 || r.term.matched.at(dom)+r.term.maybe.at(dom)+d.heldFor(&r.term.held, dom)+r.self-d.low(g, i) > r.skew {
			return false
		}
	}
	for _, x := range g.anti {
		if dom := doms[x.key]; dom == either || dom != unknown && d.busy(&x.matched, &x.held, dom) {
			return false
		}
	}
	for _, x := range g.avoid {
		if dom := doms[x.key]; dom == either || dom != unknown && d.busy(&x.matched, nil, dom) {
			return false
		}
	}
	for _, x := range g.toward {
		if x.key == host && fresh {
			continue // packing does not look at it
		}
		dom := doms[x.key]
		first := x.matched.total == 0 && slices.Contains(g.matches, x)
		if dom < 0 || x.matched.at(dom) == 0 && !first {
			return false
		}
	}
	for _, x := range g.matches {
		dom := doms[x.key]
		if x.volume {
			continue // see joins
		}
		if dom == either {
			return false // it would count somewhere, and nobody knows where
		}
		if dom == unknown {
			continue
		}
		if d.busy(&x.owners, &x.heldOwners, dom) {
			return false
		}
		if lim, ok := x.lim[dom]; ok && !d.keeping && x.matched.at(dom)+1 > lim {
			return false
		}
	}
	if !fresh {
		for _, x := range g.ports {
			if x.matched.at(doms[host]) > 0 {
				return false
			}
		}
	}
	return d.joins(g, doms, fresh) && g.near.met(doms, fresh)
}

// joins reports whether all that use volumes with the group that are yet to be made are in these domains, or nowhere yet. Such a volume is made for the first
// of them to be bound, and then keeps the others to its domain (volume binding in kube-scheduler). One that a single pod may use at a time nobody else uses.
func (d *ties) joins(g *tiedClass, doms []int32, fresh bool) bool {
	for _, x := range g.joint {
		n := x.matched.total + d.allHeld(x)
		switch dom := doms[x.key]; {
		case n == 0:
		case x.onePod:
			return false
		case x.key == host && fresh: // left to bundles
		case dom < 0 || int64(x.matched.at(dom)+d.heldFor(&x.held, dom)) < n:
			return false
		}
	}
	return true
}

// allHeld counts planned pods that room is held for and that the term picks, wherever they are.
func (d *ties) allHeld(x *term) int64 {
	if d.keeping {
		return 0
	}
	return x.held.total
}

// heldFor counts planned pods that the domain is kept for; they do not stand in each other's way.
func (d *ties) heldFor(c *counter, dom int32) int32 {
	if d.keeping {
		return 0
	}
	return c.at(dom)
}

// met reports whether the group's required affinity holds: pods that all terms pick are there, or there are none anywhere and
// the group picks itself.
func (g *nearRule) met(doms []int32, fresh bool) bool {
	if len(g.terms) == 0 {
		return true
	}
	none, here := true, true
	for _, x := range g.terms {
		if x.key == host && fresh {
			none = none && x.matched.total == 0 && x.going == 0
			here = false
			continue
		}
		dom := doms[x.key]
		if dom < 0 {
			return false
		}
		none = none && x.matched.total == 0 && x.going == 0
		here = here && x.matched.at(dom) > 0
	}
	return here || none && g.self
}

// busy reports whether pods are counted in a domain, or room is held for them there.
func (d *ties) busy(c, held *counter, dom int32) bool {
	return c.at(dom) > 0 || held != nil && d.heldFor(held, dom) > 0
}

// joined reports whether any of the places is where pods in the domains are looked for. Who is to be on the same machine is so in every domain that
// both know.
func (r *nearRule) joined(doms []int32, places [][]int32) bool {
	return slices.ContainsFunc(places, func(p []int32) bool {
		return !slices.ContainsFunc(r.terms, func(x *term) bool {
			if x.key != host {
				return p[x.key] < 0 || p[x.key] != doms[x.key]
			}
			for k := range p {
				if k != host && p[k] >= 0 && doms[k] >= 0 && p[k] != doms[k] {
					return true
				}
			}
			return false
		})
	})
}

// present reports whether any pod that the class wants to be near is anywhere.
func (d *ties) present(g *tiedClass) bool {
	for _, x := range g.near.terms {
		if x.matched.total > 0 || x.going > 0 {
			return true
		}
	}
	return slices.ContainsFunc(g.joint, func(x *term) bool { return x.key == host && x.matched.total+d.allHeld(x) > 0 })
}
