package place

import (
	"cmp"
	"slices"
	"sort"

	"github.com/karpenter-aks/karpenter/internal/require"
)

// choice is one kind of machine that packing may buy: the cheapest of the offerings that look alike from the pods' side.
type choice struct {
	seller int
	item   int
	price  int64 // micro-dollars per hour
	room   vec
	cost   vec // of the seller's limits
	takes  set // forms that it accepts, by position in the packer
	free   int // flavour of the open labels; see flavours
	// company are the offerings that together meet minValues and all hold what fits into room; nil without minValues.
	company []int
}

// newChoices lists what the sellers of one tier can sell to the forms, without anything that another choice beats.
// O(offerings × forms + kinds²).
func newChoices(tier []*seller, groups []*form) []choice {
	var all []choice
	for _, s := range tier {
		for fi, f := range flavours(s.id, groups) {
			if kinds := s.kinds(choice{seller: s.id, free: fi}, f, groups); all == nil {
				all = kinds
			} else {
				all = append(all, kinds...)
			}
		}
	}
	byPrice := func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.seller, b.seller), cmp.Compare(a.free, b.free), cmp.Compare(a.item, b.item))
	}
	if !slices.IsSortedFunc(all, byPrice) { // those of one seller and flavour are
		slices.SortFunc(all, byPrice)
	}
	return prune(all)
}

// flavours lists the distinct ways in which groups narrow labels that nodes of the seller may have either way. The
// first is "not at all".
func flavours(id int, groups []*form) []require.Set {
	out := []require.Set{{}}
	for _, g := range groups {
		l := g.lots[id]
		if l == nil || l.ok.first() < 0 || len(l.free.Keys()) == 0 {
			continue
		}
		text := l.free.String()
		if !slices.ContainsFunc(out, func(f require.Set) bool { return f.String() == text }) {
			out = append(out, l.free)
		}
	}
	return out
}

// lookBack is how many offerings of about the same price are asked whether they are the same to pods.
const lookBack = 4

// kinds lists what one seller can sell to the forms that agree with a flavour.
func (s *seller) kinds(like choice, flavour require.Set, groups []*form) []choice {
	n, words := len(s.shelf.items), (len(groups)+63)/64
	masks, flat := make([]set, n), make(set, n*words)
	some := 0
	for gi, g := range groups {
		l := g.lots[like.seller]
		if l == nil || l.ok.first() < 0 || !l.free.Contains(flavour) {
			continue
		}
		ok := s.affordable(l)
		for i := ok.first(); i >= 0; i = ok.next(i + 1) {
			if masks[i] == nil {
				masks[i] = flat[i*words : (i+1)*words : (i+1)*words]
				some++
			}
			masks[i].add(gi)
		}
	}
	out := make([]choice, 0, some)
	for i, m := range masks {
		if m == nil {
			continue
		}
		c := like
		c.item, c.price, c.room, c.cost, c.takes = i, int64(s.shelf.items[i].o.Price), s.room[i], s.cost[i], m
		if len(s.choosy) > 0 {
			for _, most := range []int{len(c.room), bulk} {
				if with := c; s.diverse(&with, masks, most) {
					out = append(out, with)
				}
			}
			continue
		}
		alike := func(o choice) bool {
			return slices.Equal(o.takes, c.takes) && slices.Equal(o.room, c.room) && slices.Equal(o.cost, c.cost)
		}
		if !slices.ContainsFunc(out[max(0, len(out)-lookBack):], alike) {
			out = append(out, c)
		}
	}
	return out
}

// bulk is how many amounts, cpu and memory, make a machine large: what else it has matters to few pods.
const bulk = 2

// diverse shrinks what the choice may be filled with until enough other offerings hold it too to meet minValues: the
// room is what the smallest of a company of offerings leaves beside the most that daemons take on any of them, only groups
// that all accept count, and the limits must bear the largest. Those join first that lose least of the amounts, of which the first most are looked
// at. It is false when no company is enough.
func (s *seller) diverse(c *choice, masks []set, most int) bool {
	i := c.item
	type mate struct {
		item int
		loss float64
	}
	var mates []mate
	for j, m := range masks {
		if m == nil {
			continue
		}
		loss := 0.0
		for r, v := range s.room[i][:min(most, len(s.room[i]))] {
			if o := s.room[j][r]; o < v && v > 0 {
				loss = max(loss, 1-float64(o)/float64(v))
			}
		}
		if !masks[i].within(m) {
			loss += float64(masks[i].count() - masks[i].and(m).count())
		}
		mates = append(mates, mate{j, loss})
	}
	slices.SortStableFunc(mates, func(a, b mate) int {
		return cmp.Or(cmp.Compare(a.loss, b.loss), slices.Compare(s.cost[a.item], s.cost[b.item]))
	})
	c.room, c.cost = s.room[i].clone(), s.cost[i].clone()
	over := s.taken[i].clone()
	company := []int{i}
	for _, m := range mates {
		if s.enough(company) {
			break
		}
		room, more := s.shared(c.room, over, m.item)
		if room == nil || !s.adds(company, m.item) {
			continue
		}
		c.room, over = room, more
		company = append(company, m.item)
		c.takes = c.takes.and(masks[m.item])
		for r, v := range s.cost[m.item] {
			c.cost[r] = max(c.cost[r], v)
		}
	}
	c.company = company
	return s.enough(company) && c.takes.first() >= 0 && s.left.covers(c.cost)
}

