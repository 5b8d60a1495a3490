package place

// Pods that others want to be near are seated where they are cheapest, and who looks for them may not be able to go there: too large, another
// zone, a taint. Groups that so were left alone in one attempt are guests in the next: whoever they look for is seated where they can come too.

// lonesome notes groups of which pods are left over that look for pods of other groups, and reports whether it knew of some not.
func (d *decision) lonesome() bool {
	learnt := false
	for _, g := range d.groups {
		if g.why != "" || g.unseated() == 0 || len(g.near.terms) == 0 || d.alone[g.key] {
			continue
		}
		for _, o := range d.groups {
			if o != g && o.why == "" && d.wants(g, o) {
				remember(&d.next.alone, g.key, true)
				learnt = true
			}
		}
	}
	return learnt
}

// receive seats pods of the group where guests that look for it can come, as many as that takes.
func (d *decision) receive(g *group) {
	for _, guest := range d.groups {
		if guest == g || !d.alone[guest.key] || g.unseated() == 0 || guest.unseated() == 0 || !d.wants(guest, g) {
			continue
		}
		switch {
		case !guest.nearHost():
			d.receiveBeside(g, guest)
		case !g.nearHost():
			d.receiveOnSlots(g, guest)
			d.receiveOnNew(g, guest)
		}
	}
}

// receiveBeside seats one pod of the group in a domain that guests can go to, unless one is there.
func (d *decision) receiveBeside(g, guest *group) {
	opts, theirs := d.cellsFor(g, nil), d.cellsFor(guest, nil)
	near := guest.near
	guest.near = nearRule{} // where they look for, they are not yet
	var places [][]int32
	for i := range theirs {
		o := theirs[i]
		if _, ok := d.candidate(guest, &o); !ok {
			continue
		}
		places = append(places, o.c.doms)
	}
	guest.near = near
	joins := func(doms []int32) bool {
		for _, p := range places {
			same := true
			for _, x := range near.terms {
				same = same && p[x.key] >= 0 && p[x.key] == doms[x.key]
			}
			if same {
				return true
			}
		}
		return false
	}
	for i := range theirs {
		if joins(theirs[i].c.doms) && d.near(guest, theirs[i].c.doms, true) && d.present(guest) {
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

// receiveOnSlots seats pods of the group and guests together on what is paid for.
func (d *decision) receiveOnSlots(g, guest *group) {
	d.cellsFor(guest, nil)
	for _, o := range d.cellsFor(g, nil) {
		for _, at := range o.c.slots {
			if !d.slots[at].takes(guest.form) {
				continue
			}
			for g.unseated() > 0 && guest.unseated() > 0 && d.welcomes(at, g, guest) {
				d.sit(g, at, 1)
				doms := d.topo.spots[d.slots[at].spot].doms
				for guest.unseated() > 0 && d.slots[at].holds(guest, 1) > 0 && d.stands(guest, doms, false) && d.mayTake(guest, at) {
					d.sit(guest, at, 1)
				}
			}
		}
	}
}

// welcomes reports whether a slot takes a pod of the group, and then one of the guests.
func (d *decision) welcomes(at int32, g, guest *group) bool {
	s := d.slots[at]
	spot := s.spot
	doms := d.topo.spots[spot].doms
	if s.holds(g, 1) == 0 || !d.stands(g, doms, false) || !d.mayTake(g, at) || !d.mayTake(guest, at) {
		return false
	}
	d.reserve(g, at, 1)
	d.tally(g, doms, spot, 1)
	ok := s.holds(guest, 1) > 0 && d.stands(guest, doms, false)
	d.tally(g, doms, spot, -1)
	d.reserve(g, at, -1)
	return ok
}

// receiveOnNew has machines bought that hold one pod of the group each and as many guests as can be.
func (d *decision) receiveOnNew(g, guest *group) {
	for g.unseated() > 0 && guest.unseated() > 0 {
		opts, theirs := d.cellsFor(g, nil), d.cellsFor(guest, nil)
		best, most := -1, 0
		for i := range opts {
			o := &opts[i]
			if !o.offer.ok || !d.stands(g, o.c.doms, true) {
				continue
			}
			n := d.joining(g, guest, o.c, theirs)
			if n > most || n == most && n > 0 && o.offer.compare(opts[best].offer) < 0 {
				best, most = i, n
			}
		}
		if best < 0 {
			return
		}
		c := opts[best].c
		b := &bundle{of: g, c: c, form: c.pinned, size: g.size.clone(), members: []member{{g, c, 1}}}
		d.bundles = append(d.bundles, b)
		g.asked++
		d.noteSeat(seated{g, -1, c, 1})
		d.count(g, c.doms, unknown, 1)
		d.bundle(guest, theirs, b)
	}
}

// joining returns how many guests a machine in a cell of the group could hold beside one of its pods.
func (d *decision) joining(g, guest *group, c *cell, theirs []seatOption) int {
	d.tally(g, c.doms, unknown, 1)
	defer d.tally(g, c.doms, unknown, -1)
	b := &bundle{of: g, c: c, form: c.pinned, size: g.size, members: []member{{g, c, 1}}}
	_, n, _ := d.bestFor(guest, theirs, b)
	return n
}
