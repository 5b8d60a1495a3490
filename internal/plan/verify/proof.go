// Package verify answers: would kube-scheduler bind the pods of this plan?
//
// It binds them one by one where the plan has them, and takes out of the plan what cannot be bound.
package verify

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// unit is pods of one class on one machine that have yet to be bound.
type unit struct {
	g    *assign.Class
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
	d      *Verifier
	lows   map[*topology.Term]*lowest
	fields map[fieldKey]*field
}

// Prove returns the pods of the plan that could not be bound. When there are none, the order in which everybody was bound shows that
// the plan is sound. It leaves the counts as they are at the end.
func (d *Verifier) Prove() []unit {
	if !slices.ContainsFunc(d.Classes, func(g *assign.Class) bool {
		return g.Why == "" && g.Tied()
	}) {
		return nil
	}
	d.Journal.Rewind()
	spots := len(d.Topo.Spots)
	p := &proof{d: d, lows: map[*topology.Term]*lowest{}, fields: map[fieldKey]*field{}}
	p.build()
	left := p.bindAll(p.units())
	if !d.Standing {
		d.noteMissing()
	}
	for _, e := range d.Topo.Eligs {
		e.Spots = e.Spots[:spots]
	}
	d.Topo.Spots = d.Topo.Spots[:spots]
	return left
}

// Order lists the pods of the plan that are tied to others as they were seated: an order in which all can be bound, once nothing is stuck.
// O(pods of tied classes).
func (d *Verifier) Order() []model.PodKey {
	on := d.tied()
	if on == nil {
		return nil
	}
	out := make([]model.PodKey, 0, len(on.pods))
	for _, u := range (&proof{d: d}).units() {
		at := place{u.g, u.made}
		if u.made < 0 {
			at.machine = -1 - int(d.Seats[u.seat].Slot)
		}
		out = append(out, on.take(at, u.n)...)
	}
	return out
}

// place is a class and a machine: by position that of a new claim, or -1 less that of an existing node.
type place struct {
	g       *assign.Class
	machine int
}

// company is pods of the plan by class and machine.
type company struct {
	number map[place]int32
	pods   []model.PodKey
	of     []int32 // by pod: its place, by number
	counts []int   // by place
	lists  [][]model.PodKey
}

// tied sorts the pods of the plan that are tied to others; nil when there are none.
func (d *Verifier) tied() *company {
	n := 0
	for _, g := range d.Classes {
		if g.Tied() {
			n += len(g.Pods)
		}
	}
	if n == 0 {
		return nil
	}
	of := make(map[model.PodKey]*assign.Class, n)
	for _, g := range d.Classes {
		if g.Tied() {
			for _, pod := range g.Pods {
				of[pod.Key()] = g
			}
		}
	}
	c := &company{
		number: make(map[place]int32, n),
		pods:   make([]model.PodKey, 0, n),
		of:     make([]int32, 0, n),
	}
	if len(d.Plan.Existing) > 0 {
		type name struct{ node, claim string }
		slots := make(map[name]int, len(d.Existing))
		for i, s := range d.Existing {
			slots[name{s.Node, s.Claim}] = i
		}
		for _, x := range d.Plan.Existing {
			i, there := slots[name{x.Node, x.Claim}]
			if g := of[x.Pod]; g != nil && there {
				c.add(x.Pod, place{g, -1 - i})
			}
		}
	}
	for i := range d.Plan.NewClaims {
		for _, k := range d.Plan.NewClaims[i].Pods {
			if g := of[k]; g != nil {
				c.add(k, place{g, i})
			}
		}
	}
	c.list()
	return c
}

func (c *company) add(k model.PodKey, at place) {
	n, known := c.number[at]
	if !known {
		n = int32(len(c.counts))
		c.number[at], c.counts = n, append(c.counts, 0)
	}
	c.counts[n]++
	c.pods, c.of = append(c.pods, k), append(c.of, n)
}

// list lists the pods of each place, in the order in which they were added, all in one piece of memory.
func (c *company) list() {
	flat := make([]model.PodKey, len(c.pods))
	c.lists = make([][]model.PodKey, len(c.counts))
	for n, k := range c.counts {
		c.lists[n], flat = flat[:0:k], flat[k:]
	}
	for i, k := range c.pods {
		c.lists[c.of[i]] = append(c.lists[c.of[i]], k)
	}
}

