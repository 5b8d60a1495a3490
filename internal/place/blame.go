package place

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
)

// blame names the requirements of a set that leave no offering: one that does so alone, else two that do so together, else as few as do.
func (s *offeringIndex) blame(whose string, q require.Set) string {
	if k := q.Impossible(); k != "" {
		return fmt.Sprintf("%s requirements on label %s exclude each other", whose, k)
	}
	keys := slices.DeleteFunc(slices.Clone(q.Keys()), func(k string) bool { return !s.machine(k) })
	match := make([]bitset.Set, len(keys))
	for i, k := range keys {
		v, _ := q.Get(k)
		if match[i] = s.match(k, v); match[i].First() < 0 {
			return fmt.Sprintf("%s requirement %s excludes every offering%s", whose, requirement(q, k), s.offered(k))
		}
	}
	for i := range keys {
		for j := range i {
			if match[i].And(match[j]).First() < 0 {
				return fmt.Sprintf("%s requirements %s and %s exclude every offering together", whose, requirement(q, keys[j]), requirement(q, keys[i]))
			}
		}
	}
	// Whatever can be left out, and nothing is left all the same, is not to blame.
	guilty := slices.Clone(keys)
	for _, k := range keys {
		less := slices.DeleteFunc(slices.Clone(guilty), func(x string) bool { return x == k })
		if s.filter(s.all, q.Only(func(x string) bool { return slices.Contains(less, x) })).First() < 0 {
			guilty = less
		}
	}
	return fmt.Sprintf("%s requirements exclude every offering together: %s", whose, q.Only(func(k string) bool { return slices.Contains(guilty, k) }))
}

// saidValues bounds how many values of a requirement, or of what is on offer, are named.
const saidValues = 6

func requirement(q require.Set, key string) string {
	v, _ := q.Get(key)
	if list, listed := v.Listed(); listed && len(list) > saidValues {
		return fmt.Sprintf("%s In [%s and %d more]", key, strings.Join(list[:saidValues], " "), len(list)-saidValues)
	}
	return q.Only(func(k string) bool { return k == key }).String()
}

// offered says which values of a label machines have, where they are few.
func (s *offeringIndex) offered(key string) string {
	c := s.keys[key]
	if c == nil || len(c.values) == 0 || len(c.values) > saidValues {
		return ""
	}
	return fmt.Sprintf("; on offer: %s", strings.Join(c.values, ", "))
}
