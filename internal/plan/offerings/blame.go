package offerings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
)

// Blame names the requirements of a set that leave no offering: one that does so alone, else two that do so together, else as few as do.
func (s *Index) Blame(whose string, q require.Set) string {
	if k := q.Impossible(); k != "" {
		return fmt.Sprintf("%s requirements on label %s exclude each other", whose, k)
	}
	keys := slices.DeleteFunc(slices.Clone(q.Keys()), func(k string) bool { return !s.Machine(k) })
	match := make([]bitset.Set, len(keys))
	for i, k := range keys {
		v, _ := q.Get(k)
		if match[i] = s.Match(k, v); match[i].First() < 0 {
			return fmt.Sprintf("%s requirement %s excludes every offering%s", whose,
				Requirement(q, k), s.Offered(k))
		}
	}
	for i := range keys {
		for j := range i {
			if match[i].And(match[j]).First() < 0 {
				return fmt.Sprintf("%s requirements %s and %s exclude every offering together",
					whose, Requirement(q, keys[j]), Requirement(q, keys[i]))
			}
		}
	}
	// Whatever can be left out, and nothing is left all the same, is not to blame.
	guilty := slices.Clone(keys)
	for _, k := range keys {
		less := slices.DeleteFunc(slices.Clone(guilty), func(x string) bool { return x == k })
		if s.Filter(s.All, q.Only(func(x string) bool { return slices.Contains(less, x) })).
			First() <
			0 {
			guilty = less
		}
	}
	return fmt.Sprintf("%s requirements exclude every offering together: %s", whose,
		q.Only(func(k string) bool { return slices.Contains(guilty, k) }))
}

// SaidValues bounds how many values of a requirement, or of what is on offer, are named.
const SaidValues = 6

// Requirement prints what a set asks of a label, with a few of its values.
func Requirement(q require.Set, key string) string {
	v, _ := q.Get(key)
	if list, listed := v.Listed(); listed && len(list) > SaidValues {
		return fmt.Sprintf("%s In [%s and %d more]", key, strings.Join(list[:SaidValues], " "),
			len(list)-SaidValues)
	}
	return q.Only(func(k string) bool { return k == key }).String()
}

// Offered says which values of a label machines have, where they are few.
func (s *Index) Offered(key string) string {
	c := s.Keys[key]
	if c == nil || len(c.Values) == 0 || len(c.Values) > SaidValues {
		return ""
	}
	return fmt.Sprintf("; on offer: %s", strings.Join(c.Values, ", "))
}
