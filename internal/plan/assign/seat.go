// Package assign answers: how many pods of which class go where?
//
// Class after class, each pod goes to an existing node or is counted on a node to be bought in a topology domain. What is to be
// bought leaves as groups for packing. It does not choose machines.
package assign

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
)

// maxPasses bounds how often classes that could not go anywhere are asked again after others found their places.
const maxPasses = 8

// part is pods of one class that a machine has to be bought for, in one cell.
type part struct {
	g *Class
	c *Cell
	n int
	// as they were when the cell was chosen: with the preferences granted there
	host []topology.Relation
}

// SeatAll finds a place for every class: first for pods that are there, then for those that only stand for room.
func (d *Seating) SeatAll() {
	d.Journal.Mark()
	var real, virtual []*Class
	for _, g := range d.Classes {
		switch {
		case g.Why != "":
		case g.First().Virtual:
			virtual = append(virtual, g)
		default:
			real = append(real, g)
		}
	}
	d.seatMany(real)
	d.seatMany(virtual)
}

// seatMany finds a place for every class, one after the other: where it was planned, on capacity that is paid for, or in a cell where a
// machine can be bought. Classes that wait for others (affinity) are asked again.
func (d *Seating) seatMany(groups []*Class) {
	d.reserveRoom(groups)
	d.honourReservations(false)
	waiting := groups
	for range maxPasses {
		progress := false
		var again []*Class
		for _, g := range waiting {
			if d.Tired() {
				g.Cut = g.Unseated() > 0
				continue
			}
			before := g.Unseated() + len(d.held)
			d.seat(g)
			if len(d.held) > 0 {
				d.honourReservations(false)
			}
			progress = progress || g.Unseated()+len(d.held) < before
			if g.Unseated() > 0 && g.Tied() {
				again = append(again, g)
			}
			g.Cut = g.Unseated() > 0 && d.Tired()
		}
		if d.Tired() {
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

// option is one cell while a class is seated.
type seatOption struct {
	c      *Cell
	at     int // the existing node from which on one may still take a pod
	offer  offer
	cap    int // machines' worth of pods that may still be bought here
	bought int
}

// seat places as many pods of the class as the ties allow, with as many preferences granted as can be.
func (d *Seating) seat(g *Class) {
	if len(d.Alone) > 0 {
		d.receive(g)
	}
	if len(g.Preferences) == 0 {
		d.seatLevel(g)
		return
	}
	base := level{g.Constraint, g.Rules}
	levels := d.levels(g)
	for i, l := range levels {
		if g.Unseated() == 0 {
			break
		}
		if g.Constraint, g.Rules, g.plain = l.form, l.rules, nil; i < len(levels)-1 {
			g.plain = &base
		}
		d.seatLevel(g)
	}
	g.plain, g.Constraint, g.Rules = nil, base.form, base.rules
}

// seatLevel places pods of the class. Each goes to the best cell at its turn: what is paid for comes
// first, then the heavier pool, then the cheaper zone, then the emptier one.
func (d *Seating) seatLevel(g *Class) {
	opts := d.cellsFor(g, d.opts[:0])
	d.opts = opts
	if g.NearHost() {
		d.seatTogether(g, opts)
	} else {
		d.seatEach(g, opts)
	}
	for _, o := range opts {
		if o.bought > 0 {
			g.parts = append(g.parts, part{g, o.c, o.bought, g.Host})
		}
	}
}

// cellsFor lists the cells, in the room of opts, with what they offer to the class now.
func (d *desk) cellsFor(g *Class, opts []seatOption) []seatOption {
	for _, c := range d.cellsOf(g.Constraint, g.Keys).list {
		opts = append(opts, seatOption{c: c})
	}
	for i := range opts {
		c := opts[i].c
		opts[i].offer, opts[i].cap = d.cheapestIn(g, c), noCap
		if len(d.Caps) > 0 {
			if n, ok := d.Caps[problem.CapKey{Group: g.Key, At: c.Key()}]; ok {
				opts[i].cap = n - g.boughtIn(c)
			}
		}
		opts[i].offer.ok = opts[i].offer.ok && c.pinned != nil && opts[i].cap > 0
		if opts[i].offer.ok && g.Barred(c.doms) {
			opts[i].offer.ok, g.Kept = false, true
		}
		g.buys = g.buys || opts[i].offer.ok
	}
	g.Domains(true)
	return opts
}

// noCap stands for "as many as you like".
const noCap = 1 << 40

func (d *Seating) seatEach(g *Class, opts []seatOption) {
	for reset := false; g.Unseated() > 0; {
		best, slot := -1, int32(-1)
		for i := range opts {
			s, ok := d.candidate(g, &opts[i])
			if ok && (best < 0 || d.better(g, &opts[i], s >= 0, &opts[best], slot >= 0)) {
				best, slot = i, s
			}
		}
		if slot < 0 && reset && g.HostSpread() {
			// Where the least count rose, machines that were full may take more, and nothing is bought before
			// they have.
			for i := range opts {
				opts[i].at = 0
			}
			reset = false
			continue
		}
		if best < 0 {
			return
		}
		o := &opts[best]
		n := 1
		if slot >= 0 {
			if !g.Tied() {
				n = d.Existing[slot].Holds(&g.PodClass, g.Unseated())
			}
			d.sit(g, slot, n)
			d.honourReservations(false)
			reset = true
			continue
		}
		if g.plain != nil && d.paidFor(g) {
			return // no machine is bought for a preference while there is a place without
		}
		if len(opts) == 1 || !g.Tied() {
			n = g.Unseated()
			if len(g.Keys)+len(g.Joint) > 0 {
				n = 1
			}
		}
		n = min(n, o.cap)
		d.order(g, o, n)
	}
}

// order has machines bought for n pods of the class in a cell.
func (d *desk) order(g *Class, o *seatOption, n int) {
	o.bought, o.cap = o.bought+n, o.cap-n
	o.offer.ok = o.cap > 0
	g.Asked += n
	d.noteSeat(Seated{g, -1, o.c, n})
	d.Bind(&g.Class, o.c.site(), n)
}

// mayTake reports whether the existing node may take one more pod of the class, as far as earlier attempts know.
func (d *desk) mayTake(g *Class, slot int32) bool {
	if len(d.Caps) == 0 {
		return true
	}
	most, ok := d.Caps[problem.CapKey{Group: g.Key, At: problem.ExistingKey(d.Existing[slot])}]
	if !ok {
		return true
	}
	d.Toil(len(d.Seats) / problem.SeatsAsOne)
	for _, s := range d.Seats {
		if s.Class.Key == g.Key && s.Slot == slot {
			most -= s.N
		}
	}
	return most > 0
}

// noteSeat notes that pods found a place.
func (d *desk) noteSeat(s Seated) {
	if k := len(d.Seats) - 1; k >= 0 && d.Seats[k].Class == s.Class && d.Seats[k].Slot == s.Slot &&
		d.Seats[k].Cell == s.Cell {
		d.Seats[k].N += s.N
		return
	}
	d.Seats = append(d.Seats, s)
}

// paidFor reports whether the next pod of the class has a place on what is paid for, preferences aside.
func (d *desk) paidFor(g *Class) bool {
	plain := *g
	plain.Constraint, plain.Rules = g.plain.form, g.plain.rules
	opts := d.cellsFor(&plain, nil)
	return slices.ContainsFunc(opts, func(o seatOption) bool {
		slot, ok := d.candidate(&plain, &o)
		return ok && slot >= 0
	})
}

// candidate returns the existing node of the cell that would take the next pod, or -1 when one would have to be bought; ok is false when
// neither is possible.
func (d *desk) candidate(g *Class, o *seatOption) (int32, bool) {
	if len(g.Keys) > 0 && !d.regards(g, o.c.doms) {
		return -1, false // now; when others have been placed, perhaps
	}
	if !d.Toil(1) {
		return -1, false
	}
	for ; o.at < len(d.Existing) && !g.Anew; o.at++ {
		if o.at = d.Rooms.Next(max(o.at, g.From), g.Lean); o.at < 0 {
			o.at = len(d.Existing)
			break
		}
		if !o.c.has.Has(o.at) {
			continue
		}
		if !d.Toil(1) {
			return -1, false
		}
		i := int32(o.at)
		s := d.Existing[i]
		if s.Holds(&g.PodClass, 1) > 0 &&
			d.Allows(&g.Class, d.Topo.Spots[s.Spot].Doms, topology.There) && d.mayTake(g, i) {
			return i, true
		}
	}
	return -1, o.offer.ok && (len(g.Keys) > 0 || d.Allows(&g.Class, o.c.doms, topology.Fresh))
}

// Skip notes before which existing node none has room for a pod of the class. It is asked between questions: as long as room only gets less,
// all of them together look once along the nodes. O(log existing nodes) where nothing changed.
func (d *desk) Skip(g *Class) {
	if g.From = d.Rooms.Next(g.From, g.Lean); g.From < 0 {
		g.From = len(d.Existing)
	}
}

// SkipNone has all existing nodes be looked at again for the classes: some have more room than they had.
func SkipNone(classes []*Class) {
	for _, g := range classes {
		g.From = 0
	}
}

// sit nominates n pods of the class to an existing node.
func (d *desk) sit(g *Class, slot int32, n int) {
	d.sitAt(g, slot, n, d.SiteOf(d.Existing[slot]))
}

// sitAt is sit for who asked more closely about the node's site.
func (d *desk) sitAt(g *Class, slot int32, n int, at topology.Site) {
	s := d.Existing[slot]
	d.reserve(&g.PodClass, slot, n)
	d.noteSeat(Seated{g, slot, nil, n})
	d.Bind(&g.Class, at, n)
	for _, p := range g.take(n) {
		d.Plan.Existing = append(d.Plan.Existing,
			answer.Nomination{Pod: p.Key(), Node: s.Node, Claim: s.Claim})
	}
}
