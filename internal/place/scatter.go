package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/held"
	"github.com/karpenter-aks/karpenter/internal/plan/leastalloc"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// scatter is where pods come to be when nobody tells kube-scheduler where they were planned. It puts each on the node that takes it and is the emptiest
// then (package leastalloc), in the order in which they come. Nodes are drained large pods first (package drain), so that
// is the order to expect. The worst is the other way round, where small pods take from large ones what room there is. It counts amounts and who may
// go where at all. Pods that are tied to machines are where the plan has them, those that are tied to zones stay in these.
type scatter struct {
	d *decision
	// per place: existing nodes, then machines that answers buy
	room  []vec.Vec
	queue leastalloc.Queue
	made  []offer.Made // machines that answers buy
	// items says which offering of a pool a key is.
	items map[*problem.NodePool]map[model.OfferingKey]int
	takes map[*problem.NodeConstraint]bitset.Set
	log   []landing // what the last question changed
	// from is the first place that the last question bought.
	from int
	// asked is set while the last question has landed, settled once those on the way have.
	asked, settled bool
	// looks counts places that were looked at for a pod.
	looks int
}

type landing struct {
	place int32
	size  vec.Vec
}

// crowd is pods that are alike and may go to the same places.
type crowd struct {
	of    *assign.Class
	size  vec.Vec
	form  *problem.NodeConstraint
	n     int
	exact int32              // the only place; -1 = any
	ties  topology.Relations // to others on the same machine
	keys  []int              // under which places must have these domains
	doms  []int32
}

// newScatter notes the room of existing nodes before any question; settle then lands who is on the way.
func newScatter(d *decision) *scatter {
	sc := &scatter{d: d, takes: map[*problem.NodeConstraint]bitset.Set{},
		items: map[*problem.NodePool]map[model.OfferingKey]int{}}
	for _, s := range d.Existing {
		sc.room = append(sc.room, s.Free.Clone())
	}
	for _, m := range d.Movers {
		sc.room[m.Slot].Take(m.Size, -1)
	}
	for i, s := range d.Existing {
		whole := amounts(s.Free)
		if n := d.World.Index.Node(s.Node); n != nil {
			whole = leastalloc.Amounts{n.Allocatable.CPU, n.Allocatable.Memory}
		}
		sc.queue.Add(whole, amounts(sc.room[i]))
	}
	sc.keep()
	return sc
}

// settle lands pods that wait, and those of nodes that are marked to leave. Whoever finds no place is
// left out: something is bought for it.
func (sc *scatter) settle(on map[string][]standing, nodes []string) {
	var list []crowd
	for _, name := range nodes {
		for _, st := range on[name] {
			if st.g.Constraint != nil {
				list = append(list, crowd{size: st.g.Size, form: st.g.Constraint, n: len(st.pods), exact: -1})
			}
		}
	}
	sc.land(list)
	sc.keep()
	sc.settled = true
}

// lands has the pods of the last question land when machines are bought so, and reports whether all find
// a place in the order to expect. worst are those that find none in the worst order, late those that find none where so many of a class only
// come in their turn as turn says, and the others when all else has a place.
func (sc *scatter) lands(buy []answer.NewClaim, turn held.Turn) (all bool, worst, late []crowd) {
	if sc.asked {
		sc.undo()
	}
	d := sc.d
	sc.asked = true
	first := int32(len(sc.room))
	for i := range d.Made {
		sc.open(&d.Made[i], buy[i].Options[0].Key)
	}
	var list []crowd
	for _, s := range d.Seats {
		if s.Slot >= 0 {
			list = append(list, sc.crowd(s.Class, s.Slot, s.N))
		}
	}
	for i := range d.Made {
		for _, l := range d.Made[i].Loads {
			list = append(list, sc.crowd(l.Class, first+int32(i), l.N))
		}
	}
	slices.SortStableFunc(list, func(a, b crowd) int {
		return cmp.Or(cmp.Compare(b.size[0], a.size[0]), cmp.Compare(b.size[1], a.size[1]))
	})
	late = lag(sc, list, turn)
	sc.recall()
	slices.Reverse(list)
	worst = sc.rush(list)
	sc.recall()
	slices.Reverse(list)
	return len(sc.land(list)) == 0, worst, late
}

