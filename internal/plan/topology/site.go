package topology

import "github.com/karpenter-aks/karpenter/internal/plan/problem"

// Site is where pods are, or are to be: on a machine that is there or on its way, or, when spot is unknown, on one to be bought for a constraint.
type Site struct {
	Doms []int32 // per key
	Spot int32
	Form *problem.NodeConstraint
	// What is There, or Reserved for pods that room is held for; it says nothing where machines are yet to be bought.
	What Asking
}

// SiteOf is where an existing node is.
func (d *Ties) SiteOf(s *problem.ExistingNode) Site {
	return Site{Doms: d.Topo.Spots[s.Spot].Doms, Spot: s.Spot}
}

// Counts says whether a machine at the site counts for a spread constraint. Pods of one app on machines that the constraint's own pods
// do not accept (of another architecture, or of a pool with other taints) are none of its business, before these are bought as after.
func (d *Ties) Counts(e *Eligible, at Site) Counting {
	switch {
	case at.Spot != Unknown:
		return e.Spots[at.Spot]
	case e.fresh:
		return Surely
	case at.Form == nil:
		return Perhaps
	}
	k := countedKey{e, at.Form}
	if c, ok := d.spreads[k]; ok {
		return c
	}
	c := d.countsFor(e, at.Form)
	problem.Remember(&d.spreads, k, c)
	return c
}

// countsFor asks all pools that sell machines to the constraint: what these are on the whole is what each of them is, if they agree.
func (d *Ties) countsFor(e *Eligible, f *problem.NodeConstraint) Counting {
	out, any := Never, false
	for _, s := range d.Pools {
		l := d.AllowedOf(s, f)
		if l.OK.First() < 0 {
			continue
		}
		machine := &problem.ExistingNode{
			Body: &problem.Body{Offerings: s.Offerings, Own: s.Own.And(l.Free), Items: l.OK},
		}
		at := &Spot{Taints: s.Pool.Taints, Claim: machine}
		at.Labels, at.May = machine.Certain(d.Topo.Keys)
		d.Topo.Place(at, Host)
		c := e.Judge(d.Topo, at)
		for _, k := range e.Keys {
			if key := d.Topo.Keys[k]; c == Never && at.Doms[k] == Unknown && k != Host &&
				s.Open(key) {
				return Perhaps // the claim will say which value it gets
			}
		}
		if c == Perhaps || any && c != out {
			return Perhaps
		}
		out, any = c, true
	}
	return out
}

// Bind notes that n pods of the class are somewhere, and what they can live with.
func (d *Ties) Bind(g *Class, at Site, n int) {
	d.Tally(g, at, n)
	if at.Spot == Unknown || n < 0 {
		return
	}
	for i, r := range g.Spread {
		if r.Term.Key != Host {
			continue
		}
		if r.Term.lim == nil {
			r.Term.lim = map[int32]int32{}
		}
		lim := d.Low(g, i, at.What) + r.Skew
		if old, ok := r.Term.lim[at.Spot]; !ok || lim < old {
			d.Journal.lim(r.Term, at.Spot)
			r.Term.lim[at.Spot] = lim
		}
	}
}

// Tally counts n pods of the class, for those that pick them and those that they refuse.
func (d *Ties) Tally(g *Class, at Site, n int) {
	for _, x := range g.Matches {
		dom, c := at.Doms[x.Key], Surely
		if x.Near && dom == Unknown && x.Key != Host {
			continue // kube-scheduler does not see it: the machine lacks the label
		}
		if x.Elig != nil && !(at.Spot == Unknown && g.Owns(x)) {
			c = d.Counts(x.Elig, at)
		}
		switch {
		case c == Never:
		case c == Perhaps:
			d.Journal.Add(&x.Maybe, dom, int32(n))
		default:
			d.Journal.Add(&x.Matched, dom, int32(n))
		}
	}
	for _, x := range g.Anti {
		d.Journal.Add(&x.Owners, at.Doms[x.Key], int32(n))
	}
	if at.Spot == Unknown {
		return
	}
	for _, x := range g.Ports {
		d.Journal.Add(&x.Matched, at.Spot, int32(n))
	}
}

// Owns reports whether x is a spread constraint of the class itself: its new machines count for it.
func (g *Rules) Owns(x *Term) bool {
	for i := range g.Spread {
		if g.Spread[i].Term == x {
			return true
		}
	}
	return false
}
