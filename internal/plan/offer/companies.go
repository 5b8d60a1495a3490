package offer

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// bulk is how many amounts, cpu and memory, make a machine large: what else it has matters to few pods.
const bulk = 2

// companies finds, for choices of one pool and flavour, who else holds what they are filled with.
type companies struct {
	pool seller
	// peers are those first that take least of the limits.
	peers   []peer
	circles map[string]*circle
	// What the one being worked on is.
	lossy      []mate
	bulky      bool // of nobody was more lost than of the bulk
	room, over vec.Vec
	left, more vec.Vec
	cost       vec.Vec
	takes      bitset.Set
	items      []int
}

// peer is offerings that are alike but for their price and their values; the cheapest comes first.
type peer struct {
	items  []int
	room   vec.Vec
	mask   bitset.Set // the node constraints that it accepts
	circle *circle
}

// circle is who may join peers that accept certain node constraints, by place: those that accept all of these, and those that accept some.
type circle struct{ all, some []int }

// mate is a peer that may join, by place, and the part of the machine that is lost if it does.
type mate struct {
	at   int
	loss float64
}

func (m mate) before(o mate) bool { return m.loss < o.loss || m.loss == o.loss && m.at < o.at }

// companies sorts the offerings that are accepted by somebody.
func (s seller) companies(masks []bitset.Set) *companies {
	x := &companies{pool: s, circles: map[string]*circle{}}
	t := s.Variety()
	at := map[string]int{}
	var text []byte
	for i, m := range masks {
		if m == nil {
			continue
		}
		text = text[:0]
		for _, amounts := range []vec.Vec{s.Room[i], s.Taken[i], s.Cost[i]} {
			for _, v := range amounts {
				text = binary.AppendVarint(text, v)
			}
		}
		for _, w := range m {
			text = binary.LittleEndian.AppendUint64(text, w)
		}
		n, known := at[string(text)]
		if !known {
			at[string(text)] = len(x.peers)
			x.peers = append(x.peers, peer{items: []int{i}, room: s.Room[i], mask: m})
			continue
		}
		p := &x.peers[n]
		if last := p.items[len(p.items)-1]; !t.Same(i, last) &&
			(s.Offerings.Items[i].TypeNo != s.Offerings.Items[last].TypeNo ||
				!slices.ContainsFunc(p.items, func(j int) bool { return t.Same(i, j) })) {
			p.items = append(p.items, i)
		}
	}
	slices.SortStableFunc(x.peers, func(a, b peer) int {
		return slices.Compare(s.Cost[a.items[0]], s.Cost[b.items[0]])
	})
	return x
}

// inCompany is kinds of a pool with minValues: what each offering may be filled with, such that enough other offerings hold it too: once
// with an eye on all amounts, and once on the bulk where that may be had for less.
func (s seller) inCompany(like choice, masks []bitset.Set) []choice {
	x := s.companies(masks)
	var out []choice
	for n := range x.peers {
		p := &x.peers[n]
		beaten := func(o choice) bool {
			return o.Room.Covers(p.room) && p.mask.Within(o.Takes) &&
				s.Cost[p.items[0]].Covers(o.Cost) &&
				o.Price <= int64(s.Offerings.Items[p.items[0]].Offering.Price)
		}
		if slices.ContainsFunc(out[max(0, len(out)-lookBack):], beaten) {
			continue
		}
		for _, most := range []int{len(p.room), bulk} {
			c, ok := x.diverse(n, like, most)
			if ok {
				out = append(out, c)
			}
			if x.bulky || ok && slices.Equal(c.Room, p.room) &&
				slices.Equal(c.Cost, s.Cost[p.items[0]]) && p.mask.Within(c.Takes) {
				break // an eye on the bulk sees the same, or nothing was lost
			}
		}
	}
	return out
}

// circleOf lists who may join a peer.
func (x *companies) circleOf(p *peer) *circle {
	if p.circle != nil {
		return p.circle
	}
	var text []byte
	for _, w := range p.mask {
		text = binary.LittleEndian.AppendUint64(text, w)
	}
	c := x.circles[string(text)]
	if c == nil {
		c = &circle{}
		x.circles[string(text)] = c
		for at := range x.peers {
			switch m := x.peers[at].mask; {
			case p.mask.Within(m):
				c.all = append(c.all, at)
			case p.mask.Meets(m):
				c.some = append(c.some, at)
			}
		}
	}
	p.circle = c
	return c
}

