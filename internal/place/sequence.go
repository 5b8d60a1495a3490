package place

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
)

// maxOrders bounds how often, in one decision, searches for an order ask whether a pod could be bound at some point of it.
const maxOrders = 20_000

// maxUnits bounds how many units an order is sought for when their own does not do.
const maxUnits = 256

// sequence looks for an order in which pods can be bound, one after the other, until all are. Who is bound may stand in another's way for good (where a
// spread counts it), or be what another waits for. It is a search in depth that tries those first who are in nobody's way.
type sequence struct {
	// left says, per kind of pods that it does not matter which of them is bound first, how many are to be bound; total is their sum.
	left  []int
	total int
	// may reports whether one of a kind could be bound now; bind binds n of it, or takes -n back. lead says by how much it would be ahead of the
	// least, for spreads of others that count it, and for its own.
	may  func(kind int) bool
	bind func(kind, n int)
	lead func(kind int) (others, own int)
	asks *int // how often may may still be called
	// dead are states, as numbers of pods that are left, from which nobody gets to the end.
	dead  map[string]bool
	order []int // of kinds
}

// find reports whether there is an order, and leaves it in order. All is as before when it returns.
func (s *sequence) find() bool {
	if s.total == 0 {
		return true
	}
	state := s.state()
	if s.dead[state] {
		return false
	}
	type move struct{ kind, others, own int }
	var moves []move
	for i, n := range s.left {
		if n == 0 {
			continue
		}
		if *s.asks--; *s.asks < 0 {
			return false
		}
		if s.may(i) {
			others, own := s.lead(i)
			moves = append(moves, move{i, others, own})
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Or(cmp.Compare(a.others, b.others), cmp.Compare(a.own, b.own)) })
	for _, m := range moves {
		s.order = append(s.order, m.kind)
		s.move(m.kind, 1)
		found := s.find()
		if s.move(m.kind, -1); found {
			return true
		}
		if s.order = s.order[:len(s.order)-1]; *s.asks < 0 {
			return false
		}
	}
	if s.dead == nil {
		s.dead = map[string]bool{}
	}
	s.dead[state] = true
	return false
}

func (s *sequence) move(kind, n int) {
	s.bind(kind, n)
	s.left[kind] -= n
	s.total -= n
}

func (s *sequence) state() string {
	var b []byte
	for _, n := range s.left {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(b)
}

// alikes are planned pods of one group that it does not matter which of them is bound first.
type alikes struct {
	g    *group
	doms []int32
	spot int32
	list []promise
}

// keepAll seats all pods that slots hold room for, if there is an order in which they can be bound.
func (d *decision) keepAll() bool {
	if len(d.held) == 0 || d.orders < 0 || !d.in.uses(orderSearch) {
		return false
	}
	kinds := d.heldAlike()
	s := &sequence{total: len(d.held), asks: &d.orders}
	for _, a := range kinds {
		s.left = append(s.left, len(a.list))
	}
	s.may = func(i int) bool { return d.stands(kinds[i].g, kinds[i].doms, false) }
	s.bind = func(i, n int) { d.tally(kinds[i].g, site{doms: kinds[i].doms, spot: kinds[i].spot}, n) }
	s.lead = func(i int) (int, int) {
		a := &kinds[i]
		return a.g.lead(a.doms, a.spot, func(x *term) int32 { return x.least(x.elig.doms[x.key], false) })
	}
	d.keeping = true
	found := s.find()
	d.keeping = false
	if !found {
		return false
	}
	for _, i := range s.order {
		d.keep(kinds[i].list[0])
		kinds[i].list = kinds[i].list[1:]
	}
	d.held = nil
	return true
}

// heldAlike puts planned pods together that are alike.
func (d *decision) heldAlike() []alikes {
	var out []alikes
	at := map[string]int{}
	for _, x := range d.held {
		d.domains(x.g, false)
		spot := d.slots[x.slot].spot
		doms := d.topo.spots[spot].doms
		b := strconv.AppendInt(nil, int64(x.g.rank), 10)
		for k, dom := range doms {
			if k != host || len(x.g.rules.host) > 0 || x.g.nearHost() {
				b = strconv.AppendInt(append(b, ' '), int64(dom), 10)
			}
		}
		for _, t := range x.g.matches {
			if t.elig != nil {
				b = strconv.AppendInt(append(b, '/'), int64(t.elig.spots[spot]), 10)
			}
		}
		i, ok := at[string(b)]
		if !ok {
			i = len(out)
			at[string(b)] = i
			out = append(out, alikes{g: x.g, doms: doms, spot: spot})
		}
		out[i].list = append(out[i].list, x)
	}
	return out
}

// lead says by how much a pod of the group would be ahead of the least, for spreads of others that count it there, and for its own: who
// is not ahead helps, who is may stand in the way. Those that look for their own like may have to be the first of it.
func (g *group) lead(doms []int32, spot int32, least func(*term) int32) (others, own int) {
	if g.near.self && !slices.ContainsFunc(g.near.terms, func(x *term) bool { return x.matched.total > 0 }) {
		return -2, 0
	}
	others = -1
	for _, x := range g.matches {
		if x.elig == nil || x.elig.spots[spot] == never || doms[x.key] < 0 {
			continue
		}
		dom := doms[x.key]
		ahead := int(x.matched.at(dom) + x.maybe.at(dom) - least(x))
		if g.owns(x) {
			own = max(own, ahead)
		} else {
			others = max(others, ahead)
		}
	}
	return others, own
}

// inSequence binds all units in some order, if it finds one.
func (p *proof) inSequence(all []unit) bool {
	if !p.d.in.uses(orderSearch) {
		return false
	}
	s := &sequence{asks: &p.d.orders}
	for _, u := range all {
		s.left = append(s.left, u.n)
		s.total += u.n
	}
	var marks []int
	s.may = func(i int) bool { return p.lets(all[i].g, all[i].spot) }
	s.bind = func(i, n int) {
		if n > 0 {
			marks = append(marks, len(p.d.undo.counts))
			p.bind(all[i].g, all[i].spot)
			return
		}
		p.back(marks[len(marks)-1])
		marks = marks[:len(marks)-1]
	}
	s.lead = func(i int) (int, int) {
		u := &all[i]
		return u.g.lead(p.d.topo.spots[u.spot].doms, u.spot, func(x *term) int32 { return p.low(&spreadRule{term: x}) })
	}
	if !s.find() {
		return false
	}
	for _, i := range s.order {
		p.bind(all[i].g, all[i].spot)
	}
	return true
}

// back takes back what was counted since there were so many counts.
func (p *proof) back(to int) {
	u := p.d.undo
	for _, c := range slices.Backward(u.counts[to:]) {
		c.t.add(c.dom, -c.n)
	}
	u.counts = u.counts[:to]
	for _, l := range p.lows {
		l.known = false
	}
}