// take returns the next n pods of a place, as far as there are so many.
func (c *company) take(at place, n int) []model.PodKey {
	i, known := c.number[at]
	if !known {
		return nil
	}
	n = min(n, len(c.lists[i]))
	out := c.lists[i][:n]
	c.lists[i] = c.lists[i][n:]
	return out
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
	d, t := p.d, p.d.Topo
	like := map[*offer.Deal]*topology.Spot{}
	spots := make([]topology.Spot, len(d.Made))
	t.Spots = slices.Grow(t.Spots, len(d.Made))
	for i := range d.Made {
		m := &d.Made[i]
		s := like[m.Deal]
		if s == nil {
			c := &problem.ExistingNode{
				Body: &problem.Body{
					Offerings: m.Pool.Offerings,
					Own:       m.Pool.Own.And(require.New(m.Deal.Requirements)),
					Items:     m.Deal.Items,
				},
			}
			labels, may := c.Certain(t.Keys)
			s = &topology.Spot{Labels: labels, Taints: m.Pool.Pool.Taints, May: may, Claim: c}
			t.Place(s, len(t.Spots))
			like[m.Deal] = s
		}
		own := &spots[i]
		*own = *s
		own.Doms = slices.Clone(s.Doms)
		m.Spot = int32(len(t.Spots))
		own.Doms[topology.Host] = m.Spot
		t.Spots = append(t.Spots, own)
	}
	first := len(t.Spots) - len(d.Made)
	asked := p.asked()
	for _, e := range t.Eligs {
		if d.Standing && !asked[e] {
			continue
		}
		known := map[*problem.ExistingNode]topology.Counting{}
		for _, s := range t.Spots[first:] {
			c, ok := known[s.Claim]
			if !ok {
				c = e.Judge(t, s)
				known[s.Claim] = c
			}
			e.Spots = append(e.Spots, c)
		}
	}
	for i := range d.Made {
		p.man(&d.Made[i])
	}
}

// asked are the ways to count for a spread that matter to somebody who is to be bound.
func (p *proof) asked() map[*topology.Eligible]bool {
	out := map[*topology.Eligible]bool{}
	for _, g := range p.d.Classes {
		for _, r := range g.Spread {
			out[r.Term.Elig] = true
		}
		for _, x := range g.Matches {
			if x.Elig != nil {
				out[x.Elig] = true
			}
		}
	}
	return out
}

// man puts the daemons that may run on a machine there, ahead of everybody.
func (p *proof) man(m *offer.Made) {
	for i := range p.d.Daemons {
		c := &p.d.Daemons[i]
		if !m.Deal.Items.Meets(m.Pool.Runs[i]) {
			continue
		}
		for _, x := range p.d.Topo.Matching(c.Namespace, c.Pod.Labels) {
			p.count(x, m.Spot)
		}
		for _, a := range c.Pod.PodAntiAffinity {
			x := p.d.Topo.Refused(a)
			p.tell(&x.Owners, m.Spot, x.Key)
		}
	}
}

