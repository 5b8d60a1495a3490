package place

import (
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// A pool with minValues may have too few offerings in any one domain. Where it does not matter to pods in which of several domains they are, only who
// else is there, a machine that may turn out to be in any of them is as good: it counts in all.

// several and less stand for some domains at once; which, the topology knows.
const several = int32(-3)

// wide returns what stands for domains.
func (t *topology) wide(doms []int32) int32 {
	if len(doms) == 1 {
		return doms[0]
	}
	i := slices.IndexFunc(t.wides, func(w []int32) bool { return slices.Equal(w, doms) })
	if i < 0 {
		i = len(t.wides)
		t.wides = append(t.wides, doms)
	}
	return several - int32(i)
}

// each lists the domains that dom stands for; nil when it is a single one, or none.
func (t *topology) each(dom int32) []int32 {
	if dom > several {
		return nil
	}
	return t.wides[several-dom]
}

// wideCells adds cells of several domains, where pools are asked for more choice than any of their domains has.
func (d *decision) wideCells(g *group, opts []seatOption) []seatOption {
	if d.in.MinValues == BestEffort || !slices.ContainsFunc(d.sellers, func(s *seller) bool { return len(s.choosy) > 0 }) {
		return opts
	}
	var loose []int // positions among the keys
	for i, k := range g.keys {
		if !g.minds(k) {
			loose = append(loose, i)
		}
	}
	if len(loose) == 0 {
		return opts
	}
	cs := d.cellsOf(g.form, g.keys)
	done := map[string]bool{}
	for _, c := range cs.list {
		strict := slices.Clone(c.values)
		for _, i := range loose {
			strict[i] = ""
		}
		if at := strings.Join(strict, "\x00"); !done[at] {
			done[at] = true
			if w := d.wideCell(g, cs, strict, loose); w != nil {
				opts = append(opts, seatOption{c: w})
			}
		}
	}
	return opts
}

// minds reports whether it matters to the group's own spread or affinity in which domain of a key it is.
func (g *group) minds(key int) bool {
	return slices.ContainsFunc(g.spread, func(r spreadRule) bool { return r.term.key == key }) ||
		slices.ContainsFunc(g.near.terms, func(x *term) bool { return x.key == key }) ||
		slices.ContainsFunc(g.toward, func(x *term) bool { return x.key == key })
}

// wideCell is the cell of all domains under the loose keys that the group may be in now, the others as in strict; nil when it has no more to
// offer than single cells.
func (d *decision) wideCell(g *group, cs *cells, strict []string, loose []int) *cell {
	values := make([][]string, len(strict))
	want := make([]bool, len(d.sellers))
	for _, s := range d.sellers {
		want[s.id] = len(s.choosy) > 0
	}
	for _, c := range cs.list {
		if !d.widens(g, c, strict, loose) {
			continue
		}
		for i, v := range c.values {
			if !slices.Contains(values[i], v) {
				values[i] = append(values[i], v)
			}
		}
		for id, sold := range c.sold {
			want[id] = want[id] && (sold == nil || !d.sellers[id].varied(sold, g.size))
		}
	}
	w := &cell{has: newSet(len(d.slots)), doms: make([]int32, len(d.topo.keys)), sold: make([]set, len(d.sellers))}
	for k := range w.doms {
		w.doms[k] = unknown
	}
	var asks []model.Requirement
	for i, list := range values {
		if len(list) == 0 {
			return nil
		}
		slices.Sort(list)
		var doms []int32
		for _, v := range list {
			doms = append(doms, d.topo.dom(g.keys[i], v))
		}
		w.values, w.doms[g.keys[i]] = append(w.values, strings.Join(list, "|")), d.topo.wide(sorted(doms))
		asks = append(asks, model.Requirement{Key: d.topo.keys[g.keys[i]], Op: model.In, Values: list})
	}
	if old := cs.wide[w.key()]; old != nil {
		return old
	}
	remember(&cs.wide, w.key(), w)
	var terms []require.Set
	for _, t := range g.form.terms {
		if t = t.And(require.New(asks)); t.Impossible() == "" {
			terms = append(terms, t)
		}
	}
	if len(terms) == 0 {
		return w
	}
	w.pinned = d.forms.like(g.form, terms)
	for id, yes := range want {
		if yes {
			w.sold[id] = d.lotOf(d.sellers[id], w.pinned).ok
		}
	}
	return w
}

// widens reports whether a cell may be part of a wide one.
func (d *decision) widens(g *group, c *cell, strict []string, loose []int) bool {
	if c.pinned == nil {
		return false
	}
	for i, k := range g.keys {
		free := slices.Contains(loose, i)
		switch {
		case c.values[i] == "", !free && c.values[i] != strict[i]:
			return false
		case free && !d.permits(g, k, c.doms[k]):
			return false
		}
	}
	return true
}

// permits reports whether nobody who is in the domain refuses the group, or is refused by it.
func (d *decision) permits(g *group, key int, dom int32) bool {
	for _, x := range g.anti {
		if x.key == key && d.busy(&x.matched, &x.held, dom) {
			return false
		}
	}
	for _, x := range g.avoid {
		if x.key == key && x.matched.at(dom) > 0 {
			return false
		}
	}
	for _, x := range g.matches {
		if x.key == key && d.busy(&x.owners, &x.heldOwners, dom) {
			return false
		}
	}
	return true
}

// busy reports whether pods are counted in a domain, or in any of those that it stands for, or room is held for them there.
func (d *decision) busy(c, held *tally, dom int32) bool {
	if dom > several {
		return c.at(dom) > 0 || held != nil && d.heldFor(held, dom) > 0
	}
	return slices.ContainsFunc(d.topo.each(dom), func(one int32) bool { return d.busy(c, held, one) })
}

// tallyEach counts pods that the term picks on a machine in any of several domains, in which it may count.
func (d *decision) tallyEach(x *term, dom, n int32) {
	if x.near {
		d.undo.add(&x.matched, either, n) // somewhere
		return
	}
	to := &x.matched
	if x.elig != nil {
		to = &x.maybe
	}
	for _, one := range d.topo.each(dom) {
		d.undo.add(to, one, n)
	}
}
