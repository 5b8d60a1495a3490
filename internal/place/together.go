package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// seatTogether places a group whose pods must share a machine with each other or with others.
func (d *bundling) seatTogether(g *seatClass, opts []seatOption) {
	// Where some are already, more may follow.
	for i := range opts {
		for _, at := range opts[i].c.slots {
			s := d.existing[at]
			doms := d.topo.spots[s.spot].doms
			for g.unseated() > 0 && s.holds(&g.podClass, 1) > 0 && d.present(&g.tiedClass) && d.stands(&g.tiedClass, doms, false) && d.mayTake(g, at) {
				d.sit(g, at, 1)
			}
		}
	}
	if d.present(&g.tiedClass) || g.unseated() == 0 {
		d.follow(g, opts)
		return
	}
	if len(g.near.terms) > 0 && !g.near.self {
		return
	}
	// Nobody is anywhere: all of them on one machine, or as many as can be; on one that is there, if it holds no fewer than one to buy.
	slot, most := d.roomiest(g, opts)
	if _, n, _ := d.bestFor(g, opts, nil); most == 0 || n > most {
		d.bundle(g, opts, nil)
		return
	}
	for g.unseated() > 0 && d.existing[slot].holds(&g.podClass, 1) > 0 && d.stands(&g.tiedClass, d.topo.spots[d.existing[slot].spot].doms, false) && d.mayTake(g, slot) {
		d.sit(g, slot, 1)
	}
}

// roomiest returns the first existing node that holds most pods of the group, and how many that is.
func (d *bundling) roomiest(g *seatClass, opts []seatOption) (slot int32, most int) {
	for i := range opts {
		for _, at := range opts[i].c.slots {
			s := d.existing[at]
			if n := min(s.holds(&g.podClass, g.unseated()), d.together(g, nil)); n > most && d.stands(&g.tiedClass, d.topo.spots[s.spot].doms, false) && d.mayTake(g, at) {
				slot, most = at, n
			}
		}
	}
	return slot, most
}

// follow joins the group to a pod that it wants to be near and that a machine will be bought for.
func (d *bundling) follow(g *seatClass, opts []seatOption) {
	whom := d.whom(g)
	for _, b := range d.sharing(whom) {
		if g.unseated() == 0 {
			return
		}
		if slices.ContainsFunc(b.members, func(m member) bool { return d.wants(g, m.g) }) && b.hasAll(g) {
			d.bundle(g, opts, b)
		}
	}
	if slices.ContainsFunc(g.joint, func(x *term) bool { return x.key == host && x.matched.total > 0 }) {
		return
	}
	for _, o := range whom {
		for i := range o.parts {
			x := &o.parts[i]
			if g.unseated() == 0 {
				return
			}
			if o == g || x.n == 0 || o.nearHost() || !d.wants(g, o) {
				continue
			}
			x.n--
			b := &bundle{of: o, c: x.c, form: x.c.pinned, size: o.size.Clone(), members: []member{{o, x.c, 1}}}
			d.bundles = append(d.bundles, b)
			d.bundle(g, opts, b)
		}
	}
}

// wants reports whether pods of o are what g has to share a machine with.
func (d *bundling) wants(g, o *seatClass) bool {
	for _, x := range g.near.terms {
		if !slices.Contains(o.matches, x) {
			return false
		}
	}
	return true
}

// hasAll reports whether all that use volumes with the group that one machine will reach are in the bundle.
func (b *bundle) hasAll(g *seatClass) bool {
	return !slices.ContainsFunc(g.joint, func(x *term) bool {
		n := int64(0)
		for _, m := range b.members {
			if slices.Contains(m.g.joint, x) {
				n += int64(m.n)
			}
		}
		return x.key == host && n < x.matched.total+x.held.total
	})
}

// bundle is pods that must share one machine yet to be bought.
type bundle struct {
	of      *seatClass // whose pod came first
	c       *cell
	form    *nodeConstraint
	size    vec.Vec
	members []member
	at      int // its place among the bundles, as soon as it is looked for
}

type member struct {
	g *seatClass
	c *cell
	n int
}

// bundle puts as many pods of the group as a machine can hold onto one machine: that of onto, or a new one.
func (d *bundling) bundle(g *seatClass, opts []seatOption, onto *bundle) {
	best, most, with := d.bestFor(g, opts, onto)
	if best < 0 {
		return
	}
	b := onto
	if b == nil {
		b = &bundle{of: g, c: opts[best].c, size: make(vec.Vec, len(g.size))}
		d.bundles = append(d.bundles, b)
	}
	b.form = with
	c, n := opts[best].c, 0
	for n < most && (n == 0 || d.regards(g, c.doms)) { // the first was asked about already
		d.count(&g.tiedClass, site{c.doms, unknown, with}, 1)
		n++
	}
	b.load(g, n)
	d.join(b, member{g, c, n})
	g.asked += n
	d.noteSeat(seated{g, -1, c, n})
}

// bestFor returns the cell in which a machine holds most pods of the group, beside those of onto if that is not nil, how many that is, and what the
// machine must look like. The cell is -1 when there is none.
func (d *bundling) bestFor(g *seatClass, opts []seatOption, onto *bundle) (best, most int, with *nodeConstraint) {
	best = -1
	for i := range opts {
		o := &opts[i]
		if !o.offer.ok || !d.regards(g, o.c.doms) {
			continue
		}
		f := o.c.pinned
		beside := &bundle{size: make(vec.Vec, len(g.size))}
		if onto != nil {
			if f = d.constraints.merge(onto.form, f, onto.size); f == nil {
				continue
			}
			beside = &bundle{size: onto.size.Clone(), members: onto.members}
		}
		beside.attach(g)
		n := d.regarded(g, site{o.c.doms, unknown, f}, min(d.holds(f, beside.size, g), d.together(g, onto)))
		if n > most || n == most && n > 0 && best >= 0 && o.offer.compare(opts[best].offer) < 0 {
			best, most, with = i, n, f
		}
	}
	return best, most, with
}

