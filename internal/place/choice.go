package place

import (
	"cmp"
	"encoding/binary"
	"slices"

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
			all = append(all, s.kinds(choice{seller: s.id, free: fi}, f, groups)...)
		}
	}
	slices.SortStableFunc(all, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.seller, b.seller), cmp.Compare(a.free, b.free), cmp.Compare(a.item, b.item))
	})
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

// kinds groups the offerings of one seller and flavour by what they hold and whom they accept, keeping the cheapest.
func (s *seller) kinds(like choice, flavour require.Set, groups []*form) []choice {
	n := len(s.shelf.items)
	masks := make([]set, n)
	for gi, g := range groups {
		l := g.lots[like.seller]
		if l == nil || l.ok.first() < 0 || !l.free.Contains(flavour) {
			continue
		}
		s.affordable(l).each(func(i int) {
			if masks[i] == nil {
				masks[i] = newSet(len(groups))
			}
			masks[i].add(gi)
		})
	}
	var out []choice
	seen := map[string]bool{}
	var key []byte
	for i, m := range masks {
		if m == nil {
			continue
		}
		c := like
		c.item, c.price, c.room, c.cost, c.takes = i, int64(s.shelf.items[i].o.Price), s.room[i], s.cost[i], m
		key = key[:0]
		for _, v := range c.room {
			key = binary.LittleEndian.AppendUint64(key, uint64(v))
		}
		for _, v := range c.cost {
			key = binary.LittleEndian.AppendUint64(key, uint64(v))
		}
		for _, v := range m {
			key = binary.LittleEndian.AppendUint64(key, v)
		}
		if seen[string(key)] && len(s.choosy) == 0 {
			continue
		}
		seen[string(key)] = true
		if len(s.choosy) > 0 {
			if !s.diverse(&c, masks) {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// diverse shrinks what the choice may be filled with until enough other offerings hold it too to meet minValues: the
// room is what the smallest of a company of offerings leaves beside the most that daemons take on any of them, only groups
// that all accept count, and the limits must bear the largest. It is false when no company is enough.
func (s *seller) diverse(c *choice, masks []set) bool {
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
		for r, v := range s.room[i] {
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

// adds reports whether item j brings a value that the company still lacks.
func (s *seller) adds(company []int, j int) bool {
	for _, k := range s.choosy {
		v, _ := s.own.Get(k)
		before := s.distinct(k, company)
		if before < v.MinValues() && s.distinct(k, append(slices.Clip(company), j)) > before {
			return true
		}
	}
	return false
}

// prune drops choices that another one beats: as cheap, as roomy, accepting as much, taking no more of the limits. The
// input is sorted by price; of equals the first stays.
func prune(all []choice) []choice {
	var out []choice
next:
	for _, c := range all {
		for i := range out {
			o := &out[i]
			if o.room[0] < c.room[0] {
				continue // most are refused by this alone
			}
			if o.seller == c.seller && o.room.covers(c.room) && c.cost.covers(o.cost) && c.takes.within(o.takes) && (o.free == c.free || o.free == 0) {
				continue next
			}
		}
		out = append(out, c)
	}
	return out
}
