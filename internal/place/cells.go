package place

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/model"
)

// maxCells bounds how many combinations of values one form is looked at under; more values than that are left alone.
const maxCells = 4096

// atlas knows where pods may go.
type atlas struct {
	ties
	cells map[cellsKey]*cells
}

type cellsKey struct {
	f    *nodeConstraint
	keys string
}

// cellsOf lists where pods of a form may go as far as the keys can tell: on what is paid for and on what can be bought.
func (d *atlas) cellsOf(f *nodeConstraint, keys []int) *cells {
	var name []byte
	for _, k := range keys {
		name = strconv.AppendInt(append(name, ','), int64(k), 10)
	}
	at := cellsKey{f, string(name)}
	if c := d.cells[at]; c != nil {
		return c
	}
	cs := &cells{}
	remember(&d.cells, at, cs)
	byKey := map[string]*cell{}
	get := func(values []string) *cell {
		c := &cell{values: values}
		key := c.key()
		if old := byKey[key]; old != nil {
			return old
		}
		if len(cs.list) >= maxCells {
			return nil
		}
		c.has = bitset.New(len(d.existing))
		c.doms = make([]int32, len(d.topo.keys))
		for k := range c.doms {
			c.doms[k] = unknown
		}
		for i, k := range keys {
			if values[i] != "" {
				c.doms[k] = d.topo.dom(k, values[i])
			}
		}
		byKey[key] = c
		cs.list = append(cs.list, c)
		return c
	}
	var last *cell // nodes that follow each other are often in one cell
	var doms []int32
	for _, i := range d.existingFor(f) {
		at := d.topo.spots[d.existing[i].spot]
		if last == nil || slices.ContainsFunc(keys, func(k int) bool { return at.doms[k] != doms[k] }) {
			if slices.ContainsFunc(keys, func(k int) bool { return at.doms[k] == either }) {
				continue
			}
			values := make([]string, len(keys))
			for j, k := range keys {
				if dom := at.doms[k]; dom >= 0 {
					values[j] = d.topo.names[k][dom]
				}
			}
			last, doms = get(values), at.doms
		}
		if last != nil {
			last.slots = append(last.slots, i)
			last.has.Add(int(i))
		}
	}
	for _, s := range d.pools {
		l := d.allowedOf(s, f)
		if l.ok.First() < 0 {
			continue
		}
		note := func(values []string, sold bitset.Set) {
			c := get(slices.Clone(values))
			if c == nil {
				return
			}
			if c.pinned == nil {
				if c.pinned = f; len(keys) > 0 {
					c.pinned = d.constraints.pin(f, d.keyNames(keys), c.values)
				}
				c.sold = make([]bitset.Set, len(d.pools))
			}
			if c.sold[s.id] = sold; len(l.all) > 0 && len(keys) > 0 && c.pinned != nil {
				c.sold[s.id] = d.allowedOf(s, c.pinned).ok
			}
		}
		if len(keys) == 0 || len(l.all) == 0 {
			d.expand(s, alternative{l.ok, l.free}, keys, note)
			continue
		}
		for _, a := range l.all {
			d.expand(s, a, keys, note)
		}
	}
	zone := slices.Index(d.keyNames(keys), model.LabelZone)
	slices.SortFunc(cs.list, func(a, b *cell) int { // of what is equal the first is taken
		inside := 0
		if zone >= 0 {
			inside = cmp.Compare(scope(a.values[zone]), scope(b.values[zone]))
		}
		return cmp.Or(inside, slices.Compare(a.values, b.values))
	})
	return cs
}

func (d *atlas) keyNames(keys []int) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = d.topo.keys[k]
	}
	return out
}

// expand calls f with every combination of values that a pool's nodes may have under the keys, and the offerings that
// have it.
func (d *atlas) expand(s *nodePool, l alternative, keys []int, f func(values []string, sold bitset.Set)) {
	values := make([]string, len(keys))
	var walk func(i int, left bitset.Set)
	walk = func(i int, left bitset.Set) {
		if left.First() < 0 {
			return
		}
		if i == len(keys) {
			f(values, left)
			return
		}
		k := d.topo.keys[keys[i]]
		if c := s.offerings.keys[k]; c != nil {
			for vi, v := range c.values {
				values[i] = v
				walk(i+1, left.And(c.sets[vi]))
			}
			values[i] = ""
			walk(i+1, left.And(c.absent))
			return
		}
		for _, v := range s.handsOut(k, l.free, d.topo.said[keys[i]]) {
			values[i] = v
			walk(i+1, left)
		}
	}
	walk(0, l.ok)
}

// offer is what a new machine in a cell would cost at least, for pods of one size.
type offer struct {
	ok     bool
	weight int
	price  model.Price
}

func (a offer) compare(b offer) int {
	return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.price, b.price))
}

// cheapestIn returns the least that a machine for one pod of the group costs in the cell, of the heaviest pool that has one and whose
// limits are not spent.
func (d *atlas) cheapestIn(g *seatClass, c *cell) offer {
	best := offer{}
	for id, sold := range c.sold {
		if sold == nil {
			continue
		}
		s := d.pools[id]
		if best.ok && best.weight > s.pool.Weight {
			break // pools are sorted, heavy ones first
		}
		if len(s.choosy) > 0 && d.minValues != BestEffort && !s.varied(sold, g.size) {
			continue
		}
		for i := sold.First(); i >= 0; i = sold.Next(i + 1) {
			if s.room[i].Covers(g.size) && s.left.Covers(s.cost[i]) {
				if o := (offer{true, s.pool.Weight, s.offerings.items[i].o.Price}); !best.ok || o.compare(best) < 0 {
					best = o
				}
				break
			}
		}
	}
	return best
}

// site is where a machine would be bought in the cell.
func (c *cell) site() site { return site{c.doms, unknown, c.pinned} }

// cells are the ways in which labels under some topology keys may turn out for a form.
type cells struct {
	list []*cell
}

// cell is one combination of values: where pods of a form may go, as far as topology can tell.
type cell struct {
	values []string        // per key; "" = no such label
	doms   []int32         // per topology key of the decision; unknown = no such label, or not asked about
	slots  []int32         // capacity that is paid for, in order of preference
	has    bitset.Set      // existing nodes, as a set
	pinned *nodeConstraint // the form narrowed to the values; nil when nothing can be bought there
	// sold are, per pool, the offerings on sale there; empty where nil.
	sold []bitset.Set
}

func (c *cell) key() string { return strings.Join(c.values, "\x00") }
