package assign

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/topology"
)

// agree has guests that must share a machine with those whom they look for tell places apart by the same keys: what one may not have under a key, the
// other may not either.
func (d *hosting) agree() {
	if len(d.Alone) == 0 {
		return
	}
	for range maxTrail {
		changed := false
		for _, g := range d.Classes {
			if !d.Alone[g.Key] || !g.NearHost() {
				continue
			}
			for _, o := range d.Leaders(g) {
				keys := slices.Concat(g.Keys, o.Keys)
				slices.Sort(keys)
				keys = slices.Compact(keys)
				changed = changed || len(keys) > len(g.Keys) || len(keys) > len(o.Keys)
				g.Keys, o.Keys = keys, slices.Clone(keys)
			}
		}
		if !changed {
			return
		}
	}
}

// Leaders lists the other classes whose pods the class looks for.
func (d *hosting) Leaders(g *Class) (out []*Class) {
	for _, o := range d.whom(g) {
		if o != g && o.Why == "" && d.wants(g, o) {
			out = append(out, o)
		}
	}
	return out
}

// maxTrail bounds how many classes that follow each other are looked at together.
const maxTrail = 16

// trail lists the guests and the guests that follow them onto their machine, and those that follow these, each behind one that it looks for.
func (d *hosting) trail(guests ...*Class) []*Class {
	out := slices.Clone(guests)
	for i := 0; i < len(out); i++ {
		for _, h := range d.Classes {
			if d.Alone[h.Key] && h.NearHost() && h.Unseated() > 0 && len(out) < maxTrail &&
				!slices.Contains(out, h) &&
				d.wants(h, out[i]) {
				out = append(out, h)
			}
		}
	}
	return out
}

// party lists the guests who have to be on the class's machine, and who follows them there.
func (d *hosting) party(g *Class) []*Class {
	var out []*Class
	for _, h := range d.Classes {
		if h != g && d.Alone[h.Key] && h.NearHost() && h.Unseated() > 0 && len(out) < maxTrail &&
			d.wants(h, g) {
			out = append(out, h)
		}
	}
	return d.trail(out...)
}

// receive seats pods of the class where guests that look for it can come, as many as that takes.
func (d *hosting) receive(g *Class) {
	for _, guest := range d.Classes {
		if guest == g || !d.Alone[guest.Key] || g.Unseated() == 0 || guest.Unseated() == 0 ||
			!d.wants(guest, g) {
			continue
		}
		switch {
		// who has to be on a machine of others goes where these are
		case !guest.NearHost() && g.NearHost():
		case !guest.NearHost():
			d.receiveBeside(g, guest)
		case !g.NearHost():
			if g.Unseated() == 1 { // all have to come to this one
				party := d.party(g)
				d.receiveOnSlots(g, party, true)
				d.receiveOnNew(g, party, true)
			}
			d.receiveOnSlots(g, d.trail(guest), false)
			d.receiveOnNew(g, d.trail(guest), false)
		case g.Present():
			d.receiveOnSlots(g, d.trail(guest), false)
		}
	}
}

// receiveBeside seats one pod of the class in a domain that guests can go to, unless one is there.
func (d *hosting) receiveBeside(g, guest *Class) {
	opts, theirs := d.cellsFor(g, nil), d.cellsFor(guest, nil)
	near, places := guest.Near, d.placesBeside(guest, g)
	joins := func(doms []int32) bool { return near.Joined(doms, places) }
	for i := range theirs {
		if joins(theirs[i].c.doms) && guest.Near.Met(theirs[i].c.doms, true) &&
			guest.Present() {
			return
		}
	}
	best, slot := -1, int32(-1)
	for i := range opts {
		if !joins(opts[i].c.doms) {
			continue
		}
		s, ok := d.candidate(g, &opts[i])
		if ok && (best < 0 || d.better(g, &opts[i], s >= 0, &opts[best], slot >= 0)) {
			best, slot = i, s
		}
	}
	switch {
	case best < 0:
	case slot >= 0:
		d.sit(g, slot, 1)
	default:
		d.order(g, &opts[best], 1)
		g.parts = append(g.parts, part{g, opts[best].c, 1, g.Host})
	}
}

// placesBeside lists the domains that pods of the class can go to, whoever they look for, and where those can join them that follow them, when other is
// placed already.
func (d *hosting) placesBeside(g, other *Class) [][]int32 {
	seen := []*Class{other}
	return d.places(g, &seen)
}

// places is placesBeside those who were seen. Each class is looked at once: those that look for each other would else be asked in every order.
func (d *hosting) places(g *Class, seen *[]*Class) [][]int32 {
	d.Toil(1)
	near := g.Near
	g.Near = topology.NearRule{} // where they look for, they are not yet
	var out [][]int32
	for _, o := range d.cellsFor(g, nil) {
		if _, ok := d.candidate(g, &o); ok {
			out = append(out, o.c.doms)
		}
	}
	g.Near = near
	*seen = append(*seen, g)
	for _, h := range d.Classes {
		if len(*seen) > maxTrail {
			break
		}
		if d.Alone[h.Key] && h.Unseated() > 0 && !slices.Contains(*seen, h) && d.wants(h, g) {
			theirs := d.places(h, seen)
			out = slices.DeleteFunc(out, func(doms []int32) bool {
				return !h.Near.Joined(doms, theirs)
			})
		}
	}
	return out
}

