package place

import (
	"cmp"
	"slices"
)

// greedy packs as users of Karpenter know it: pods from large to small, each onto the machine with the fewest pods that could still
// grow enough, else onto a new one of the first pool that takes it; at the end each machine becomes the cheapest that holds its load. It is
// the judge of our own packing, which must never be dearer.
//
// Machines stand in queues by what they may still become and by how many pods they have. Pods of one group go from queue to queue and ask
// nobody twice who refused, for free room only shrinks, and so does what ties bear; a queue is passed over whole when none of its
// machines can have the room.
type greedy struct {
	*packer
	lay     *layout
	order   []int // groups, large ones first
	least   []vec // per position in order: the least that any group from there on asks for, amount by amount
	limits  []vec
	turns   []int // sellers, as they are asked for new machines
	dearest []vec // per seller: the most that any of its choices takes from the limits
	breeds  []breed
	roots   []int // per seller: the breed of a new machine, -1 for none
	bins    []*open
	cursors []cursor
	stamp   int
	most    int    // pods on any machine
	judged  *draft // what is to be beaten
	// worth is what pods are worth at prices at which no machine holds more than it costs; in 1024ths of a micro-dollar. At such prices,
	// machines and the pods that have none yet cost at least floor.
	worth []int64
	floor int64
	lost  int // pods that nothing takes
}

// breed is machines of one pool that may still become the same.
type breed struct {
	seller int
	tops   []top    // per market that takes all their pods
	most   vec      // of each amount, what the roomiest has
	after  []int32  // per kind: 1 + the breed of a machine that took such a pod; 0 when nobody asked, -1 when they refuse it
	queues []*queue // by number of pods
}

// top is the roomiest machines of one market: rooms of which none covers another.
type top struct {
	market int32
	rooms  []vec
}

// open is a machine to which pods are still added. What it will be is decided at the end.
type open struct {
	loads       []load
	breed, pods int
	used        vec
	free        vec // what is left at most of each amount, whatever it becomes
	held        []held
	price       int64 // of the cheapest that would have held the load when that was asked last
	worth       int64 // of its pods
	stamp       int   // in its queue, those with higher ones come first
	left, right *open // in its queue
}

// held is what the pods of a machine count for one knot, and the least that they bear.
type held struct{ at, n, limit int32 }

// queue is open machines of one breed with one number of pods.
type queue struct {
	first, last *open
	most        vec // of each amount, at least what any of them has left
}

// cursor is where a walk through a queue is.
type cursor struct {
	queue *queue
	at    *open
	most  vec // of those that were passed
}

// greedy returns that packing; nil when the steps do not suffice, or as soon as it cannot end up better than rival. Prices are what pods are
// worth in the program of slices. O(pods + machines × choices), and visits to machines that have the one amount and not the other.
func (p *packer) greedy(want []int, prices []int64, rival *draft) *draft {
	g := p.opened(want, prices, rival)
	if g == nil {
		return nil
	}
	return p.settle(p.bought(g.bins), want)
}

// opened returns the machines that the packing opens; nil as greedy is.
func (p *packer) opened(want []int, prices []int64, rival *draft) *greedy {
	g := &greedy{packer: p, lay: p.arranged(want), limits: p.remaining(nil), judged: rival, worth: slices.Clone(prices)}
	for i, n := range want {
		if n > 0 {
			g.order = append(g.order, i)
			g.worth[i]-- // so that it is rounded down, even where it is next to nothing
			g.floor += int64(n) * g.worth[i]
		}
	}
	g.begin()
	for at, i := range g.order {
		if n := g.join(at, want[i]); n > 0 && !g.buy(at, n) {
			return nil
		}
		if p.steps < 0 {
			p.cut = true
			return nil
		}
	}
	return g
}

