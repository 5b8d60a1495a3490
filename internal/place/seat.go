package place

import "slices"

// maxPasses bounds how often groups that could not go anywhere are asked again after others found their places.
const maxPasses = 8

// part is pods of one group that a machine has to be bought for, in one cell.
type part struct {
	g    *seatClass
	c    *cell
	n    int
	host []relation // as they were when the cell was chosen: with the preferences granted there
}

// seatAll finds a place for every group: first for pods that are there, then for those that only stand for room.
func (d *seating) seatAll() {
	d.undo.mark()
	var real, virtual []*seatClass
	for _, g := range d.classes {
		switch {
		case g.why != "":
		case g.first().Virtual:
			virtual = append(virtual, g)
		default:
			real = append(real, g)
		}
	}
	d.seatMany(real)
	d.seatMany(virtual)
}

// seatMany finds a place for every group, one after the other: where it was planned, on capacity that is paid for, or in a cell where a
// machine can be bought. Groups that wait for others (affinity) are asked again.
func (d *seating) seatMany(groups []*seatClass) {
	d.reserveRoom(groups)
	d.honourReservations(false)
	waiting := groups
	for range maxPasses {
		progress := false
		var again []*seatClass
		for _, g := range waiting {
			if d.tired() {
				g.cut = g.unseated() > 0
				continue
			}
			before := g.unseated() + len(d.held)
			d.seat(g)
			if len(d.held) > 0 {
				d.honourReservations(false)
			}
			progress = progress || g.unseated()+len(d.held) < before
			if g.unseated() > 0 && g.tied() {
				again = append(again, g)
			}
			g.cut = g.unseated() > 0 && d.tired()
		}
		if d.tired() {
			break
		}
		waiting = again
		if progress && len(waiting) > 0 {
			continue
		}
		if !d.honourReservations(true) && !d.dropReservations() {
			return
		}
		waiting = groups
	}
	d.dropReservations()
}

// option is one cell while a group is seated.
type seatOption struct {
	c      *cell
	at     int // the existing node from which on one may still take a pod
	offer  offer
	cap    int // machines' worth of pods that may still be bought here
	bought int
}

// seat places as many pods of the group as the ties allow, with as many preferences granted as can be.
func (d *seating) seat(g *seatClass) {
	if len(d.alone) > 0 {
		d.receive(g)
	}
	if len(g.preferences) == 0 {
		d.seatLevel(g)
		return
	}
	base := level{g.constraint, g.rules}
	levels := d.levels(g)
	for i, l := range levels {
		if g.unseated() == 0 {
			break
		}
		if g.constraint, g.rules, g.plain = l.form, l.rules, nil; i < len(levels)-1 {
			g.plain = &base
		}
		d.seatLevel(g)
	}
	g.plain, g.constraint, g.rules = nil, base.form, base.rules
}

// seatLevel places pods of the group. Each goes to the best cell at its turn: what is paid for comes
// first, then the heavier pool, then the cheaper zone, then the emptier one.
func (d *seating) seatLevel(g *seatClass) {
	opts := d.cellsFor(g, d.opts[:0])
	d.opts = opts
	if g.nearHost() {
		d.seatTogether(g, opts)
	} else {
		d.seatEach(g, opts)
	}
	for _, o := range opts {
		if o.bought > 0 {
			g.parts = append(g.parts, part{g, o.c, o.bought, g.host})
		}
	}
}

// cellsFor lists the cells, in the room of opts, with what they offer to the group now.
func (d *desk) cellsFor(g *seatClass, opts []seatOption) []seatOption {
	for _, c := range d.cellsOf(g.constraint, g.keys).list {
		opts = append(opts, seatOption{c: c})
	}
	for i := range opts {
		c := opts[i].c
		opts[i].offer, opts[i].cap = d.cheapestIn(g, c), noCap
		if len(d.caps) > 0 {
			if n, ok := d.caps[capKey{g.key, c.key()}]; ok {
				opts[i].cap = n - g.boughtIn(c)
			}
		}
		opts[i].offer.ok = opts[i].offer.ok && c.pinned != nil && opts[i].cap > 0
		if opts[i].offer.ok && g.barred(c.doms) {
			opts[i].offer.ok, g.kept = false, true
		}
		g.buys = g.buys || opts[i].offer.ok
	}
	g.domains(true)
	return opts
}

// noCap stands for "as many as you like".
const noCap = 1 << 40

