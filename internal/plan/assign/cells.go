package assign

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/model"
)

// maxCells bounds how many combinations of values one form is looked at under; more values than that are left alone.
const maxCells = 4096

// atlas knows where pods may go.
type atlas struct {
	topology.Ties
	cells map[cellsKey]*cells
}

type cellsKey struct {
	f    *problem.NodeConstraint
	keys string
}

// cellsOf lists where pods of a constraint may go as far as the keys can tell: on what is paid for and on what can be bought.
func (d *atlas) cellsOf(f *problem.NodeConstraint, keys []int) *cells {
	var name []byte
	for _, k := range keys {
		name = strconv.AppendInt(append(name, ','), int64(k), 10)
	}
	at := cellsKey{f, string(name)}
	if c := d.cells[at]; c != nil {
		return c
	}
	cs := &cells{}
	problem.Remember(&d.cells, at, cs)
	byKey := map[string]*Cell{}
	get := func(values []string) *Cell {
		c := &Cell{values: values}
		key := c.Key()
		if old := byKey[key]; old != nil {
			return old
		}
		if len(cs.list) >= maxCells {
			return nil
		}
		c.has = bitset.New(len(d.Existing))
		c.doms = make([]int32, len(d.Topo.Keys))
		for k := range c.doms {
			c.doms[k] = topology.Unknown
		}
		for i, k := range keys {
			if values[i] != "" {
				c.doms[k] = d.Topo.Dom(k, values[i])
			}
		}
		byKey[key] = c
		cs.list = append(cs.list, c)
		return c
	}
	var last *Cell // nodes that follow each other are often in one cell
	var doms []int32
	for _, i := range d.ExistingFor(f) {
		at := d.Topo.Spots[d.Existing[i].Spot]
		if last == nil ||
			slices.ContainsFunc(keys, func(k int) bool { return at.Doms[k] != doms[k] }) {
			if slices.ContainsFunc(keys, func(k int) bool {
				return at.Doms[k] == topology.Either
			}) {
				continue
			}
			values := make([]string, len(keys))
			for j, k := range keys {
				if dom := at.Doms[k]; dom >= 0 {
					values[j] = d.Topo.Names[k][dom]
				}
			}
			last, doms = get(values), at.Doms
		}
		if last != nil {
			last.slots = append(last.slots, i)
			last.has.Add(int(i))
		}
	}
	for _, s := range d.Pools {
		l := d.AllowedOf(s, f)
		if l.OK.First() < 0 {
			continue
		}
		note := func(values []string, sold bitset.Set) {
			c := get(slices.Clone(values))
			if c == nil {
				return
			}
			if c.pinned == nil {
				if c.pinned = f; len(keys) > 0 {
					c.pinned = d.Constraints.Pin(f, d.keyNames(keys), c.values)
				}
				c.sold = make([]bitset.Set, len(d.Pools))
			}
			if c.sold[s.ID] = sold; len(l.All) > 0 && len(keys) > 0 && c.pinned != nil {
				c.sold[s.ID] = d.AllowedOf(s, c.pinned).OK
			}
		}
		if len(keys) == 0 || len(l.All) == 0 {
			d.expand(s, problem.Alternative{OK: l.OK, Free: l.Free}, keys, note)
			continue
		}
		for _, a := range l.All {
			d.expand(s, a, keys, note)
		}
	}
	zone := slices.Index(d.keyNames(keys), model.LabelZone)
	slices.SortFunc(cs.list, func(a, b *Cell) int { // of what is equal the first is taken
		inside := 0
		if zone >= 0 {
			inside = cmp.Compare(offerings.Scope(a.values[zone]), offerings.Scope(b.values[zone]))
		}
		return cmp.Or(inside, slices.Compare(a.values, b.values))
	})
	return cs
}

func (d *atlas) keyNames(keys []int) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = d.Topo.Keys[k]
	}
	return out
}

// expand calls f with every combination of values that a pool's nodes may have under the keys, and the offerings that
// have it.
func (d *atlas) expand(
	s *problem.NodePool,
	l problem.Alternative,
	keys []int,
	f func(values []string, sold bitset.Set),
) {
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
		k := d.Topo.Keys[keys[i]]
		if c := s.Offerings.Keys[k]; c != nil {
			for vi, v := range c.Values {
				values[i] = v
				walk(i+1, left.And(c.Sets[vi]))
			}
			values[i] = ""
			walk(i+1, left.And(c.Absent))
			return
		}
		for _, v := range s.HandsOut(k, l.Free, d.Topo.Said[keys[i]]) {
			values[i] = v
			walk(i+1, left)
		}
	}
	walk(0, l.OK)
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

// cheapestIn returns the least that a machine for one pod of the class costs in the cell, of the heaviest pool that has one and whose
// limits are not spent.
func (d *atlas) cheapestIn(g *Class, c *Cell) offer {
	best := offer{}
	for id, sold := range c.sold {
		if sold == nil {
			continue
		}
		s := d.Pools[id]
		if best.ok && best.weight > s.Pool.Weight {
			break // pools are sorted, heavy ones first
		}
		if len(s.Choosy) > 0 && d.MinValues != problem.BestEffort && !s.Varied(sold, g.Size) {
			continue
		}
		for i := sold.First(); i >= 0; i = sold.Next(i + 1) {
			if s.Room[i].Covers(g.Size) && s.Left.Covers(s.Cost[i]) {
				o := offer{true, s.Pool.Weight, s.Offerings.Items[i].Offering.Price}
				if !best.ok || o.compare(best) < 0 {
					best = o
				}
				break
			}
		}
	}
	return best
}

// site is where a machine would be bought in the cell.
func (c *Cell) site() topology.Site {
	return topology.Site{Doms: c.doms, Spot: topology.Unknown, Form: c.pinned}
}

// cells are the ways in which labels under some topology keys may turn out for a constraint.
type cells struct {
	list []*Cell
}

// Cell is one combination of values: where pods of a constraint may go, as far as topology can tell.
type Cell struct {
	values []string // per key; "" = no such label
	// per topology key of the decision; unknown = no such label, or not asked about
	doms  []int32
	slots []int32    // capacity that is paid for, in order of preference
	has   bitset.Set // existing nodes, as a set
	// the constraint narrowed to the values; nil when nothing can be bought there
	pinned *problem.NodeConstraint
	// sold are, per pool, the offerings on sale there; empty where nil.
	sold []bitset.Set
}

// Key tells the cells of a constraint apart.
func (c *Cell) Key() string { return strings.Join(c.values, "\x00") }
