package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
)

// unit is pods of one group on one machine that have yet to be bound.
type unit struct {
	g    *seatClass
	spot int32
	n    int
	// seat is where they were seated, by position; made the machine that was bought for them, -1 for an existing node.
	seat, made int
}

// maxBindings bounds how often pods that could not be bound at their turn are tried again.
const maxBindings = 64

// proof binds what was planned as kube-scheduler would, one pod after the other: the running pods are there, the machines of
// the plan are ready, and a pod is bound when all that it and others require is met at its turn. While pods are seated it is not
// known yet which machines there will be, and what they bring; here it is.
type proof struct {
	d      *verifier
	lows   map[*term]*lowest
	fields map[fieldKey]*field
}

// prove returns the pods of the plan that could not be bound. When there are none, the order in which everybody was bound shows that
// the plan is sound. It leaves the counts as they are at the end.
func (d *verifier) prove() []unit {
	if !slices.ContainsFunc(d.classes, func(g *seatClass) bool { return g.why == "" && g.tied() }) {
		return nil
	}
	d.undo.rewind()
	spots := len(d.topo.spots)
	p := &proof{d: d, lows: map[*term]*lowest{}, fields: map[fieldKey]*field{}}
	p.build()
	left := p.bindAll(p.units())
	if !d.standing {
		d.noteMissing()
	}
	for _, e := range d.topo.eligs {
		e.spots = e.spots[:spots]
	}
	d.topo.spots = d.topo.spots[:spots]
	return left
}

// bindAll binds units in their order, again and again as long as that helps, and returns who is left.
func (p *proof) bindAll(left []unit) []unit {
	for range maxBindings {
		before := len(left)
		kept := left[:0]
		progress := false
		for _, u := range left {
			for u.n > 0 && p.lets(u.g, u.spot) {
				p.bind(u.g, u.spot)
				u.n--
				progress = true
			}
			if u.n > 0 {
				kept = append(kept, u)
			}
		}
		if left = kept; len(left) == 0 || !progress && len(left) == before {
			break
		}
	}
	return left
}

// build adds the machines that were bought, with the daemons that will run there.
func (p *proof) build() {
	d, t := p.d, p.d.topo
	like := map[*deal]*spot{}
	for i := range d.made {
		m := &d.made[i]
		s := like[m.deal]
		if s == nil {
			c := &existingNode{body: &body{offerings: m.pool.offerings, own: m.pool.own.And(require.New(m.deal.requirements)), items: m.deal.items}}
			labels, may := c.certain(t.keys)
			s = &spot{labels: labels, taints: m.pool.pool.Taints, may: may, claim: c}
			t.place(s, len(t.spots))
			like[m.deal] = s
		}
		own := *s
		own.doms = slices.Clone(s.doms)
		m.spot = int32(len(t.spots))
		own.doms[host] = m.spot
		t.spots = append(t.spots, &own)
	}
	first := len(t.spots) - len(d.made)
	asked := p.asked()
	for _, e := range t.eligs {
		if d.standing && !asked[e] {
			continue
		}
		known := map[*existingNode]counting{}
		for _, s := range t.spots[first:] {
			c, ok := known[s.claim]
			if !ok {
				c = e.judge(t, s)
				known[s.claim] = c
			}
			e.spots = append(e.spots, c)
		}
	}
	for i := range d.made {
		p.man(&d.made[i])
	}
}

// asked are the ways to count for a spread that matter to somebody who is to be bound.
func (p *proof) asked() map[*eligible]bool {
	out := map[*eligible]bool{}
	for _, g := range p.d.classes {
		for _, r := range g.spread {
			out[r.term.elig] = true
		}
		for _, x := range g.matches {
			if x.elig != nil {
				out[x.elig] = true
			}
		}
	}
	return out
}

// man puts the daemons that may run on a machine there, ahead of everybody.
func (p *proof) man(m *made) {
	for i := range p.d.daemons {
		c := &p.d.daemons[i]
		if m.deal.items.And(m.pool.runs[i]).First() < 0 {
			continue
		}
		for _, x := range p.d.topo.matching(c.namespace, c.pod.Labels) {
			p.count(x, m.spot)
		}
		for _, a := range c.pod.PodAntiAffinity {
			p.tell(&p.d.topo.intern(p.d.topo.key(a.Key), []podSelector{podSelectorOf(a)}, "pods").owners, m.spot, p.d.topo.key(a.Key))
		}
	}
}