// lag is land where disruption budgets hold some back: nobody keeps their places, and pods that are tied to zones may find others, too.
func lag(sc *scatter, list []crowd, turn held.Turn) (left []crowd) {
	list = slices.Clone(list)
	var last []crowd
	for i := range list {
		c := &list[i]
		if n := turn(c.of.Pods, c.n); n < c.n {
			late := *c
			late.n, c.n = c.n-n, n
			last = append(last, late)
		}
	}
	if last == nil {
		return nil
	}
	for _, c := range slices.Concat(list, last) {
		if !tied(c.of) {
			c.exact, c.keys = -1, nil
		}
		left = append(left, sc.rush([]crowd{c})...)
	}
	return left
}

// remedy is what machines cost at most for pods that found no place, within the limits of the pools: one for all of them, if they bear each
// other, or of the cheapest kind for each class. What leaves does not count in limits.
func (sc *scatter) remedy(left []crowd) model.Price {
	if len(left) == 0 {
		return 0
	}
	sum, each := left[0].size.Clone(), model.Price(0)
	clear(sum)
	var forms []*problem.NodeConstraint
	var ties topology.Relations
	for _, c := range left {
		ties.Join(c.ties, int32(c.n))
		sum.Take(c.size, -c.n)
		forms = append(forms, c.form)
		best := neverBought
		sc.d.sold([]*problem.NodeConstraint{c.form}, c.size, func(s *problem.NodePool, i int) {
			n := s.Room[i].Times(c.size, c.n)
			n = (c.n + n - 1) / n
			if s.Left.Times(s.Cost[i], n) == n {
				best = min(best, s.Offerings.Items[i].Offering.Price*model.Price(n))
			}
		})
		each = min(each+best, neverBought)
	}
	one := neverBought
	if slices.ContainsFunc(ties, func(r topology.Relation) bool { return r.Adds > r.Limit }) {
		return each
	}
	sc.d.sold(forms, sum, func(s *problem.NodePool, i int) {
		if s.Left.Covers(s.Cost[i]) {
			one = min(one, s.Offerings.Items[i].Offering.Price)
		}
	})
	return min(one, each)
}

// neverBought is the price of machines that are not on sale.
const neverBought = anyPrice / 4

// sold calls f with each machine on sale that all constraints accept and that holds so much.
func (d *decision) sold(forms []*problem.NodeConstraint, size vec.Vec, f func(s *problem.NodePool, i int)) {
	for _, s := range d.Pools {
		ok := d.AllowedOf(s, forms[0]).OK
		for _, c := range forms[1:] {
			ok = ok.And(d.AllowedOf(s, c).OK)
		}
		ok.Each(func(i int) {
			if s.Room[i].Covers(size) {
				f(s, i)
			}
		})
	}
}

// crowd is n pods of the class that were planned for the place.
func (sc *scatter) crowd(g *assign.Class, place int32, n int) crowd {
	c := crowd{of: g, size: g.Size, form: g.Constraint, n: n, exact: -1, ties: g.Host}
	switch {
	case tied(g):
		c.exact = place
	case g.Tied() && int(place) < len(sc.d.Existing):
		c.keys, c.doms = g.Keys, sc.doms(place)
	case g.Tied():
		c.exact = place
	}
	return c
}

// tied reports whether it matters to the pods who else is on their machine.
func tied(g *assign.Class) bool {
	return len(g.Host)+len(g.Ports)+len(g.Shared) > 0 || g.NearHost() || g.HostSpread()
}

func (sc *scatter) doms(place int32) []int32 {
	return sc.d.Topo.Spots[sc.d.Existing[place].Spot].Doms
}

// open adds a machine that is bought as the offering.
func (sc *scatter) open(m *offer.Made, key model.OfferingKey) {
	room := sc.roomOf(m.Pool, key).Clone()
	sc.made = append(sc.made, *m)
	sc.room = append(sc.room, room)
	sc.queue.Add(amounts(room), amounts(room))
}

// amounts are those that kube-scheduler looks at.
func amounts(v vec.Vec) leastalloc.Amounts { return leastalloc.Amounts{v[0], v[1]} }