// begin puts the groups in order, and works out what new machines may become.
func (g *greedy) begin() {
	slices.SortStableFunc(g.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.sizes[b][0], g.sizes[a][0]), cmp.Compare(g.sizes[b][1], g.sizes[a][1]))
	})
	g.least = make([]vec, len(g.order))
	for at, i := range slices.Backward(g.order) {
		g.least[at] = g.sizes[i]
		if at+1 < len(g.order) && !g.least[at+1].covers(g.sizes[i]) {
			g.least[at] = g.least[at+1].clone()
			for r, v := range g.sizes[i] {
				g.least[at][r] = min(g.least[at][r], v)
			}
		} else if at+1 < len(g.order) {
			g.least[at] = g.sizes[i]
		}
	}
	for s := range g.limits {
		g.turns = append(g.turns, s)
		g.dearest = append(g.dearest, make(vec, len(g.limits[s])))
	}
	for i := range g.choices {
		d := g.dearest[g.choices[i].seller]
		for r, v := range g.choices[i].cost {
			d[r] = max(d[r], v)
		}
	}
	slices.SortFunc(g.turns, func(a, b int) int { // of equal weight, the last name comes first
		return cmp.Or(cmp.Compare(g.heavy(b), g.heavy(a)), cmp.Compare(b, a))
	})
	for s := range g.limits {
		g.roots = append(g.roots, -1)
		g.root(s)
	}
}

// heavy is the weight of a seller's pool; all have the same where only one tier is packed.
func (g *greedy) heavy(seller int) int {
	if g.weights == nil {
		return 0
	}
	return g.weights[seller]
}

// root works out what a new machine of the seller may become within its limits. O(choices × rooms).
func (g *greedy) root(seller int) {
	var tops []top
	for m := range g.lay.markets {
		var rooms []vec
		for _, ci := range slices.Backward(g.lay.markets[m].choices) {
			c := &g.choices[ci]
			if c.seller == seller && g.limits[seller].covers(c.cost) && !slices.ContainsFunc(rooms, func(v vec) bool { return v.covers(c.room) }) {
				rooms = append(slices.DeleteFunc(rooms, func(v vec) bool { return c.room.covers(v) }), c.room)
			}
		}
		if len(rooms) > 0 {
			tops = append(tops, top{int32(m), rooms})
		}
	}
	if len(tops) == 0 {
		g.roots[seller] = -1
		return
	}
	g.roots[seller] = g.breedOf(seller, tops)
}

// breedOf returns the breed of the seller's machines with these tops.
func (g *greedy) breedOf(seller int, tops []top) int {
	same := func(a, b top) bool {
		return a.market == b.market && slices.EqualFunc(a.rooms, b.rooms, func(v, w vec) bool { return slices.Equal(v, w) })
	}
	for i := range g.breeds {
		if g.breeds[i].seller == seller && slices.EqualFunc(g.breeds[i].tops, tops, same) {
			return i
		}
	}
	b := breed{seller: seller, tops: tops, most: make(vec, len(g.choices[0].room)), after: make([]int32, len(g.lay.takers))}
	for _, t := range tops {
		for _, room := range t.rooms {
			for r, v := range room {
				b.most[r] = max(b.most[r], v)
			}
		}
	}
	g.breeds = append(g.breeds, b)
	return len(g.breeds) - 1
}

// after returns the breed of a machine of breed b once it took a pod of group i; -1 when it does not.
func (g *greedy) after(b, i int) int {
	kind := g.kind[i]
	if g.breeds[b].after[kind] == 0 {
		tops := slices.DeleteFunc(slices.Clone(g.breeds[b].tops), func(t top) bool {
			return !g.takes(int(g.lay.markets[t.market].choices[0]), i)
		})
		to := int32(-1)
		switch len(tops) {
		case 0:
		case len(g.breeds[b].tops):
			to = int32(1 + b)
		default:
			to = int32(1 + g.breedOf(g.breeds[b].seller, tops))
		}
		g.breeds[b].after[kind] = to
	}
	if to := g.breeds[b].after[kind]; to > 0 {
		return int(to - 1)
	}
	return -1
}