// units lists what is to be bound, in the order in which it was seated. What was seated for machines to buy is on the machines that were
// bought for it.
func (p *proof) units() []unit {
	d := p.d
	type share struct{ made, n int }
	type part struct {
		g *seatClass
		c *cell
	}
	// What each part got, one after the other: numbered as they come, counted, and then listed from one piece of memory.
	number, counts := map[part]int{}, []int{}
	var of []int
	for i := range d.made {
		for _, l := range d.made[i].loads {
			at := part{l.g, l.c}
			n, ok := number[at]
			if !ok {
				n = len(counts)
				number[at], counts = n, append(counts, 0)
			}
			counts[n]++
			of = append(of, n)
		}
	}
	supply, flat := make([][]share, len(counts)), make([]share, len(of))
	for n, k := range counts {
		supply[n], flat = flat[:0:k], flat[k:]
	}
	for i := range d.made {
		for k, l := range d.made[i].loads {
			supply[of[k]] = append(supply[of[k]], share{i, l.n})
		}
		of = of[len(d.made[i].loads):]
	}
	out := make([]unit, 0, len(d.seats))
	for i, s := range d.seats {
		if s.slot >= 0 {
			out = append(out, unit{s.g, d.existing[s.slot].spot, s.n, i, -1})
			continue
		}
		at, ok := number[part{s.g, s.cell}]
		for n := s.n; ok && n > 0 && len(supply[at]) > 0; {
			from := &supply[at][0]
			k := min(n, from.n)
			out = append(out, unit{s.g, d.made[from.made].spot, k, i, from.made})
			n -= k
			if from.n -= k; from.n == 0 {
				supply[at] = supply[at][1:]
			}
		}
	}
	return out
}

// lets reports whether kube-scheduler would let one more pod of the group onto the machine now.
func (p *proof) lets(g *seatClass, at int32) bool {
	if g.tied() && !p.d.toil(g.ask()) {
		return false
	}
	t := p.d.topo
	s := t.spots[at]
	for i := range g.spread {
		r := &g.spread[i]
		dom := s.doms[r.term.key]
		if dom < 0 || r.term.matched.at(dom)+r.term.maybe.at(dom)+r.self-p.low(r) > r.skew {
			return false
		}
	}
	for _, x := range g.anti {
		if p.any(&x.matched, s, x.key) {
			return false
		}
	}
	for _, x := range g.matches {
		if x.owners.total > 0 && p.any(&x.owners, s, x.key) {
			return false
		}
	}
	for _, x := range g.joint {
		if dom := s.doms[x.key]; x.matched.total > 0 && (x.onePod || dom < 0 || int64(x.matched.at(dom)) < x.matched.total) {
			return false
		}
	}
	return g.near.met(s.doms, false)
}

// any reports whether pods are counted in the machine's domain, or in one that may turn out to be its.
func (p *proof) any(c *counter, s *spot, key int) bool {
	if dom := s.doms[key]; dom != either {
		return dom != unknown && c.at(dom) > 0
	}
	t := p.d.topo
	return slices.ContainsFunc(s.may[t.keys[key]], func(v string) bool { return c.at(t.dom(key, v)) > 0 })
}

// bind puts one pod of the group onto the machine.
func (p *proof) bind(g *seatClass, at int32) {
	for _, x := range g.matches {
		p.count(x, at)
	}
	for _, x := range g.anti {
		p.tell(&x.owners, at, x.key)
	}
}

// count counts one pod on the machine for a term that picks it.
func (p *proof) count(x *term, at int32) {
	s := p.d.topo.spots[at]
	switch {
	case x.near && s.doms[x.key] == unknown: // kube-scheduler does not see it
	case x.near || x.volume:
		p.d.undo.add(&x.matched, s.doms[x.key], 1)
	case x.elig == nil:
		p.tell(&x.matched, at, x.key)
	case int(at) >= len(x.elig.spots): // nobody asks
	case x.elig.spots[at] == surely:
		p.d.undo.add(&x.matched, s.doms[x.key], 1)
		if l := p.lows[x]; l != nil {
			l.raised(x, s.doms[x.key])
		}
	case x.elig.spots[at] == perhaps:
		p.tell(&x.maybe, at, x.key)
	}
}

// tell counts one pod in the machine's domain, or in all that may turn out to be its.
func (p *proof) tell(c *counter, at int32, key int) {
	t := p.d.topo
	s := t.spots[at]
	if dom := s.doms[key]; dom != either {
		p.d.undo.add(c, dom, 1)
		return
	}
	for _, v := range s.may[t.keys[key]] {
		p.d.undo.add(c, t.dom(key, v), 1)
	}
}

// noteMissing notes the domains that pods were left over for, as the emptiest, and that no machine is in after all.
func (d *verifier) noteMissing() {
	t := d.topo
	for _, g := range d.classes {
		if g.why != "" || g.unseated() == 0 {
			continue
		}
		for i, r := range g.spread {
			e := r.term.elig
			if r.term.key == host || i >= len(g.among) {
				continue
			}
			for _, dom := range g.among[i] {
				if !e.anyIn(t, r.term.key, dom) {
					d.missing = append(d.missing, absence{e.text, t.keys[r.term.key], t.names[r.term.key][dom]})
				}
			}
		}
	}
}

// verifier binds what was planned, and takes out of the plan what cannot be bound.
type verifier struct {
	purchasing
	// stuck are pods that could not be bound in the end, over those of them that were taken out of the plan.
	stuck []unit
	over  []over
	// missing are domains that pods were left over for, and that no machine is in.
	missing []absence
	// gone are the machines, by spot, that a question takes away.
	gone []int32
}