// regarded returns how many of n pods of the group may be there, one after the other; the first was asked about already.
func (d *bundling) regarded(g *seatClass, at site, n int) int {
	if n < 2 || len(g.spread) == 0 {
		return n
	}
	k := 1
	for d.count(&g.tiedClass, at, 1); k < n && d.regards(g, at.doms); k++ {
		d.count(&g.tiedClass, at, 1)
	}
	d.count(&g.tiedClass, at, -k)
	return k
}

// regards is stands for a machine to buy, but without affinity on that machine.
func (d *desk) regards(g *seatClass, doms []int32) bool {
	if !g.nearHost() {
		return d.stands(&g.tiedClass, doms, true)
	}
	keep := g.near
	g.near.terms = slices.DeleteFunc(slices.Clone(keep.terms), func(x *term) bool { return x.key == host })
	ok := d.stands(&g.tiedClass, doms, true)
	g.near = keep
	return ok
}

// holds returns how many pods of the group some offering holds beside base, which has their shared volumes, with as much choice as the pool asks for.
func (d *bundling) holds(f *nodeConstraint, base vec.Vec, g *seatClass) int {
	most := 0
	for _, s := range d.pools {
		most = max(most, s.most(s.affordable(d.allowedOf(s, f)), base, g.lean, g.unseated()))
	}
	return most
}

// together returns how many pods of the group bear each other, and those of the bundle, on one machine. Those that the group looks for are there before
// it: how many they bear beside them does not matter any more.
func (d *bundling) together(g *seatClass, onto *bundle) int {
	var loads []member
	if onto != nil {
		loads = onto.members
	}
	return capOf(g.host, func(yield func([]relation, int)) {
		for _, m := range loads {
			rel := m.g.host
			if m.g != g && len(g.near.terms) > 0 && len(m.g.anti) == 0 && d.wants(g, m.g) {
				rel = slices.Clone(rel)
				for i := range rel {
					rel[i].limit = noBound
				}
			}
			yield(rel, m.n)
		}
	})
}

// capOf returns how many pods with relations may join others on one machine.
func capOf(rel []relation, others func(yield func([]relation, int))) int {
	best := noCap
	for _, r := range rel {
		n, limit := int32(0), r.limit
		others(func(list []relation, k int) {
			for _, o := range list {
				if o.term == r.term {
					n += o.adds * int32(k)
					limit = min(limit, o.limit)
				}
			}
		})
		if r.adds > 0 {
			best = min(best, int(max(0, limit-n)/r.adds))
		} else if n > limit {
			best = 0
		}
	}
	return best
}

// purchaseGroups turns what has to be bought into groups for packing: parts of groups, narrowed to their cells, and bundles.
func (d *seating) purchaseGroups() []*group {
	var out []*group
	var spare []group
	taken := map[*seatClass]int{}
	carve := func(g *seatClass, n int) []*model.Pod {
		from := g.next + taken[g]
		taken[g] += n
		return g.pods[from : from+n]
	}
	for _, b := range d.bundles {
		x := &group{key: b.of.key, constraint: b.form, size: b.size, bundled: true, members: b.members, cell: b.c, of: b.of}
		for _, m := range b.members {
			x.pods = append(x.pods, carve(m.g, m.n)...)
			x.host.join(m.g.host, int32(m.n))
			x.priority, x.ahead, x.leap = max(x.priority, m.g.priority), max(x.ahead, m.g.ahead), max(x.leap, m.g.leap)
		}
		for i := range x.host { // who came after those that it looks for may be more than they bear, as together knows; nobody else may join
			x.host[i].limit = max(x.host[i].limit, x.host[i].adds)
		}
		out = append(out, x)
	}
	for _, g := range d.classes {
		for _, p := range g.parts {
			if p.n == 0 {
				continue
			}
			if len(spare) == 0 {
				spare = make([]group, groupsAtOnce)
			}
			x := &spare[0]
			spare = spare[1:]
			x.key, x.pods, x.constraint, x.size, x.lean, x.shared = g.key, carve(g, p.n), p.c.pinned, g.size, g.lean, g.shared
			x.host, x.cell, x.of, x.turn = p.host, p.c, g, g.turn
			out = append(out, x)
		}
	}
	for _, x := range out {
		if x.lean == nil {
			x.lean = x.size
		}
	}
	slices.SortStableFunc(out, func(a, b *group) int {
		return cmp.Or(a.compare(b.turn), cmp.Compare(b.size[0], a.size[0]), cmp.Compare(b.size[1], a.size[1]))
	})
	return out
}

// attach adds the volumes to the bundle's size that the group's pods share and that nobody in it brings.
func (b *bundle) attach(g *seatClass) {
	for _, m := range g.shared {
		brings := func(o member) bool {
			return slices.ContainsFunc(o.g.shared, func(x mount) bool { return x.id == m.id })
		}
		if !slices.ContainsFunc(b.members, brings) {
			b.size[m.column]++
		}
	}
}

// load adds n pods of the group, who are not yet members, to the bundle's size.
func (b *bundle) load(g *seatClass, n int) {
	b.attach(g)
	b.size.Take(g.lean, -n)
}