// join puts pods onto machines that are open, fewest pods first, and returns how many remain.
func (g *greedy) join(at, n int) int {
	i := g.order[at]
	for pods := 1; pods <= g.most && n > 0; pods++ {
		g.cursors = g.cursors[:0]
		for b := range g.breeds {
			if pods >= len(g.breeds[b].queues) || g.after(b, i) < 0 {
				continue
			}
			if q := g.breeds[b].queues[pods]; q.first != nil && q.most.covers(g.sizes[i]) {
				g.cursors = append(g.cursors, cursor{q, q.first, make(vec, len(q.most))})
			}
		}
		n = g.walk(at, n)
	}
	return n
}

// walk puts pods onto the machines that the cursors stand before, in order, and returns how many remain.
func (g *greedy) walk(at, n int) int {
	for n > 0 {
		var c *cursor
		for i := range g.cursors {
			if x := &g.cursors[i]; x.at != nil && (c == nil || x.at.stamp > c.at.stamp) {
				c = x
			}
		}
		if c == nil {
			break
		}
		o := c.at
		c.at = o.right
		g.steps--
		if o.free.covers(g.sizes[g.order[at]]) && g.fits(o, g.order[at], 1) > 0 {
			c.queue.drop(o)
			g.put(o, g.order[at], 1)
			g.stand(o, at, true)
			n--
			continue
		}
		if !o.free.covers(g.least[at]) {
			c.queue.drop(o)
			g.close(o)
			continue
		}
		for r, v := range o.free {
			c.most[r] = max(c.most[r], v)
		}
	}
	for _, c := range g.cursors {
		if c.at == nil {
			copy(c.queue.most, c.most) // all of them were asked
		}
	}
	return n
}

// buy opens machines for n pods that none takes that is open. It is false when the packing cannot end up better than what is to be beaten.
func (g *greedy) buy(at, n int) bool {
	i := g.order[at]
	for n > 0 {
		o := &open{used: make(vec, len(g.sizes[i]))}
		k := 0
		for _, s := range g.turns {
			if o.breed = g.roots[s]; o.breed >= 0 {
				g.steps--
				k = g.fits(o, i, n)
			}
			if k > 0 {
				break
			}
		}
		if k == 0 {
			g.lost += n
			return g.lost <= g.judged.missed
		}
		o.free = g.breeds[o.breed].most.clone()
		g.put(o, i, k)
		n -= k
		g.bins = append(g.bins, o)
		g.charge(o)
		g.stand(o, at, k > 1)
		if g.steps < 0 || g.judged.missed == 0 && g.floor>>10 >= g.judged.price {
			return false
		}
	}
	return true
}

// charge counts a machine against the limits when it is opened: as the cheapest that holds what it was opened for.
func (g *greedy) charge(o *open) {
	s := g.breeds[o.breed].seller
	if len(g.limits[s]) == 0 {
		return
	}
	if g.weights != nil {
		g.limits[s].take(g.dearestOf(o), 1)
		g.root(s)
		return
	}
	if ci := g.cheapest(o.loads, g.limits); ci >= 0 {
		s = g.choices[ci].seller
		if g.limits[s].take(g.choices[ci].cost, 1); !g.limits[s].covers(g.dearest[s]) {
			g.root(s)
		}
	}
}

// dearestOf is the most that the machine may take from its seller's limits, whatever it becomes: so much do users' greedy count.
func (g *greedy) dearestOf(o *open) vec {
	need, s := g.packer.weight(o.loads), g.breeds[o.breed].seller
	most := make(vec, len(g.limits[s]))
	for ci := range g.choices {
		c := &g.choices[ci]
		if c.seller == s && c.room.covers(need) && g.limits[s].covers(c.cost) && g.suits(ci, o.loads) {
			for r, v := range c.cost {
				most[r] = max(most[r], v)
			}
		}
	}
	return most
}

// drop takes the machine out of the queue.
func (q *queue) drop(o *open) {
	if o.left == nil {
		q.first = o.right
	} else {
		o.left.right = o.right
	}
	if o.right == nil {
		q.last = o.left
	} else {
		o.right.left = o.left
	}
	o.left, o.right = nil, nil
}

