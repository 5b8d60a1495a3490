// Package require answers: which labels may a machine have?
//
// It is the algebra of label requirements: each label key maps to the set of values it may take, where "the label is
// not there" is one more state. Sets are built from requirements and label maps, intersected, asked, and written back
// in sorted order. It knows nothing of pools, pods or clouds beyond the names of labels, and decides nothing.
//
// On a new machine some labels are known before it exists (a size has an architecture) and some are not. Who asks must
// say what absence means: Allows takes the label as it is; Cloud tells labels that only a machine can bring from those that a
// pool hands out. A label that nobody defines is absent, so In, Exists and comparisons refuse it while NotIn and DoesNotExist accept.
package require

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Set maps label keys (normalised) to what they may be. A key that is missing may be anything. The zero Set allows
// everything. A Set never changes once made; And and With return new ones.
type Set struct {
	keys   []string // sorted
	values []Values // of keys
}

// New builds the set of machines that satisfy all requirements at once. O(n log n).
func New(reqs []model.Requirement) Set {
	if len(reqs) == 0 {
		return Set{}
	}
	m := map[string]Values{}
	for _, r := range reqs {
		key, v := normal(r)
		if old, ok := m[key]; ok {
			v = old.And(v)
		}
		m[key] = v
	}
	return fromMap(m)
}

// Labels builds the set of machines that have exactly these values for these labels.
func Labels(labels map[string]string) Set {
	if len(labels) == 0 {
		return Set{}
	}
	reqs := make([]model.Requirement, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		reqs = append(reqs, model.Requirement{Key: k, Op: model.In, Values: []string{labels[k]}})
	}
	return New(reqs)
}

func fromMap(m map[string]Values) Set {
	s := Set{keys: make([]string, 0, len(m)), values: make([]Values, 0, len(m))}
	for k := range m {
		s.keys = append(s.keys, k)
	}
	slices.Sort(s.keys)
	for _, k := range s.keys {
		s.values = append(s.values, m[k])
	}
	return s
}

// Keys lists the constrained keys, sorted. The caller must not change the list.
func (s Set) Keys() []string { return s.keys }

// Get returns what key may be, and whether the set says anything about it. Any() when it does not.
func (s Set) Get(key string) (Values, bool) {
	if i, ok := slices.BinarySearch(s.keys, key); ok {
		return s.values[i], true
	}
	return Any(), false
}

// And returns what both sets allow.
func (s Set) And(o Set) Set {
	if len(o.keys) == 0 {
		return s
	}
	if len(s.keys) == 0 {
		return o
	}
	out := Set{keys: make([]string, 0, len(s.keys)+len(o.keys)), values: make([]Values, 0, len(s.keys)+len(o.keys))}
	for i, j := 0, 0; i < len(s.keys) || j < len(o.keys); {
		switch {
		case j == len(o.keys) || i < len(s.keys) && s.keys[i] < o.keys[j]:
			out.keys, out.values = append(out.keys, s.keys[i]), append(out.values, s.values[i])
			i++
		case i == len(s.keys) || o.keys[j] < s.keys[i]:
			out.keys, out.values = append(out.keys, o.keys[j]), append(out.values, o.values[j])
			j++
		default:
			out.keys, out.values = append(out.keys, s.keys[i]), append(out.values, s.values[i].And(o.values[j]))
			i, j = i+1, j+1
		}
	}
	return out
}

// With returns s with key also constrained to v.
func (s Set) With(key string, v Values) Set {
	return s.And(Set{keys: []string{key}, values: []Values{v}})
}

// WithMinValues is s in which the key, which it must have, asks for n distinct values. Unlike And, it can ask for fewer.
func (s Set) WithMinValues(key string, n int) Set {
	out := Set{keys: s.keys, values: slices.Clone(s.values)}
	if i, ok := slices.BinarySearch(s.keys, key); ok {
		out.values[i].min = n
	}
	return out
}

// Only returns the part of s about the keys that keep accepts.
func (s Set) Only(keep func(key string) bool) Set {
	var out Set
	for i, k := range s.keys {
		if keep(k) {
			out.keys, out.values = append(out.keys, k), append(out.values, s.values[i])
		}
	}
	return out
}

// Conflict names the first key, in sorted order, for which s and o have nothing in common; "" when there is none.
func (s Set) Conflict(o Set) string {
	for i, k := range s.keys {
		if v, ok := o.Get(k); ok && !s.values[i].Meets(v) {
			return k
		}
	}
	return ""
}

// Impossible names the first key for which s allows nothing; "" when there is none.
func (s Set) Impossible() string {
	for i, k := range s.keys {
		if s.values[i].Empty() {
			return k
		}
	}
	return ""
}

// Contains reports whether every state that o allows is allowed by s, judged key by key on how o is written: finite
// lists exactly; infinite ones when s is infinite too and excludes nothing that o allows.
func (s Set) Contains(o Set) bool {
	for i, k := range s.keys {
		v, _ := o.Get(k)
		if !v.And(s.values[i]).sameStates(v) {
			return false
		}
	}
	return true
}

func (v Values) sameStates(o Values) bool {
	v.min, o.min = 0, 0
	return v.Equal(o)
}

// Allows reports whether a machine with exactly these labels is in the set: a label that is not in the map is absent.
// The first key that refuses is named. O(keys). The map's keys must be normalised (see Normalise).
func (s Set) Allows(labels map[string]string) (refused string, ok bool) {
	for i, k := range s.keys {
		if v, there := labels[k]; there && !s.values[i].Has(v) || !there && !s.values[i].absent {
			return k, false
		}
	}
	return "", true
}

// Requirements writes the set back, sorted by key. New(s.Requirements()) allows the same machines.
func (s Set) Requirements() []model.Requirement {
	var out []model.Requirement
	for i, k := range s.keys {
		out = append(out, s.values[i].Requirements(k)...)
	}
	return out
}

// String prints the set for people: "arch In [amd64]; team Exists", "anything" when empty.
func (s Set) String() string {
	var parts []string
	for i, k := range s.keys {
		parts = append(parts, k+" "+s.values[i].String())
	}
	if len(parts) == 0 {
		return "anything"
	}
	return strings.Join(parts, "; ")
}
