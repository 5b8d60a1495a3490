package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// item is one offering on the shelf with its type. Both belong to the catalogue and are only read.
type item struct {
	t *model.InstanceType
	o *model.Offering
	// typ and family number the type and its family within the shelf.
	typ, family int32
}

// shelf is a catalogue arranged for questions: offerings in the order in which we would buy them, and for every label
// key the set of offerings per value. Building it costs O(offerings + labels of types); a question about one key costs
// O(distinct values × offerings/64).
type shelf struct {
	items     []item
	keys      map[string]*column
	either    map[string]bool // keys of which some type leaves the choice to the buyer
	all       set
	available set
}

// column is one label key over all items.
type column struct {
	values []string // sorted
	sets   []set    // which items have (or may have) the value
	absent set
}

// regional is the zone value of offerings outside zones.
const regional = "0"

// byPreference orders offerings as we would buy them: cheap first, then zonal before regional, then by name.
func byPreference(a, b *model.Offering) int {
	return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(scope(a), scope(b)), a.Key().Compare(b.Key()))
}

func scope(o *model.Offering) int {
	if o.Zone == regional || o.Zone == "" {
		return 1
	}
	return 0
}

func newShelf(cat model.Catalog) *shelf {
	s := &shelf{keys: map[string]*column{}, either: map[string]bool{}}
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
	slices.SortFunc(s.items, func(a, b item) int { return byPreference(a.o, b.o) })
	s.all, s.available = newSet(len(s.items)), newSet(len(s.items))
	values := map[string]map[string]set{}
	ofType := map[*model.InstanceType][]int{}
	for i, it := range s.items {
		s.all.add(i)
		if it.o.Available {
			s.available.add(i)
		}
		ofType[it.t] = append(ofType[it.t], i)
		for k, v := range it.o.Labels {
			s.note(values, require.Key(k), v, i)
		}
		s.note(values, model.LabelInstanceType, it.o.Type, i)
		s.note(values, model.LabelZone, it.o.Zone, i)
		s.note(values, model.LabelCapacityType, it.o.CapacityType, i)
	}
	for t, items := range ofType {
		s.noteType(values, t, items)
	}
	for k, m := range values {
		c := &column{values: slices.Sorted(maps.Keys(m)), absent: slices.Clone(s.all)}
		for _, v := range c.values {
			c.sets = append(c.sets, m[v])
			for w := range c.absent {
				c.absent[w] &^= m[v][w]
			}
		}
		s.keys[k] = c
	}
	return s
}

// noteType notes what all offerings of a type share. An offering's own labels win over its type's.
func (s *shelf) noteType(values map[string]map[string]set, t *model.InstanceType, items []int) {
	for k, v := range require.Normalise(t.Labels) {
		switch k {
		case model.LabelInstanceType, model.LabelZone, model.LabelCapacityType:
			continue
		}
		for _, i := range items {
			if _, own := s.items[i].o.Labels[k]; !own {
				s.note(values, k, v, i)
			}
		}
	}
	for k, vs := range t.Either {
		s.either[require.Key(k)] = true
		for _, v := range vs {
			for _, i := range items {
				s.note(values, require.Key(k), v, i)
			}
		}
	}
}

func (s *shelf) note(values map[string]map[string]set, k, v string, i int) {
	m := values[k]
	if m == nil {
		m = map[string]set{}
		values[k] = m
	}
	if m[v] == nil {
		m[v] = newSet(len(s.items))
	}
	m[v].add(i)
}

// machine reports whether key describes machines: the cloud brings it, whatever pools say.
func (s *shelf) machine(key string) bool { return s.keys[key] != nil || require.Cloud(key) }

// match returns the items whose label key may be as v says. Absence is judged per item.
func (s *shelf) match(key string, v require.Values) set {
	out := newSet(len(s.items))
	c := s.keys[key]
	if c == nil {
		if v.AllowsAbsent() {
			out.or(s.all)
		}
		return out
	}
	for i, value := range c.values {
		if v.Has(value) {
			out.or(c.sets[i])
		}
	}
	if v.AllowsAbsent() {
		out.or(c.absent)
	}
	return out
}

// filter returns the items of from that satisfy every machine label of q.
func (s *shelf) filter(from set, q require.Set) set {
	out := from
	for _, k := range q.Keys() {
		if s.machine(k) {
			v, _ := q.Get(k)
			out = out.and(s.match(k, v))
		}
	}
	return out
}