// followed reports whether guests that look for the class in a domain can come to where it would be.
func (d *hosting) followed(g *Class, doms []int32) bool {
	return !slices.ContainsFunc(d.Classes, func(h *Class) bool {
		return d.Alone[h.Key] && h.Unseated() > 0 && h != g && !h.NearHost() && d.wants(h, g) &&
			!h.Near.Joined(doms, d.placesBeside(h, g))
	})
}

// coming is how many pods of guests come at once: all, or one of them.
func (g *Class) coming(all bool) int {
	if all {
		return g.Unseated()
	}
	return min(1, g.Unseated())
}

// receiveOnSlots seats pods of the class and guests together on what is paid for: one of each who follow each other, or all of them, then more of the
// first guest.
func (d *hosting) receiveOnSlots(g *Class, guests []*Class, all bool) {
	guest := guests[0]
	for _, h := range guests {
		d.cellsFor(h, nil)
	}
	for _, o := range d.cellsFor(g, nil) {
		for _, at := range o.c.slots {
			if slices.ContainsFunc(guests, func(h *Class) bool {
				return !d.Existing[at].Takes(h.Constraint)
			}) {
				continue
			}
			for g.Unseated() > 0 && guest.Unseated() > 0 && d.welcomes(at, g, guests, all) {
				d.sit(g, at, 1)
				for _, h := range guests {
					if n := h.coming(all); n > 0 {
						d.sit(h, at, n)
					}
				}
				doms := d.Topo.Spots[d.Existing[at].Spot].Doms
				for guest.Unseated() > 0 && d.Existing[at].Holds(&guest.PodClass, 1) > 0 &&
					d.Allows(&guest.Class, doms, topology.There) && d.mayTake(guest, at) {
					d.sit(guest, at, 1)
				}
			}
		}
	}
}

// welcomes reports whether an existing node takes a pod of the class, and then one of each of the guests, or all of them.
func (d *hosting) welcomes(at int32, g *Class, guests []*Class, all bool) bool {
	s := d.Existing[at]
	doms := d.Topo.Spots[s.Spot].Doms
	come := []*Class{g}
	for _, h := range guests {
		come = append(come, slices.Repeat([]*Class{h}, h.coming(all))...)
	}
	for _, h := range come {
		if s.Holds(&h.PodClass, 1) == 0 || !d.Allows(&h.Class, doms, topology.There) ||
			!d.mayTake(h, at) || !d.followed(h, doms) {
			return false
		}
		d.reserve(&h.PodClass, at, 1)
		d.Tally(&h.Class, d.SiteOf(s), 1)
		defer func() {
			d.Tally(&h.Class, d.SiteOf(s), -1)
			d.reserve(&h.PodClass, at, -1)
		}()
	}
	return true
}

// receiveOnNew has machines bought that hold one pod of the class each, one of each of the guests who follow each other, or all of them, and as many more of
// the first guest as can be.
func (d *hosting) receiveOnNew(g *Class, guests []*Class, all bool) {
	guest := guests[0]
	for g.Unseated() > 0 && guest.Unseated() > 0 {
		opts := d.cellsFor(g, nil)
		best, most := -1, 0
		for i := range opts {
			o := &opts[i]
			if !o.offer.ok || !d.Allows(&g.Class, o.c.doms, topology.Fresh) ||
				!d.followed(g, o.c.doms) {
				continue
			}
			b := d.started(g, o.c)
			if d.board(b, guests, all) {
				if _, n, _ := d.bestFor(guest, d.cellsFor(guest, nil), b); best < 0 || n+1 > most ||
					n+1 == most && o.offer.compare(opts[best].offer) < 0 {
					best, most = i, n+1
				}
			}
			d.leave(b)
		}
		if best < 0 {
			return
		}
		b := d.started(g, opts[best].c)
		d.board(b, guests, all)
		for _, m := range b.members {
			m.Class.Asked += m.N
			d.noteSeat(Seated{m.Class, -1, m.Cell, m.N})
		}
		d.Bundles = append(d.Bundles, b)
		d.bundle(guest, d.cellsFor(guest, nil), b)
	}
}

// started is a machine to be bought for one pod of the class, which is counted.
func (d *hosting) started(g *Class, c *Cell) *bundle {
	d.Bind(&g.Class, c.site(), 1)
	return &bundle{of: g, c: c, form: c.pinned, size: g.Size.Clone(), members: []Member{{g, c, 1}}}
}

// board puts one pod of each class that waits onto the machine, or all of them, and reports whether they can be there. They are counted as far as they
// can.
func (d *hosting) board(b *bundle, guests []*Class, all bool) bool {
	for _, h := range guests {
		n := h.coming(all)
		if n == 0 {
			continue
		}
		opts := slices.DeleteFunc(d.cellsFor(h, nil), func(o seatOption) bool {
			return !d.followed(h, o.c.doms)
		})
		best, most, with := d.bestFor(h, opts, b)
		if best < 0 || most < n {
			return false
		}
		c := opts[best].c
		d.Bind(&h.Class, c.site(), n)
		b.load(h, n)
		b.form, b.members = with, append(b.members, Member{h, c, n})
	}
	return true
}

// leave takes back what started and board counted.
func (d *hosting) leave(b *bundle) {
	for _, m := range b.members {
		d.Bind(&m.Class.Class, m.Cell.site(), -m.N)
	}
}