// roomOf is the room of a machine of the pool.
func (sc *scatter) roomOf(s *problem.NodePool, key model.OfferingKey) vec.Vec {
	index, known := sc.items[s]
	if !known {
		index = make(map[model.OfferingKey]int, len(s.Offerings.Items))
		for i := range s.Offerings.Items {
			index[s.Offerings.Items[i].Offering.Key()] = i
		}
		sc.items[s] = index
	}
	return s.Room[index[key]]
}

// land puts the pods somewhere, those first that have no choice, and returns those that found no place.
func (sc *scatter) land(list []crowd) (left []crowd) {
	for _, c := range list {
		if c.exact >= 0 { // the plan was proven
			for range c.n {
				sc.put(c.exact, c.size)
			}
		}
	}
	for _, c := range list {
		if c.exact < 0 {
			c.n = sc.spread(&c)
			if c.n > 0 {
				left = append(left, c)
			}
		}
	}
	return left
}

// rush is land where pods that may go anywhere come first: others that are tied to a machine find their place taken. Whether they may go elsewhere is not asked.
func (sc *scatter) rush(list []crowd) (left []crowd) {
	for _, c := range list {
		if c.exact < 0 {
			c.n = sc.spread(&c)
			if c.n > 0 {
				left = append(left, c)
			}
		}
	}
	for _, c := range list {
		for ; c.exact >= 0 && c.n > 0 && sc.room[c.exact].Covers(c.size); c.n-- {
			sc.put(c.exact, c.size)
		}
		if c.exact >= 0 && c.n > 0 {
			left = append(left, c)
		}
	}
	return left
}

// spread puts pods that are alike on the emptiest places that take them, one after the other, and returns how many are left over.
func (sc *scatter) spread(c *crowd) int {
	var aside []int32
	left := c.n
	for left > 0 {
		at, any := sc.queue.Best(amounts(c.size))
		if !any {
			break
		}
		if sc.takesOne(c, at) {
			sc.put(at, c.size)
			left--
			continue
		}
		sc.queue.Remove(at)
		aside = append(aside, at)
	}
	for _, at := range aside {
		sc.queue.Offer(at)
	}
	return left
}

// takesOne reports whether the place takes one more of the pods.
func (sc *scatter) takesOne(c *crowd, at int32) bool {
	sc.looks++
	if !sc.room[at].Covers(c.size) {
		return false
	}
	if n := len(sc.d.Existing); int(at) >= n {
		m := &sc.made[int(at)-n]
		ok := sc.d.AllowedOf(m.Pool, c.form).OK
		return len(c.keys) == 0 && len(ok) > 0 && m.Deal.Items.Within(ok)
	}
	if sc.d.Existing[at].Free[0] < 0 || !sc.takers(c.form).Has(int(at)) {
		return false // it leaves, or will
	}
	doms := sc.doms(at)
	return !slices.ContainsFunc(c.keys, func(k int) bool { return k != topology.Host && doms[k] != c.doms[k] })
}

// takers is the existing nodes that take a constraint, size aside.
func (sc *scatter) takers(f *problem.NodeConstraint) bitset.Set {
	out, known := sc.takes[f]
	if !known {
		out = bitset.New(len(sc.d.Existing))
		for _, i := range sc.d.ExistingFor(f) {
			out.Add(int(i))
		}
		sc.takes[f] = out
	}
	return out
}

func (sc *scatter) put(at int32, size vec.Vec) {
	sc.room[at].Take(size, 1)
	sc.log = append(sc.log, landing{at, size})
	sc.queue.Set(at, amounts(sc.room[at]))
}

// keep lets what the last question changed stand.
func (sc *scatter) keep() { sc.log, sc.from, sc.asked = sc.log[:0], len(sc.room), false }

// recall takes the pods of the last question off their places.
func (sc *scatter) recall() {
	list := sc.log
	sc.log = sc.log[:0]
	for _, l := range list {
		sc.room[l.place].Take(l.size, -1)
	}
	for _, l := range list {
		sc.queue.Set(l.place, amounts(sc.room[l.place]))
	}
}

// undo takes back what the last question changed.
func (sc *scatter) undo() {
	sc.recall()
	sc.queue.Forget(sc.from)
	sc.room = sc.room[:sc.from]
	sc.made = sc.made[:sc.from-len(sc.d.Existing)]
	sc.keep()
}

// close leaves an existing node out for good: whoever asks on would look at each that is gone, and these are the emptiest.
func (sc *scatter) close(at int32) { sc.queue.Remove(at) }
