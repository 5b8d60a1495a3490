package topology

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
)

// Asking says what a pod asks about.
type Asking int

const (
	// There is a machine that is there, or on its way.
	There Asking = iota
	// Reserved is likewise, and room is held on it for the pod itself: what is held for others does not stand in its way.
	Reserved
	// Fresh is a machine yet to be bought. What is on the same machine is left to packing.
	Fresh
)

// Low is the count that kube-scheduler measures skew from.
func (d *Ties) Low(g *Class, i int, what Asking) int32 {
	r := &g.Spread[i]
	if len(g.Among[i]) < int(r.Min) {
		return 0
	}
	if r.Term.Matched.Domains() >= len(g.Among[i]) {
		d.Toil(len(g.Among[i]) / problem.DomainsAsOne)
	}
	n := r.Term.least(g.Among[i], what != Reserved)
	if n == NoBound {
		return 0
	}
	return n
}

// Allows reports whether the ties of the class let one more pod of it into domains.
func (d *Ties) Allows(g *Class, doms []int32, what Asking) bool {
	if !g.Tied() {
		return true
	}
	if !d.Toil(g.Ask()) {
		return false
	}
	fresh := what == Fresh
	for i := range g.Spread {
		r := &g.Spread[i]
		if r.Term.Key == Host && fresh {
			continue
		}
		dom := doms[r.Term.Key]
		if dom < 0 {
			return false
		}
		n := r.Term.Matched.At(dom) + r.Term.Maybe.At(dom) + what.held(&r.Term.Held, dom) + r.Self
		if n-d.Low(g, i, what) > r.Skew {
			return false
		}
	}
	for _, x := range g.Anti {
		dom := doms[x.Key]
		if dom == Either || dom != Unknown && what.busy(&x.Matched, &x.Held, dom) {
			return false
		}
	}
	for _, x := range g.Avoid {
		if dom := doms[x.Key]; dom == Either || dom != Unknown && x.Matched.At(dom) > 0 {
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
		if what.busy(&x.Owners, &x.HeldOwners, dom) {
			return false
		}
		lim, ok := x.lim[dom]
		if ok && what != Reserved && x.Matched.At(dom)+1 > lim && !g.asTight(x) {
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
	return g.joins(doms, what) && g.Near.Met(doms, fresh)
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
func (g *Class) joins(doms []int32, what Asking) bool {
	for _, x := range g.Joint {
		n := x.Matched.Total + what.allHeld(x)
		switch dom := doms[x.Key]; {
		case n == 0:
		case x.OnePod:
			return false
		case x.Key == Host && what == Fresh: // left to bundles
		case dom < 0 || int64(x.Matched.At(dom)+what.held(&x.Held, dom)) < n:
			return false
		}
	}
	return true
}

// allHeld counts planned pods that room is held for and that the term picks, wherever they are.
func (what Asking) allHeld(x *Term) int64 {
	if what == Reserved {
		return 0
	}
	return x.Held.Total
}

// held counts planned pods that the domain is kept for; they do not stand in each other's way.
func (what Asking) held(c *Counter, dom int32) int32 {
	if what == Reserved {
		return 0
	}
	return c.At(dom)
}

// busy reports whether pods are counted in a domain, or room is held for them there.
func (what Asking) busy(c, held *Counter, dom int32) bool {
	return c.At(dom) > 0 || what.held(held, dom) > 0
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
func (g *Class) Present() bool {
	for _, x := range g.Near.Terms {
		if x.Matched.Total > 0 || x.going > 0 {
			return true
		}
	}
	return slices.ContainsFunc(g.Joint, func(x *Term) bool {
		return x.Key == Host && x.Matched.Total+x.Held.Total > 0
	})
}