// stand puts the machine into its queue, in front or behind, unless nothing that comes can fit any more.
func (g *greedy) stand(o *open, at int, front bool) {
	if !o.free.covers(g.least[at]) {
		g.close(o)
		return
	}
	b := &g.breeds[o.breed]
	for len(b.queues) <= o.pods {
		b.queues = append(b.queues, &queue{})
	}
	q := b.queues[o.pods]
	if q.first == nil {
		q.most = append(q.most[:0], o.free...)
	}
	for r, v := range o.free {
		q.most[r] = max(q.most[r], v)
	}
	g.stamp++
	o.stamp = g.stamp
	switch {
	case q.first == nil:
		q.first, q.last = o, o
	case front:
		o.right, q.first.left, q.first = q.first, o, o
	default:
		o.left, q.last.right, q.last = q.last, o, o
	}
	if !front {
		o.stamp = -g.stamp
	}
}

// close notes what a machine costs at least to which nothing is added any more.
func (g *greedy) close(o *open) {
	if ci := g.cheapest(o.loads, g.packer.limits); ci >= 0 {
		g.reckon(o, g.choices[ci].price, 0)
	}
}

// reckon keeps the floor up to date when a machine is found to cost a price, or gets pods of some worth: it costs at least what its pods are
// worth, and what the cheapest costs that would have held fewer of them.
func (g *greedy) reckon(o *open, price, worth int64) {
	g.floor -= max(o.price<<10, o.worth) + worth
	o.price, o.worth = max(o.price, price), o.worth+worth
	g.floor += max(o.price<<10, o.worth)
}

// fits returns how many of n pods of group i the machine could still take.
func (g *greedy) fits(o *open, i, n int) int {
	to := g.after(o.breed, i)
	if to < 0 {
		return 0
	}
	most := 0
	for _, t := range g.breeds[to].tops {
		for _, room := range t.rooms {
			if most < n {
				most = max(most, room.timesBeside(o.used, g.sizes[i], n))
			}
		}
	}
	if most == 0 {
		return 0
	}
	for _, t := range g.ties[i] {
		n, limit := int32(0), t.limit
		for _, h := range o.held {
			if h.at == t.at {
				n, limit = h.n, min(limit, h.limit)
			}
		}
		if t.adds > 0 {
			most = min(most, int(max(0, limit-n)/t.adds))
		} else if n > limit {
			return 0
		}
	}
	return most
}

// put adds k pods of group i.
func (g *greedy) put(o *open, i, k int) {
	if at := len(o.loads) - 1; at >= 0 && o.loads[at].group == i {
		o.loads[at].n += k
	} else {
		o.loads = append(o.loads, load{i, k})
	}
	o.pods += k
	g.most = max(g.most, o.pods)
	o.used.take(g.sizes[i], -k)
	g.reckon(o, 0, int64(k)*g.worth[i])
	if to := g.after(o.breed, i); to != o.breed {
		o.breed = to
		for r, v := range g.breeds[to].most {
			o.free[r] = v - o.used[r]
		}
	} else {
		o.free.take(g.sizes[i], k)
	}
	for _, t := range g.ties[i] {
		at := slices.IndexFunc(o.held, func(h held) bool { return h.at == t.at })
		if at < 0 {
			at = len(o.held)
			o.held = append(o.held, held{t.at, 0, t.limit})
		}
		o.held[at].n += t.adds * int32(k)
		o.held[at].limit = min(o.held[at].limit, t.limit)
	}
}

// bought turns open machines into the cheapest choices that hold their loads.
func (p *packer) bought(bins []*open) *draft {
	d := &draft{}
	limits := p.remaining(nil)
	for _, o := range bins {
		if ci := p.cheapest(o.loads, limits); ci >= 0 {
			limits[p.choices[ci].seller].take(p.choices[ci].cost, 1)
			slices.SortFunc(o.loads, func(a, b load) int { return cmp.Compare(a.group, b.group) })
			d.bins = append(d.bins, bin{ci, o.loads})
		}
	}
	return d
}