func (d *seating) seatEach(g *seatClass, opts []seatOption) {
	for reset := false; g.unseated() > 0; {
		best, slot := -1, int32(-1)
		for i := range opts {
			s, ok := d.candidate(g, &opts[i])
			if ok && (best < 0 || d.better(g, &opts[i], s >= 0, &opts[best], slot >= 0)) {
				best, slot = i, s
			}
		}
		if best < 0 {
			if !reset || !g.hostSpread() {
				return
			}
			// Where the least count rose, machines that were full may take more.
			for i := range opts {
				opts[i].at = 0
			}
			reset = false
			continue
		}
		o := &opts[best]
		n := 1
		if slot >= 0 {
			if !g.tied() {
				n = d.existing[slot].holds(&g.podClass, g.unseated())
			}
			d.sit(g, slot, n)
			d.honourReservations(false)
			reset = true
			continue
		}
		if g.plain != nil && d.paidFor(g) {
			return // no machine is bought for a preference while there is a place without
		}
		if len(opts) == 1 || !g.tied() {
			n = g.unseated()
			if len(g.keys)+len(g.joint) > 0 {
				n = 1
			}
		}
		n = min(n, o.cap)
		d.order(g, o, n)
	}
}

// order has machines bought for n pods of the group in a cell.
func (d *desk) order(g *seatClass, o *seatOption, n int) {
	o.bought, o.cap = o.bought+n, o.cap-n
	o.offer.ok = o.cap > 0
	g.asked += n
	d.noteSeat(seated{g, -1, o.c, n})
	d.count(&g.tiedClass, o.c.site(), n)
}

// mayTake reports whether the existing node may take one more pod of the group, as far as earlier attempts know.
func (d *desk) mayTake(g *seatClass, slot int32) bool {
	if len(d.caps) == 0 {
		return true
	}
	most, ok := d.caps[capKey{g.key, existingKey(d.existing[slot])}]
	if !ok {
		return true
	}
	d.toil(len(d.seats) / seatsAsOne)
	for _, s := range d.seats {
		if s.g == g && s.slot == slot {
			most -= s.n
		}
	}
	return most > 0
}

// noteSeat notes that pods found a place.
func (d *desk) noteSeat(s seated) {
	if k := len(d.seats) - 1; k >= 0 && d.seats[k].g == s.g && d.seats[k].slot == s.slot && d.seats[k].cell == s.cell {
		d.seats[k].n += s.n
		return
	}
	d.seats = append(d.seats, s)
}

// paidFor reports whether the next pod of the group has a place on what is paid for, preferences aside.
func (d *desk) paidFor(g *seatClass) bool {
	form, rules, among := g.constraint, g.rules, g.among
	g.constraint, g.rules, g.among = g.plain.form, g.plain.rules, nil
	defer func() { g.constraint, g.rules, g.among = form, rules, among }()
	opts := d.cellsFor(g, nil)
	return slices.ContainsFunc(opts, func(o seatOption) bool {
		slot, ok := d.candidate(g, &o)
		return ok && slot >= 0
	})
}

// candidate returns the existing node of the cell that would take the next pod, or -1 when one would have to be bought; ok is false when
// neither is possible.
func (d *desk) candidate(g *seatClass, o *seatOption) (int32, bool) {
	if len(g.keys) > 0 && !d.regards(g, o.c.doms) {
		return -1, false // now; when others have been placed, perhaps
	}
	if !d.toil(1) {
		return -1, false
	}
	for ; o.at < len(d.existing); o.at++ {
		if o.at = d.rooms.next(o.at, g.lean); o.at < 0 {
			o.at = len(d.existing)
			break
		}
		if !o.c.has.Has(o.at) {
			continue
		}
		if !d.toil(1) {
			return -1, false
		}
		i := int32(o.at)
		s := d.existing[i]
		if s.holds(&g.podClass, 1) > 0 && d.stands(&g.tiedClass, d.topo.spots[s.spot].doms, false) && d.mayTake(g, i) {
			return i, true
		}
	}
	return -1, o.offer.ok && (len(g.keys) > 0 || d.stands(&g.tiedClass, o.c.doms, true))
}

// sit nominates n pods of the group to an existing node.
func (d *desk) sit(g *seatClass, slot int32, n int) {
	s := d.existing[slot]
	d.reserve(&g.podClass, slot, n)
	d.noteSeat(seated{g, slot, nil, n})
	d.count(&g.tiedClass, d.siteOf(s), n)
	for _, p := range g.take(n) {
		d.plan.Existing = append(d.plan.Existing, Nomination{Pod: p.Key(), Node: s.node, Claim: s.claim})
	}
}
