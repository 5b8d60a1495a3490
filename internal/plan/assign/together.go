package assign

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// seatTogether places a class whose pods must share a machine with each other or with others.
func (d *bundling) seatTogether(g *Class, opts []seatOption) {
	// Where some are already, more may follow.
	for i := range opts {
		for _, at := range opts[i].c.slots {
			s := d.Existing[at]
			doms := d.Topo.Spots[s.Spot].Doms
			for g.Unseated() > 0 && s.Holds(&g.PodClass, 1) > 0 && g.Present() &&
				d.Allows(&g.Class, doms, topology.There) && d.mayTake(g, at) {
				d.sit(g, at, 1)
			}
		}
	}
	if g.Present() || g.Unseated() == 0 {
		d.follow(g, opts)
		return
	}
	if len(g.Near.Terms) > 0 && !g.Near.Self {
		return
	}
	// Nobody is anywhere: all of them on one machine, or as many as can be; on one that is there, if it holds no fewer than one to buy.
	slot, most := d.roomiest(g, opts)
	if _, n, _ := d.bestFor(g, opts, nil); most == 0 || n > most {
		d.bundle(g, opts, nil)
		return
	}
	doms := d.Topo.Spots[d.Existing[slot].Spot].Doms
	for g.Unseated() > 0 && d.Existing[slot].Holds(&g.PodClass, 1) > 0 &&
		d.Allows(&g.Class, doms, topology.There) && d.mayTake(g, slot) {
		d.sit(g, slot, 1)
	}
}

// roomiest returns the first existing node that holds most pods of the class, and how many that is.
func (d *bundling) roomiest(g *Class, opts []seatOption) (slot int32, most int) {
	for i := range opts {
		for _, at := range opts[i].c.slots {
			s := d.Existing[at]
			if n := min(s.Holds(&g.PodClass, g.Unseated()), d.together(g, nil)); n > most &&
				d.Allows(&g.Class, d.Topo.Spots[s.Spot].Doms, topology.There) &&
				d.mayTake(g, at) {
				slot, most = at, n
			}
		}
	}
	return slot, most
}

// follow joins the class to a pod that it wants to be near and that a machine will be bought for.
func (d *bundling) follow(g *Class, opts []seatOption) {
	whom := d.whom(g)
	for _, b := range d.sharing(whom) {
		if g.Unseated() == 0 {
			return
		}
		if slices.ContainsFunc(b.members, func(m Member) bool { return d.wants(g, m.Class) }) &&
			b.hasAll(g) {
			d.bundle(g, opts, b)
		}
	}
	if slices.ContainsFunc(g.Joint, func(x *topology.Term) bool {
		return x.Key == topology.Host && x.Matched.Total > 0
	}) {
		return
	}
	for _, o := range whom {
		for i := range o.parts {
			x := &o.parts[i]
			if g.Unseated() == 0 {
				return
			}
			if o == g || x.n == 0 || o.NearHost() || !d.wants(g, o) {
				continue
			}
			x.n--
			b := &bundle{
				of:      o,
				c:       x.c,
				form:    x.c.pinned,
				size:    o.Size.Clone(),
				members: []Member{{o, x.c, 1}},
			}
			d.Bundles = append(d.Bundles, b)
			d.bundle(g, opts, b)
		}
	}
}

// wants reports whether pods of o are what g has to share a machine with.
func (d *bundling) wants(g, o *Class) bool {
	for _, x := range g.Near.Terms {
		if !slices.Contains(o.Matches, x) {
			return false
		}
	}
	return true
}

// hasAll reports whether all that use volumes with the class that one machine will reach are in the bundle.
func (b *bundle) hasAll(g *Class) bool {
	return !slices.ContainsFunc(g.Joint, func(x *topology.Term) bool {
		n := int64(0)
		for _, m := range b.members {
			if slices.Contains(m.Class.Joint, x) {
				n += int64(m.N)
			}
		}
		return x.Key == topology.Host && n < x.Matched.Total+x.Held.Total
	})
}

