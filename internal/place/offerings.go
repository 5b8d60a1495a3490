package place

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// item is one offering on the offering index with its type. Both belong to the catalogue and are only read.
type item struct {
	t *model.InstanceType
	o *model.Offering
	// typ and family number the type and its family within the offering index.
	typ, family int32
}

// offeringIndex is a catalogue arranged for questions: offerings in the order in which we would buy them, and for every label
// key the set of offerings per value. Building it costs O(offerings + labels of types); a question about one key costs
// O(distinct values × offerings/64).
type offeringIndex struct {
	items     []item
	keys      map[string]*column
	either    map[string]bool // keys of which some type leaves the choice to the buyer
	all       bitset.Set
	available bitset.Set
	outside   bitset.Set // offerings outside zones
	// types and families is how many of them the offerings are of.
	types, families int
}

// column is one label key over all items.
type column struct {
	values []string     // sorted
	sets   []bitset.Set // which items have (or may have) the value
	absent bitset.Set
	// While the column is being filled: where a value stands, and the one that was noted last.
	at   map[string]int
	last int
}

// regional is the zone value of offerings outside zones.
const regional = "0"

// byPreference orders offerings as we would buy them: cheap first, then zonal before regional, then by name.
func byPreference(a, b *model.Offering) int {
	if a.Price != b.Price { // mostly so; catalogues are sorted often
		return cmp.Compare(a.Price, b.Price)
	}
	return cmp.Or(cmp.Compare(scope(a.Zone), scope(b.Zone)), a.Key().Compare(b.Key()))
}

// scope orders zones: those outside come last.
func scope(zone string) int {
	if outsideZones(zone) {
		return 1
	}
	return 0
}

// outsideZones reports whether a zone's name means that a machine may stand in any zone.
func outsideZones(zone string) bool { return zone == regional || zone == "" }

func newOfferingIndex(cat model.Catalog) *offeringIndex {
	s := &offeringIndex{keys: map[string]*column{}, either: map[string]bool{}}
	families := map[string]int32{}
	for ti := range cat.Types {
		t := &cat.Types[ti]
		family, known := families[t.Family]
		if !known {
			family = int32(len(families))
			families[t.Family] = family
		}
		for oi := range t.Offerings {
			s.items = append(s.items, item{t, &t.Offerings[oi], int32(ti), family})
		}
	}
	s.types, s.families = len(cat.Types), len(families)
	slices.SortFunc(s.items, func(a, b item) int { return byPreference(a.o, b.o) })
	n := len(s.items)
	s.all, s.available, s.outside = bitset.New(n), bitset.New(n), bitset.New(n)
	b := &shelver{s: s, columns: map[string]*column{}, of: make([][]int32, len(cat.Types)), own: make([]bool, n)}
	types, zones, kinds := b.column(model.LabelInstanceType), b.column(model.LabelZone), b.column(model.LabelCapacityType)
	flat := make([]int32, n)
	for ti := range cat.Types {
		k := len(cat.Types[ti].Offerings)
		b.of[ti], flat = flat[:0:k], flat[k:]
	}
	for i, it := range s.items {
		s.all.Add(i)
		if it.o.Available {
			s.available.Add(i)
		}
		if outsideZones(it.o.Zone) {
			s.outside.Add(i)
		}
		b.of[it.typ] = append(b.of[it.typ], int32(i))
		b.note(zones, it.o.Zone, i)
		b.note(kinds, it.o.CapacityType, i)
		for k, v := range it.o.Labels {
			if k == model.LabelZone && v == it.o.Zone || k == model.LabelCapacityType && v == it.o.CapacityType {
				continue
			}
			b.note(b.column(require.Key(k)), v, i)
			b.own[i] = true
		}
	}
	for ti, items := range b.of {
		t := &cat.Types[ti]
		for _, i := range items {
			b.note(types, s.items[i].o.Type, int(i))
		}
		b.noteType(t, items)
	}
	for k, c := range b.columns {
		if len(c.values) > 0 {
			c.finish(s.all)
			s.keys[k] = c
		}
	}
	return s
}

// shelver fills the columns of an offering index.
type shelver struct {
	s       *offeringIndex
	columns map[string]*column
	of      [][]int32  // per type: its items
	own     []bool     // per item: whether it has labels besides zone and capacity type
	spare   bitset.Set // to cut sets from
}

func (b *shelver) column(key string) *column {
	c := b.columns[key]
	if c == nil {
		c = &column{at: map[string]int{}}
		b.columns[key] = c
	}
	return c
}

// note adds item i to those that have the value.
func (b *shelver) note(c *column, v string, i int) {
	if c.last >= len(c.values) || c.values[c.last] != v {
		at, ok := c.at[v]
		if !ok {
			words := len(b.s.all)
			if len(b.spare) < words {
				b.spare = make(bitset.Set, max(words, min(words*len(b.of), shelverBlock)))
			}
			at = len(c.values)
			c.at[v] = at
			c.values, c.sets = append(c.values, v), append(c.sets, b.spare[:words:words])
			b.spare = b.spare[words:]
		}
		c.last = at
	}
	c.sets[c.last].Add(i)
}

// shelverBlock is how many words of sets are allocated at once, at most.
const shelverBlock = 4096

// noteType notes what all offerings of a type share. An offering's own labels win over its type's.
func (b *shelver) noteType(t *model.InstanceType, items []int32) {
	for k, v := range require.Normalise(t.Labels) {
		switch k {
		case model.LabelInstanceType, model.LabelZone, model.LabelCapacityType:
			continue
		}
		c := b.column(k)
		for _, i := range items {
			if b.own[i] {
				if _, own := b.s.items[i].o.Labels[k]; own {
					continue
				}
			}
			b.note(c, v, int(i))
		}
	}
	for k, vs := range t.Either {
		b.s.either[require.Key(k)] = true
		for _, v := range vs {
			for _, i := range items {
				if b.own[i] {
					if _, own := b.s.items[i].o.Labels[k]; own {
						continue
					}
				}
				b.note(b.column(require.Key(k)), v, int(i))
			}
		}
	}
}

// finish sorts the values and fills in which items have none.
func (c *column) finish(all bitset.Set) {
	order := make([]int, len(c.values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(c.values[a], c.values[b]) })
	values, sets := make([]string, len(order)), make([]bitset.Set, len(order))
	c.absent = slices.Clone(all)
	for to, from := range order {
		values[to], sets[to] = c.values[from], c.sets[from]
		for w := range c.absent {
			c.absent[w] &^= sets[to][w]
		}
	}
	c.values, c.sets, c.at = values, sets, nil
}

// machine reports whether key describes machines: the cloud brings it, whatever pools say.
func (s *offeringIndex) machine(key string) bool { return s.keys[key] != nil || require.Cloud(key) }

// match returns the items whose label key may be as v says. Absence is judged per item.
func (s *offeringIndex) match(key string, v require.Values) bitset.Set {
	out := bitset.New(len(s.items))
	c := s.keys[key]
	if c == nil {
		if v.AllowsAbsent() {
			out.Or(s.all)
		}
		return out
	}
	for i, value := range c.values {
		if v.Has(value) {
			out.Or(c.sets[i])
		}
	}
	if v.AllowsAbsent() {
		out.Or(c.absent)
	}
	return out
}

// filter returns the items of from that satisfy every machine label of q.
func (s *offeringIndex) filter(from bitset.Set, q require.Set) bitset.Set {
	out := from
	for _, k := range q.Keys() {
		if s.machine(k) {
			v, _ := q.Get(k)
			out = out.And(s.match(k, v))
		}
	}
	return out
}
