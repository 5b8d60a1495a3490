// Package offerings answers: which offerings of a catalogue have what is asked of them?
//
// It arranges a catalogue once, in the order in which we would buy, with one set of offerings per label and value. It knows
// neither pods nor pools.
package offerings

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
	Type     *model.InstanceType
	Offering *model.Offering
	// TypeNo and family number the type and its family within the offering index.
	TypeNo, FamilyNo int32
}

// Index is a catalogue arranged for questions: offerings in the order in which we would buy them, and for every label
// key the set of offerings per value. Building it costs O(offerings + labels of types); a question about one key costs
// O(distinct values × offerings/64).
type Index struct {
	Items     []item
	Keys      map[string]*column
	Either    map[string]bool // keys of which some type leaves the choice to the buyer
	All       bitset.Set
	Available bitset.Set
	Outside   bitset.Set // offerings outside zones
	// Types and families is how many of them the offerings are of.
	Types, Families int
}

// column is one label key over all items.
type column struct {
	Values []string     // sorted
	Sets   []bitset.Set // which items have (or may have) the value
	Absent bitset.Set
	// While the column is being filled: where a value stands, and the one that was noted last.
	at   map[string]int
	last int
}

// Regional is the zone value of offerings outside zones.
const Regional = "0"

// ByPreference orders offerings as we would buy them: cheap first, then zonal before regional, then by name.
func ByPreference(a, b *model.Offering) int {
	if a.Price != b.Price { // mostly so; catalogues are sorted often
		return cmp.Compare(a.Price, b.Price)
	}
	return cmp.Or(cmp.Compare(Scope(a.Zone), Scope(b.Zone)), a.Key().Compare(b.Key()))
}

// Scope orders zones: those outside come last.
func Scope(zone string) int {
	if OutsideZones(zone) {
		return 1
	}
	return 0
}

// OutsideZones reports whether a zone's name means that a machine may stand in any zone.
func OutsideZones(zone string) bool { return zone == Regional || zone == "" }

// New arranges a catalogue. O(offerings × labels).
func New(cat model.Catalog) *Index {
	s := &Index{Keys: map[string]*column{}, Either: map[string]bool{}}
	families, offerings := map[string]int32{}, 0
	for ti := range cat.Types {
		offerings += len(cat.Types[ti].Offerings)
	}
	s.Items = make([]item, 0, offerings)
	for ti := range cat.Types {
		t := &cat.Types[ti]
		family, known := families[t.Family]
		if !known {
			family = int32(len(families))
			families[t.Family] = family
		}
		for oi := range t.Offerings {
			s.Items = append(s.Items, item{t, &t.Offerings[oi], int32(ti), family})
		}
	}
	s.Types, s.Families = len(cat.Types), len(families)
	slices.SortFunc(s.Items, func(a, b item) int { return ByPreference(a.Offering, b.Offering) })
	n := len(s.Items)
	s.All, s.Available, s.Outside = bitset.New(n), bitset.New(n), bitset.New(n)
	b := &shelver{
		s:       s,
		columns: map[string]*column{},
		of:      make([][]int32, len(cat.Types)),
		own:     make([]bool, n),
	}
	types := b.column(model.LabelInstanceType)
	zones, kinds := b.column(model.LabelZone), b.column(model.LabelCapacityType)
	flat := make([]int32, n)
	for ti := range cat.Types {
		k := len(cat.Types[ti].Offerings)
		b.of[ti], flat = flat[:0:k], flat[k:]
	}
	for i, it := range s.Items {
		s.All.Add(i)
		if it.Offering.Available {
			s.Available.Add(i)
		}
		if OutsideZones(it.Offering.Zone) {
			s.Outside.Add(i)
		}
		b.of[it.TypeNo] = append(b.of[it.TypeNo], int32(i))
		b.note(zones, it.Offering.Zone, i)
		b.note(kinds, it.Offering.CapacityType, i)
		if plain(it.Offering) {
			continue
		}
		for k, v := range it.Offering.Labels {
			if k == model.LabelZone && v == it.Offering.Zone ||
				k == model.LabelCapacityType && v == it.Offering.CapacityType {
				continue
			}
			b.note(b.column(require.Key(k)), v, i)
			b.own[i] = true
		}
	}
	for ti, items := range b.of {
		t := &cat.Types[ti]
		for _, i := range items {
			b.note(types, s.Items[i].Offering.Type, int(i))
		}
		b.noteType(t, items)
	}
	for k, c := range b.columns {
		if len(c.Values) > 0 {
			c.finish(s.All)
			s.Keys[k] = c
		}
	}
	return s
}

// plain reports whether an offering has its zone and its capacity type for labels, and no others, as most do.
func plain(o *model.Offering) bool {
	return len(o.Labels) == 2 && o.Labels[model.LabelZone] == o.Zone &&
		o.Labels[model.LabelCapacityType] == o.CapacityType && o.Zone != "" && o.CapacityType != ""
}

// shelver fills the columns of an offering index.
type shelver struct {
	s       *Index
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
	if c.last >= len(c.Values) || c.Values[c.last] != v {
		at, ok := c.at[v]
		if !ok {
			words := len(b.s.All)
			if len(b.spare) < words {
				b.spare = make(bitset.Set, max(words, min(words*len(b.of), shelverBlock)))
			}
			at = len(c.Values)
			c.at[v] = at
			c.Values, c.Sets = append(c.Values, v), append(c.Sets, b.spare[:words:words])
			b.spare = b.spare[words:]
		}
		c.last = at
	}
	c.Sets[c.last].Add(i)
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
				if _, own := b.s.Items[i].Offering.Labels[k]; own {
					continue
				}
			}
			b.note(c, v, int(i))
		}
	}
	for k, vs := range t.Either {
		b.s.Either[require.Key(k)] = true
		for _, v := range vs {
			for _, i := range items {
				if b.own[i] {
					if _, own := b.s.Items[i].Offering.Labels[k]; own {
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
	order := make([]int, len(c.Values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(c.Values[a], c.Values[b]) })
	values, sets := make([]string, len(order)), make([]bitset.Set, len(order))
	c.Absent = slices.Clone(all)
	for to, from := range order {
		values[to], sets[to] = c.Values[from], c.Sets[from]
		for w := range c.Absent {
			c.Absent[w] &^= sets[to][w]
		}
	}
	c.Values, c.Sets, c.at = values, sets, nil
}

// Machine reports whether key describes machines: the cloud brings it, whatever pools say.
func (s *Index) Machine(key string) bool { return s.Keys[key] != nil || require.Cloud(key) }

// Match returns the items whose label key may be as v says. Absence is judged per item.
func (s *Index) Match(key string, v require.Values) bitset.Set {
	out := bitset.New(len(s.Items))
	c := s.Keys[key]
	if c == nil {
		if v.AllowsAbsent() {
			out.Or(s.All)
		}
		return out
	}
	for i, value := range c.Values {
		if v.Has(value) {
			out.Or(c.Sets[i])
		}
	}
	if v.AllowsAbsent() {
		out.Or(c.Absent)
	}
	return out
}

// Filter returns the items of from that satisfy every machine label of q.
func (s *Index) Filter(from bitset.Set, q require.Set) bitset.Set {
	out := from
	for _, k := range q.Keys() {
		if s.Machine(k) {
			v, _ := q.Get(k)
			out = out.And(s.Match(k, v))
		}
	}
	return out
}
