package place

import "slices"

// agree has guests that must share a machine with those whom they look for tell places apart by the same keys: what one may not have under a key, the
// other may not either.
func (d *hosting) agree() {
	if len(d.alone) == 0 {
		return
	}
	for range maxTrail {
		changed := false
		for _, g := range d.classes {
			if !d.alone[g.key] || !g.nearHost() {
				continue
			}
			for _, o := range d.leaders(g) {
				keys := slices.Concat(g.keys, o.keys)
				slices.Sort(keys)
				keys = slices.Compact(keys)
				changed = changed || len(keys) > len(g.keys) || len(keys) > len(o.keys)
				g.keys, o.keys = keys, slices.Clone(keys)
			}
		}
		if !changed {
			return
		}
	}
}

// leaders lists the other groups whose pods the group looks for.
func (d *hosting) leaders(g *seatClass) (out []*seatClass) {
	for _, o := range d.whom(g) {
		if o != g && o.why == "" && d.wants(g, o) {
			out = append(out, o)
		}
	}
	return out
}

// maxTrail bounds how many groups that follow each other are looked at together.
const maxTrail = 16

// trail lists the guests and the guests that follow them onto their machine, and those that follow these, each behind one that it looks for.
func (d *hosting) trail(guests ...*seatClass) []*seatClass {
	out := slices.Clone(guests)
	for i := 0; i < len(out); i++ {
		for _, h := range d.classes {
			if d.alone[h.key] && h.nearHost() && h.unseated() > 0 && len(out) < maxTrail && !slices.Contains(out, h) && d.wants(h, out[i]) {
				out = append(out, h)
			}
		}
	}
	return out
}

// party lists the guests who have to be on the group's machine, and who follows them there.
func (d *hosting) party(g *seatClass) []*seatClass {
	var out []*seatClass
	for _, h := range d.classes {
		if h != g && d.alone[h.key] && h.nearHost() && h.unseated() > 0 && len(out) < maxTrail && d.wants(h, g) {
			out = append(out, h)
		}
	}
	return d.trail(out...)
}

// receive seats pods of the group where guests that look for it can come, as many as that takes.
func (d *hosting) receive(g *seatClass) {
	for _, guest := range d.classes {
		if guest == g || !d.alone[guest.key] || g.unseated() == 0 || guest.unseated() == 0 || !d.wants(guest, g) {
			continue
		}
		switch {
		case !guest.nearHost() && g.nearHost(): // who has to be on a machine of others goes where these are
		case !guest.nearHost():
			d.receiveBeside(g, guest)
		case !g.nearHost():
			if g.unseated() == 1 { // all have to come to this one
				party := d.party(g)
				d.receiveOnSlots(g, party, true)
				d.receiveOnNew(g, party, true)
			}
			d.receiveOnSlots(g, d.trail(guest), false)
			d.receiveOnNew(g, d.trail(guest), false)
		case d.present(&g.tiedClass):
			d.receiveOnSlots(g, d.trail(guest), false)
		}
	}
}