// diverse shrinks what machines of the peer may be filled with until enough other offerings hold it too to meet minValues: the
// room is what the smallest of a company of offerings leaves beside the most that daemons take on any of them, only groups
// that all accept count, and the limits must bear the largest. Those join first that lose least of the amounts, of which the first most are looked
// at. It is false when no company is enough. O(peers + company × log peers).
func (x *companies) diverse(n int, c choice, most int) (choice, bool) {
	p := &x.peers[n]
	s, t, first := x.pool, x.pool.Variety(), p.items[0]
	x.room, x.over = append(x.room[:0], p.room...), append(x.over[:0], s.Taken[first]...)
	x.cost = append(x.cost[:0], s.Cost[first]...)
	x.items = append(x.items[:0], first)
	x.takes = p.mask
	t.Add(first)
	near := x.circleOf(p)
	s.Setup += 1 + (len(near.all)+len(near.some))/problem.PeersAsOne
	own, _ := slices.BinarySearch(near.all, n)
	x.lossy, x.bulky = x.lossy[:0], true
	// what comes after it is as large for the most part: nothing is lost
	for _, part := range [][]int{near.all[own:], near.all[:own]} {
		for _, at := range part {
			if t.Full() {
				break
			}
			if loss := x.loss(p, at, most); loss > 0 {
				x.lossy = append(x.lossy, mate{at, loss})
			} else {
				x.join(t, at)
			}
		}
	}
	for _, from := range [][]int{nil, near.some} {
		if t.Full() {
			break
		}
		for _, at := range from {
			x.lossy = append(x.lossy,
				mate{at, x.loss(p, at, most) + float64(p.mask.Lacks(x.peers[at].mask))})
		}
		for n := len(x.lossy)/2 - 1; n >= 0; n-- {
			sink(x.lossy, n)
		}
		for len(x.lossy) > 0 && !t.Full() {
			x.join(t, x.lossy[0].at)
			last := len(x.lossy) - 1
			x.lossy[0] = x.lossy[last]
			x.lossy = x.lossy[:last]
			sink(x.lossy, 0)
		}
	}
	if !t.Full() || x.takes.First() < 0 || !s.Left.Covers(x.cost) {
		return c, false
	}
	c.item = slices.Min(x.items)
	c.Price = int64(s.Offerings.Items[c.item].Offering.Price)
	c.Takes, c.Room, c.Cost, c.company = x.takes, p.room, s.Cost[first], slices.Clone(x.items)
	if !slices.Equal(x.room, c.Room) {
		c.Room = x.room.Clone()
	}
	if !slices.Equal(x.cost, c.Cost) {
		c.Cost = x.cost.Clone()
	}
	return c, true
}

// loss is the part of a machine of a peer that is lost when another joins: of the amount of which most is.
func (x *companies) loss(p *peer, at, most int) float64 {
	o := &x.peers[at]
	loss := lost(p.room[:bulk], o.room, 0)
	rest := lost(p.room[bulk:most], o.room[bulk:], loss)
	x.bulky = x.bulky && rest == loss
	return rest
}

// lost is the largest part of the amounts of one that the other lacks, least if that is more.
func lost(one, other vec.Vec, least float64) float64 {
	for r, v := range one {
		if w := other[r]; w < v && v > 0 {
			least = max(least, 1-float64(w)/float64(v))
		}
	}
	return least
}

// join lets the offerings of a peer join that bring values, unless nothing would be left for pods beside the most that daemons take on any.
func (x *companies) join(t *problem.Variety, at int) {
	s, o := x.pool, &x.peers[at]
	first := 0
	for ; first < len(o.items) && !t.Brings(o.items[first]); first++ {
	}
	if first == len(o.items) {
		return
	}
	if s.Light {
		for r, v := range o.room {
			x.room[r] = min(x.room[r], v)
		}
	} else if !x.shrink(o.room, s.Taken[o.items[0]]) {
		return
	}
	if !x.takes.Within(o.mask) {
		x.takes = x.takes.And(o.mask)
	}
	for r, v := range s.Cost[o.items[0]] {
		x.cost[r] = max(x.cost[r], v)
	}
	for n, i := range o.items[first:] {
		if n == 0 || t.Brings(i) {
			t.Add(i)
			x.items = append(x.items, i)
		}
	}
}

// shrink makes the room what is left beside the most that daemons take when machines with this much room and these daemons join. It is
// false, and nothing has changed, when nothing would be left.
func (x *companies) shrink(room, taken vec.Vec) bool {
	x.left, x.more = append(x.left[:0], x.room...), append(x.more[:0], x.over...)
	for r := range x.room {
		x.more[r] = max(x.over[r], taken[r])
		x.left[r] = min(x.room[r]+x.over[r], room[r]+taken[r]) - x.more[r]
		if x.left[r] < 0 {
			return false
		}
	}
	copy(x.room, x.left)
	copy(x.over, x.more)
	return true
}

// sink moves the entry at n down a heap until nobody below it comes before it: those that lose least come first.
func sink(heap []mate, n int) {
	for {
		child := 2*n + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1].before(heap[child]) {
			child++
		}
		if !heap[child].before(heap[n]) {
			return
		}
		heap[n], heap[child] = heap[child], heap[n]
		n = child
	}
}
