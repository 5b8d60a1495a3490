package topology

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
)

// Low is the count that kube-scheduler measures skew from.
func (d *Ties) Low(g *Class, i int) int32 {
	r := &g.Spread[i]
	if len(g.Among[i]) < int(r.Min) {
		return 0
	}
	if len(r.Term.Matched.N) >= len(g.Among[i]) {
		d.Toil(len(g.Among[i]) / problem.DomainsAsOne)
	}
	n := r.Term.least(g.Among[i], !d.Keeping)
	if n == NoBound {
		return 0
	}
	return n
}

// Allows reports whether the ties of the class let one more pod of it into domains. On a machine yet to be bought, what is on the
// same machine is left to packing.
func (d *Ties) Allows(g *Class, doms []int32, fresh bool) bool {
	if !g.Tied() {
		return true
	}
	if !d.Toil(g.Ask()) {
		return false
	}
	for i := range g.Spread {
		r := &g.Spread[i]
		if r.Term.Key == Host && fresh {
			continue
		}
		dom := doms[r.Term.Key]
		if dom < 0 ||
			r.Term.Matched.At(
				dom,
			)+r.Term.Maybe.At(
				dom,
			)+d.heldFor(
				&r.Term.Held,
				dom,
			)+r.Self-d.Low(
				g,
				i,
			) > r.Skew {
			return false
		}
	}
	for _, x := range g.Anti {
		if dom := doms[x.Key]; dom == Either || dom != Unknown && d.busy(&x.Matched, &x.Held, dom) {
			return false
		}
	}
	for _, x := range g.Avoid {
		if dom := doms[x.Key]; dom == Either || dom != Unknown && d.busy(&x.Matched, nil, dom) {
			return false
		}
	}
	for _, x := range g.Toward {
		if x.Key == Host && fresh {
			continue // packing does not look at it
		}
		dom := doms[x.Key]
		first := x.Matched.Total == 0 && slices.Contains(g.Matches, x)
		if dom < 0 || x.Matched.At(dom) == 0 && !first {
			return false
		}
	}
	for _, x := range g.Matches {
		dom := doms[x.Key]
		if x.Volume {
			continue // see joins
		}
		if dom == Either {
			return false // it would count somewhere, and nobody knows where
		}
		if dom == Unknown {
			continue
		}
		if d.busy(&x.Owners, &x.HeldOwners, dom) {
			return false
		}
		lim, ok := x.lim[dom]
		if ok && !d.Keeping && x.Matched.At(dom)+1 > lim && !g.asTight(x) {
			return false
		}
	}
	if !fresh {
		for _, x := range g.Ports {
			if x.Matched.At(doms[Host]) > 0 {
				return false
			}
		}
	}
	return d.joins(g, doms, fresh) && g.Near.Met(doms, fresh)
}

// asTight reports whether the class itself asks for as little skew by the term as anybody: then the
// counts that it accepts now nobody minds, however low they were when others were placed.
func (g *Class) asTight(x *Term) bool {
	return slices.ContainsFunc(g.Spread, func(r SpreadRule) bool {
		return r.Term == x && r.Skew <= x.tight
	})
}

// joins reports whether all that use volumes with the class that are yet to be made are in these domains, or nowhere yet. Such a volume is made for the first
// of them to be bound, and then keeps the others to its domain (volume binding in kube-scheduler). One that a single pod may use at a time nobody else uses.
func (d *Ties) joins(g *Class, doms []int32, fresh bool) bool {
	for _, x := range g.Joint {
		n := x.Matched.Total + d.allHeld(x)
		switch dom := doms[x.Key]; {
		case n == 0:
		case x.OnePod:
			return false
		case x.Key == Host && fresh: // left to bundles
		case dom < 0 || int64(x.Matched.At(dom)+d.heldFor(&x.Held, dom)) < n:
			return false
		}
	}
	return true
}

// allHeld counts planned pods that room is held for and that the term picks, wherever they are.
func (d *Ties) allHeld(x *Term) int64 {
	if d.Keeping {
		return 0
	}
	return x.Held.Total
}

// heldFor counts planned pods that the domain is kept for; they do not stand in each other's way.
func (d *Ties) heldFor(c *Counter, dom int32) int32 {
	if d.Keeping {
		return 0
	}
	return c.At(dom)
}

// Met reports whether the class's required affinity holds: pods that all terms pick are there, or there are none anywhere and
// the class picks itself.
func (g *NearRule) Met(doms []int32, fresh bool) bool {
	if len(g.Terms) == 0 {
		return true
	}
	none, here := true, true
	for _, x := range g.Terms {
		if x.Key == Host && fresh {
			none = none && x.Matched.Total == 0 && x.going == 0
			here = false
			continue
		}
		dom := doms[x.Key]
		if dom < 0 {
			return false
		}
		none = none && x.Matched.Total == 0 && x.going == 0
		here = here && x.Matched.At(dom) > 0
	}
	return here || none && g.Self
}

// busy reports whether pods are counted in a domain, or room is held for them there.
func (d *Ties) busy(c, held *Counter, dom int32) bool {
	return c.At(dom) > 0 || held != nil && d.heldFor(held, dom) > 0
}

// Joined reports whether any of the places is where pods in the domains are looked for. Who is to be on the same machine is so in every domain that
// both know.
func (r *NearRule) Joined(doms []int32, places [][]int32) bool {
	return slices.ContainsFunc(places, func(p []int32) bool {
		return !slices.ContainsFunc(r.Terms, func(x *Term) bool {
			if x.Key != Host {
				return p[x.Key] < 0 || p[x.Key] != doms[x.Key]
			}
			for k := range p {
				if k != Host && p[k] >= 0 && doms[k] >= 0 && p[k] != doms[k] {
					return true
				}
			}
			return false
		})
	})
}

// Present reports whether any pod that the class wants to be near is anywhere.
func (d *Ties) Present(g *Class) bool {
	for _, x := range g.Near.Terms {
		if x.Matched.Total > 0 || x.going > 0 {
			return true
		}
	}
	return slices.ContainsFunc(
		g.Joint,
		func(x *Term) bool { return x.Key == Host && x.Matched.Total+d.allHeld(x) > 0 },
	)
}
