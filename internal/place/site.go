package place

// site is where pods are, or are to be: on a machine that is there or on its way, or, when spot is unknown, on one to be bought for a form.
type site struct {
	doms []int32 // per key
	spot int32
	form *nodeConstraint
}

func (d *ties) siteOf(s *existingNode) site {
	return site{doms: d.topo.spots[s.spot].doms, spot: s.spot}
}

// counts says whether a machine at the site counts for a spread constraint. Pods of one app on machines that the constraint's own pods
// do not accept (of another architecture, or of a pool with other taints) are none of its business, before these are bought as after.
func (d *ties) counts(e *eligible, at site) counting {
	switch {
	case at.spot != unknown:
		return e.spots[at.spot]
	case e.fresh:
		return surely
	case at.form == nil:
		return perhaps
	}
	k := countedKey{e, at.form}
	if c, ok := d.spreads[k]; ok {
		return c
	}
	c := d.countsFor(e, at.form)
	remember(&d.spreads, k, c)
	return c
}

// countsFor asks all pools that sell machines to the form: what these are on the whole is what each of them is, if they agree.
func (d *ties) countsFor(e *eligible, f *nodeConstraint) counting {
	out, any := never, false
	for _, s := range d.pools {
		l := d.allowedOf(s, f)
		if l.ok.First() < 0 {
			continue
		}
		machine := &existingNode{body: &body{offerings: s.offerings, own: s.own.And(l.free), items: l.ok}}
		at := &spot{taints: s.pool.Taints, claim: machine}
		at.labels, at.may = machine.certain(d.topo.keys)
		d.topo.place(at, host)
		c := e.judge(d.topo, at)
		for _, k := range e.keys {
			if key := d.topo.keys[k]; c == never && at.doms[k] == unknown && k != host && s.open(key) {
				return perhaps // the claim will say which value it gets
			}
		}
		if c == perhaps || any && c != out {
			return perhaps
		}
		out, any = c, true
	}
	return out
}

// count notes that n pods of the group are somewhere, and what they can live with.
func (d *ties) count(g *tiedClass, at site, n int) {
	d.tally(g, at, n)
	if at.spot == unknown || n < 0 {
		return
	}
	for i, r := range g.spread {
		if r.term.key != host {
			continue
		}
		if r.term.lim == nil {
			r.term.lim = map[int32]int32{}
		}
		lim := d.low(g, i) + r.skew
		if old, ok := r.term.lim[at.spot]; !ok || lim < old {
			d.undo.lim(r.term, at.spot)
			r.term.lim[at.spot] = lim
		}
	}
}

// tally counts n pods of the group, for those that pick them and those that they refuse.
func (d *ties) tally(g *tiedClass, at site, n int) {
	for _, x := range g.matches {
		dom, c := at.doms[x.key], surely
		if x.near && dom == unknown && x.key != host {
			continue // kube-scheduler does not see it: the machine lacks the label
		}
		if x.elig != nil && !(at.spot == unknown && g.owns(x)) {
			c = d.counts(x.elig, at)
		}
		switch {
		case c == never:
		case c == perhaps:
			d.undo.add(&x.maybe, dom, int32(n))
		default:
			d.undo.add(&x.matched, dom, int32(n))
		}
	}
	for _, x := range g.anti {
		d.undo.add(&x.owners, at.doms[x.key], int32(n))
	}
	if at.spot == unknown {
		return
	}
	for _, x := range g.ports {
		d.undo.add(&x.matched, at.spot, int32(n))
	}
}

// owns reports whether x is a spread constraint of the group itself: its new machines count for it.
func (g *rules) owns(x *term) bool {
	for i := range g.spread {
		if g.spread[i].term == x {
			return true
		}
	}
	return false
}