// bundle is pods that must share one machine yet to be bought.
type bundle struct {
	of      *Class // whose pod came first
	c       *Cell
	form    *problem.NodeConstraint
	size    vec.Vec
	members []Member
	at      int // its place among the bundles, as soon as it is looked for
}

// Member is pods of one class that share a machine with others.
type Member struct {
	Class *Class
	Cell  *Cell
	N     int
}

// bundle puts as many pods of the class as a machine can hold onto one machine: that of onto, or a new one.
func (d *bundling) bundle(g *Class, opts []seatOption, onto *bundle) {
	best, most, with := d.bestFor(g, opts, onto)
	if best < 0 {
		return
	}
	b := onto
	if b == nil {
		b = &bundle{of: g, c: opts[best].c, size: make(vec.Vec, len(g.Size))}
		d.Bundles = append(d.Bundles, b)
	}
	b.form = with
	c, n := opts[best].c, 0
	for n < most && (n == 0 || d.regards(g, c.doms)) { // the first was asked about already
		d.Bind(&g.Class, topology.Site{Doms: c.doms, Spot: topology.Unknown, Form: with}, 1)
		n++
	}
	b.load(g, n)
	d.join(b, Member{g, c, n})
	g.Asked += n
	d.noteSeat(Seated{g, -1, c, n})
}

// bestFor returns the cell in which a machine holds most pods of the class, beside those of onto if that is not nil, how many that is, and what the
// machine must look like. The cell is -1 when there is none.
func (d *bundling) bestFor(
	g *Class,
	opts []seatOption,
	onto *bundle,
) (best, most int, with *problem.NodeConstraint) {
	best = -1
	for i := range opts {
		o := &opts[i]
		if !o.offer.ok || !d.regards(g, o.c.doms) {
			continue
		}
		f := o.c.pinned
		beside := &bundle{size: make(vec.Vec, len(g.Size))}
		if onto != nil {
			if f = d.Constraints.Merge(onto.form, f, onto.size); f == nil {
				continue
			}
			beside = &bundle{size: onto.size.Clone(), members: onto.members}
		}
		beside.attach(g)
		n := d.regarded(g, topology.Site{Doms: o.c.doms, Spot: topology.Unknown, Form: f},
			min(d.holds(f, beside.size, g), d.together(g, onto)))
		if n > most || n == most && n > 0 && best >= 0 && o.offer.compare(opts[best].offer) < 0 {
			best, most, with = i, n, f
		}
	}
	return best, most, with
}

// regarded returns how many of n pods of the class may be there, one after the other; the first was asked about already.
func (d *bundling) regarded(g *Class, at topology.Site, n int) int {
	if n < 2 || len(g.Spread) == 0 {
		return n
	}
	k := 1
	for d.Bind(&g.Class, at, 1); k < n && d.regards(g, at.Doms); k++ {
		d.Bind(&g.Class, at, 1)
	}
	d.Bind(&g.Class, at, -k)
	return k
}

// regards is stands for a machine to buy, but without affinity on that machine.
func (d *desk) regards(g *Class, doms []int32) bool {
	if !g.NearHost() {
		return d.Allows(&g.Class, doms, topology.Fresh)
	}
	keep := g.Near
	g.Near.Terms = slices.DeleteFunc(slices.Clone(keep.Terms), func(x *topology.Term) bool {
		return x.Key == topology.Host
	})
	ok := d.Allows(&g.Class, doms, topology.Fresh)
	g.Near = keep
	return ok
}

// holds returns how many pods of the class some offering holds beside base, which has their shared volumes, with as much choice as the pool asks for.
func (d *bundling) holds(f *problem.NodeConstraint, base vec.Vec, g *Class) int {
	most := 0
	for _, s := range d.Pools {
		most = max(most, s.Most(s.Affordable(d.AllowedOf(s, f)), base, g.Lean, g.Unseated()))
	}
	return most
}