// receiveBeside seats one pod of the group in a domain that guests can go to, unless one is there.
func (d *hosting) receiveBeside(g, guest *seatClass) {
	opts, theirs := d.cellsFor(g, nil), d.cellsFor(guest, nil)
	near, places := guest.near, d.placesBeside(guest, g)
	joins := func(doms []int32) bool { return near.joined(doms, places) }
	for i := range theirs {
		if joins(theirs[i].c.doms) && guest.near.met(theirs[i].c.doms, true) && d.present(&guest.tiedClass) {
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
		g.parts = append(g.parts, part{g, opts[best].c, 1, g.host})
	}
}

// placesBeside lists the domains that pods of the group can go to, whoever they look for, and where those can join them that follow them, when other is
// placed already.
func (d *hosting) placesBeside(g, other *seatClass) [][]int32 {
	seen := []*seatClass{other}
	return d.places(g, &seen)
}

// places is placesBeside those who were seen. Each group is looked at once: those that look for each other would else be asked in every order.
func (d *hosting) places(g *seatClass, seen *[]*seatClass) [][]int32 {
	d.toil(1)
	near := g.near
	g.near = nearRule{} // where they look for, they are not yet
	var out [][]int32
	for _, o := range d.cellsFor(g, nil) {
		if _, ok := d.candidate(g, &o); ok {
			out = append(out, o.c.doms)
		}
	}
	g.near = near
	*seen = append(*seen, g)
	for _, h := range d.classes {
		if len(*seen) > maxTrail {
			break
		}
		if d.alone[h.key] && h.unseated() > 0 && !slices.Contains(*seen, h) && d.wants(h, g) {
			theirs := d.places(h, seen)
			out = slices.DeleteFunc(out, func(doms []int32) bool { return !h.near.joined(doms, theirs) })
		}
	}
	return out
}

// followed reports whether guests that look for the group in a domain can come to where it would be.
func (d *hosting) followed(g *seatClass, doms []int32) bool {
	return !slices.ContainsFunc(d.classes, func(h *seatClass) bool {
		return d.alone[h.key] && h.unseated() > 0 && h != g && !h.nearHost() && d.wants(h, g) && !h.near.joined(doms, d.placesBeside(h, g))
	})
}

// coming is how many pods of guests come at once: all, or one of them.
func (g *seatClass) coming(all bool) int {
	if all {
		return g.unseated()
	}
	return min(1, g.unseated())
}

// receiveOnSlots seats pods of the group and guests together on what is paid for: one of each who follow each other, or all of them, then more of the
// first guest.
func (d *hosting) receiveOnSlots(g *seatClass, guests []*seatClass, all bool) {
	guest := guests[0]
	for _, h := range guests {
		d.cellsFor(h, nil)
	}
	for _, o := range d.cellsFor(g, nil) {
		for _, at := range o.c.slots {
			if slices.ContainsFunc(guests, func(h *seatClass) bool { return !d.existing[at].takes(h.constraint) }) {
				continue
			}
			for g.unseated() > 0 && guest.unseated() > 0 && d.welcomes(at, g, guests, all) {
				d.sit(g, at, 1)
				for _, h := range guests {
					if n := h.coming(all); n > 0 {
						d.sit(h, at, n)
					}
				}
				doms := d.topo.spots[d.existing[at].spot].doms
				for guest.unseated() > 0 && d.existing[at].holds(&guest.podClass, 1) > 0 && d.stands(&guest.tiedClass, doms, false) && d.mayTake(guest, at) {
					d.sit(guest, at, 1)
				}
			}
		}
	}
}

// welcomes reports whether an existing node takes a pod of the group, and then one of each of the guests, or all of them.
func (d *hosting) welcomes(at int32, g *seatClass, guests []*seatClass, all bool) bool {
	s := d.existing[at]
	doms := d.topo.spots[s.spot].doms
	come := []*seatClass{g}
	for _, h := range guests {
		come = append(come, slices.Repeat([]*seatClass{h}, h.coming(all))...)
	}
	for _, h := range come {
		if s.holds(&h.podClass, 1) == 0 || !d.stands(&h.tiedClass, doms, false) || !d.mayTake(h, at) || !d.followed(h, doms) {
			return false
		}
		d.reserve(&h.podClass, at, 1)
		d.tally(&h.tiedClass, d.siteOf(s), 1)
		defer func() {
			d.tally(&h.tiedClass, d.siteOf(s), -1)
			d.reserve(&h.podClass, at, -1)
		}()
	}
	return true
}

// receiveOnNew has machines bought that hold one pod of the group each, one of each of the guests who follow each other, or all of them, and as many more of
// the first guest as can be.
func (d *hosting) receiveOnNew(g *seatClass, guests []*seatClass, all bool) {
	guest := guests[0]
	for g.unseated() > 0 && guest.unseated() > 0 {
		opts := d.cellsFor(g, nil)
		best, most := -1, 0
		for i := range opts {
			o := &opts[i]
			if !o.offer.ok || !d.stands(&g.tiedClass, o.c.doms, true) || !d.followed(g, o.c.doms) {
				continue
			}
			b := d.started(g, o.c)
			if d.board(b, guests, all) {
				if _, n, _ := d.bestFor(guest, d.cellsFor(guest, nil), b); best < 0 || n+1 > most || n+1 == most && o.offer.compare(opts[best].offer) < 0 {
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
			m.g.asked += m.n
			d.noteSeat(seated{m.g, -1, m.c, m.n})
		}
		d.bundles = append(d.bundles, b)
		d.bundle(guest, d.cellsFor(guest, nil), b)
	}
}

// started is a machine to be bought for one pod of the group, which is counted.
func (d *hosting) started(g *seatClass, c *cell) *bundle {
	d.count(&g.tiedClass, c.site(), 1)
	return &bundle{of: g, c: c, form: c.pinned, size: g.size.Clone(), members: []member{{g, c, 1}}}
}

// board puts one pod of each group that waits onto the machine, or all of them, and reports whether they can be there. They are counted as far as they
// can.
func (d *hosting) board(b *bundle, guests []*seatClass, all bool) bool {
	for _, h := range guests {
		n := h.coming(all)
		if n == 0 {
			continue
		}
		opts := slices.DeleteFunc(d.cellsFor(h, nil), func(o seatOption) bool { return !d.followed(h, o.c.doms) })
		best, most, with := d.bestFor(h, opts, b)
		if best < 0 || most < n {
			return false
		}
		c := opts[best].c
		d.count(&h.tiedClass, c.site(), n)
		b.load(h, n)
		b.form, b.members = with, append(b.members, member{h, c, n})
	}
	return true
}

// leave takes back what started and board counted.
func (d *hosting) leave(b *bundle) {
	for _, m := range b.members {
		d.count(&m.g.tiedClass, m.c.site(), -m.n)
	}
}