// shared returns what is left for pods when item j joins machines of the given room, beside the most that daemons take
// on any of them; nil when that is less than nothing.
func (s *seller) shared(room, over vec, j int) (left, more vec) {
	left, more = make(vec, len(room)), make(vec, len(room))
	for r := range room {
		more[r] = max(over[r], s.taken[j][r])
		left[r] = min(room[r]+over[r], s.room[j][r]+s.taken[j][r]) - more[r]
		if left[r] < 0 {
			return nil, nil
		}
	}
	return left, more
}

// distinct counts the values of key among the items.
func (s *seller) distinct(key string, items []int) int {
	c := s.shelf.keys[key]
	if c == nil {
		v, _ := s.own.Get(key)
		list, _ := v.Listed()
		return len(list)
	}
	n := 0
	for _, have := range c.sets {
		if slices.ContainsFunc(items, have.has) {
			n++
		}
	}
	return n
}

// enough reports whether the items show enough distinct values for every requirement with minValues.
func (s *seller) enough(items []int) bool { return s.lacking(items) == "" }

// lacking names the first requirement of whose minValues the items fall short.
func (s *seller) lacking(items []int) string {
	for _, k := range s.choosy {
		if v, _ := s.own.Get(k); s.distinct(k, items) < v.MinValues() {
			return k
		}
	}
	return ""
}

// varied reports whether the offerings that hold need are enough.
func (s *seller) varied(from set, need vec) bool {
	var items []int
	from.each(func(i int) {
		if s.room[i].covers(need) {
			items = append(items, i)
		}
	})
	return s.enough(items)
}

// most returns how many of size one machine may be filled with beside base, at most n: as many as some offering holds, or, with
// minValues, enough of them.
func (s *seller) most(from set, base, size vec, n int) int {
	best := 0
	if len(s.choosy) == 0 {
		from.each(func(i int) {
			if best < n {
				best = max(best, s.room[i].timesBeside(base, size, n))
			}
		})
		return best
	}
	return sort.Search(n, func(k int) bool {
		need := base.clone()
		need.take(size, -(k + 1))
		return !s.varied(from, need)
	})
}

// adds reports whether item j brings a value that the company still lacks.
func (s *seller) adds(company []int, j int) bool {
	for _, k := range s.wanted {
		v, _ := s.own.Get(k)
		before := s.distinct(k, company)
		if before < v.MinValues() && s.distinct(k, append(slices.Clip(company), j)) > before {
			return true
		}
	}
	return false
}

// pruneBlock is how many choices are looked at together when one is sought that beats another.
const pruneBlock = 32

// prune drops choices that another one beats: as cheap, as roomy, accepting as much, taking no more of the limits. The
// input is sorted by price; of equals the first stays. The result is in the room of the input.
func prune(all []choice) []choice {
	out := all[:0]
	var most []vec // per block of out: the most of each amount that any of them has room for
next:
	for ci := range all {
		c := &all[ci]
		for b := len(most) - 1; b >= 0; b-- { // what is about as dear is about as large
			if !most[b].covers(c.room) {
				continue
			}
			for i := b * pruneBlock; i < min((b+1)*pruneBlock, len(out)); i++ {
				o := &out[i]
				if o.room.covers(c.room) && o.seller == c.seller && c.cost.covers(o.cost) && c.takes.within(o.takes) && (o.free == c.free || o.free == 0) {
					continue next
				}
			}
		}
		if len(out)%pruneBlock == 0 {
			most = append(most, c.room.clone())
		}
		last := most[len(most)-1]
		for r, v := range c.room {
			last[r] = max(last[r], v)
		}
		out = append(out, *c)
	}
	return out
}