// together returns how many pods of the class bear each other, and those of the bundle, on one machine. Those that the class looks for are there before
// it: how many they bear beside them does not matter any more.
func (d *bundling) together(g *Class, onto *bundle) int {
	var loads []Member
	if onto != nil {
		loads = onto.members
	}
	return capOf(g.Host, func(yield func([]topology.Relation, int)) {
		for _, m := range loads {
			rel := m.Class.Host
			if m.Class != g && len(g.Near.Terms) > 0 && len(m.Class.Anti) == 0 &&
				d.wants(g, m.Class) {
				rel = slices.Clone(rel)
				for i := range rel {
					rel[i].Limit = topology.NoBound
				}
			}
			yield(rel, m.N)
		}
	})
}

// capOf returns how many pods with relations may join others on one machine.
func capOf(rel []topology.Relation, others func(yield func([]topology.Relation, int))) int {
	best := noCap
	for _, r := range rel {
		n, limit := int32(0), r.Limit
		others(func(list []topology.Relation, k int) {
			for _, o := range list {
				if o.Term == r.Term {
					n += o.Adds * int32(k)
					limit = min(limit, o.Limit)
				}
			}
		})
		if r.Adds > 0 {
			best = min(best, int(max(0, limit-n)/r.Adds))
		} else if n > limit {
			best = 0
		}
	}
	return best
}

// PurchaseGroups turns what has to be bought into groups for packing: parts of groups, narrowed to their cells, and bundles.
func (d *Seating) PurchaseGroups() []*Group {
	var out []*Group
	var spare []Group
	taken := map[*Class]int{}
	carve := func(g *Class, n int) []*model.Pod {
		from := g.Next + taken[g]
		taken[g] += n
		return g.Pods[from : from+n]
	}
	for _, b := range d.Bundles {
		x := &Group{
			Constraint: b.form,
			Size:       b.size,
			Bundled:    true,
			Members:    b.members,
			Cell:       b.c,
			Of:         b.of,
		}
		for _, m := range b.members {
			x.Pods = append(x.Pods, carve(m.Class, m.N)...)
			x.Host.Join(m.Class.Host, int32(m.N))
			x.Priority = max(x.Priority, m.Class.Priority)
			x.Ahead, x.Leap = max(x.Ahead, m.Class.Ahead), max(x.Leap, m.Class.Leap)
		}
		// who came after those that it looks for may be more than they bear, as together knows; nobody else may join
		for i := range x.Host {
			x.Host[i].Limit = max(x.Host[i].Limit, x.Host[i].Adds)
		}
		out = append(out, x)
	}
	for _, g := range d.Classes {
		for _, p := range g.parts {
			if p.n == 0 {
				continue
			}
			if len(spare) == 0 {
				spare = make([]Group, problem.GroupsAtOnce)
			}
			x := &spare[0]
			spare = spare[1:]
			x.Pods, x.Constraint = carve(g, p.n), p.c.pinned
			x.Size, x.Lean, x.Shared = g.Size, g.Lean, g.Shared
			x.Host, x.Cell, x.Of, x.Turn = p.host, p.c, g, g.Turn
			out = append(out, x)
		}
	}
	for _, x := range out {
		if x.Lean == nil {
			x.Lean = x.Size
		}
	}
	slices.SortStableFunc(out, func(a, b *Group) int {
		return cmp.Or(a.Compare(b.Turn), cmp.Compare(b.Size[0], a.Size[0]),
			cmp.Compare(b.Size[1], a.Size[1]))
	})
	return out
}

// attach adds the volumes to the bundle's size that the class's pods share and that nobody in it brings.
func (b *bundle) attach(g *Class) {
	for _, m := range g.Shared {
		brings := func(o Member) bool {
			return slices.ContainsFunc(o.Class.Shared, func(x problem.Mount) bool {
				return x.ID == m.ID
			})
		}
		if !slices.ContainsFunc(b.members, brings) {
			b.size[m.Column]++
		}
	}
}

// load adds n pods of the class, who are not yet members, to the bundle's size.
func (b *bundle) load(g *Class, n int) {
	b.attach(g)
	b.size.Take(g.Lean, -n)
}