// units lists what is to be bound, in the order in which it was seated. What was seated for machines to buy is on the machines that were
// bought for it.
func (p *proof) units() []unit {
	d := p.d
	type share struct{ made, n int }
	type part struct {
		g *assign.Class
		c *assign.Cell
	}
	// What each part got, one after the other: numbered as they come, counted, and then listed from one piece of memory.
	loads := 0
	for i := range d.Made {
		loads += len(d.Made[i].Loads)
	}
	parts := min(loads, len(d.Seats))
	number := make(map[part]int, parts)
	counts, of := make([]int, 0, parts), make([]int, 0, loads)
	for i := range d.Made {
		for _, l := range d.Made[i].Loads {
			at := part{l.Class, l.Cell}
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
	for i := range d.Made {
		for k, l := range d.Made[i].Loads {
			supply[of[k]] = append(supply[of[k]], share{i, l.N})
		}
		of = of[len(d.Made[i].Loads):]
	}
	out := make([]unit, 0, len(d.Seats))
	for i, s := range d.Seats {
		if s.Slot >= 0 {
			out = append(out, unit{s.Class, d.Existing[s.Slot].Spot, s.N, i, -1})
			continue
		}
		at, ok := number[part{s.Class, s.Cell}]
		for n := s.N; ok && n > 0 && len(supply[at]) > 0; {
			from := &supply[at][0]
			k := min(n, from.n)
			out = append(out, unit{s.Class, d.Made[from.made].Spot, k, i, from.made})
			n -= k
			if from.n -= k; from.n == 0 {
				supply[at] = supply[at][1:]
			}
		}
	}
	return out
}

// lets reports whether kube-scheduler would let one more pod of the class onto the machine now.
func (p *proof) lets(g *assign.Class, at int32) bool {
	if g.Tied() && !p.d.Toil(g.Ask()) {
		return false
	}
	t := p.d.Topo
	s := t.Spots[at]
	for i := range g.Spread {
		r := &g.Spread[i]
		dom := s.Doms[r.Term.Key]
		if dom < 0 || r.Term.Matched.At(dom)+r.Term.Maybe.At(dom)+r.Self-p.low(r) > r.Skew {
			return false
		}
	}
	for _, x := range g.Anti {
		if p.any(&x.Matched, s, x.Key) {
			return false
		}
	}
	for _, x := range g.Matches {
		if x.Owners.Total > 0 && p.any(&x.Owners, s, x.Key) {
			return false
		}
	}
	for _, x := range g.Joint {
		if dom := s.Doms[x.Key]; x.Matched.Total > 0 &&
			(x.OnePod || dom < 0 || int64(x.Matched.At(dom)) < x.Matched.Total) {
			return false
		}
	}
	return g.Near.Met(s.Doms, false)
}

// any reports whether pods are counted in the machine's domain, or in one that may turn out to be its.
func (p *proof) any(c *topology.Counter, s *topology.Spot, key int) bool {
	if dom := s.Doms[key]; dom != topology.Either {
		return dom != topology.Unknown && c.At(dom) > 0
	}
	t := p.d.Topo
	return slices.ContainsFunc(s.May[t.Keys[key]], func(v string) bool {
		return c.At(t.Dom(key, v)) > 0
	})
}

// bind puts one pod of the class onto the machine.
func (p *proof) bind(g *assign.Class, at int32) {
	for _, x := range g.Matches {
		p.count(x, at)
	}
	for _, x := range g.Anti {
		p.tell(&x.Owners, at, x.Key)
	}
}

// count counts one pod on the machine for a term that picks it.
func (p *proof) count(x *topology.Term, at int32) {
	s := p.d.Topo.Spots[at]
	switch {
	case x.Near && s.Doms[x.Key] == topology.Unknown: // kube-scheduler does not see it
	case x.Near || x.Volume:
		p.d.Journal.Add(&x.Matched, s.Doms[x.Key], 1)
	case x.Elig == nil:
		p.tell(&x.Matched, at, x.Key)
	case int(at) >= len(x.Elig.Spots): // nobody asks
	case x.Elig.Spots[at] == topology.Surely:
		p.d.Journal.Add(&x.Matched, s.Doms[x.Key], 1)
		if l := p.lows[x]; l != nil {
			l.raised(x, s.Doms[x.Key])
		}
	case x.Elig.Spots[at] == topology.Perhaps:
		p.tell(&x.Maybe, at, x.Key)
	}
}

// tell counts one pod in the machine's domain, or in all that may turn out to be its.
func (p *proof) tell(c *topology.Counter, at int32, key int) {
	t := p.d.Topo
	s := t.Spots[at]
	if dom := s.Doms[key]; dom != topology.Either {
		p.d.Journal.Add(c, dom, 1)
		return
	}
	for _, v := range s.May[t.Keys[key]] {
		p.d.Journal.Add(c, t.Dom(key, v), 1)
	}
}

// noteMissing notes the domains that pods were left over for, as the emptiest, and that no machine is in after all.
func (d *Verifier) noteMissing() {
	t := d.Topo
	for _, g := range d.Classes {
		if g.Why != "" || g.Unseated() == 0 {
			continue
		}
		for i, r := range g.Spread {
			e := r.Term.Elig
			if r.Term.Key == topology.Host || i >= len(g.Among) {
				continue
			}
			for _, dom := range g.Among[i] {
				if !e.AnyIn(t, r.Term.Key, dom) {
					k := r.Term.Key
					gap := problem.Absence{Eligible: e.Text, Key: t.Keys[k], Value: t.Names[k][dom]}
					d.Missing = append(d.Missing, gap)
				}
			}
		}
	}
}

// Verifier binds what was planned, and takes out of the plan what cannot be bound.
type Verifier struct {
	offer.Purchasing
	// Stuck are pods that could not be bound in the end, over those of them that were taken out of the plan.
	Stuck []unit
	Over  []over
	// Missing are domains that pods were left over for, and that no machine is in.
	Missing []problem.Absence
	// Gone are the machines, by spot, that a question takes away.
	Gone []int32
}
