package place

import (
	"fmt"
	"slices"
	"sort"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// A pool with minValues wants every machine to show so many distinct values of a label among what it may become. Values are numbered once
// per pool and counted as offerings come, never again for each of them.

// numbered numbers the values of one key with minValues.
type numbered struct {
	key   string
	least int
	of    [][]int32 // per item: its values; nil when machines have no say in the key
	fixed int       // how many values there are where machines have no say
	seen  []int32   // per value: the last count that saw it
	n     int       // how many the current count saw
}

// variety counts distinct values among offerings.
type variety struct {
	keys  []numbered
	round int32
}

// variety begins to count the values of the keys with minValues; the one before it ends.
func (s *nodePool) variety() *variety {
	if s.counts == nil {
		s.counts = s.number()
	}
	s.counts.begin()
	return s.counts
}

// number numbers the values of all offerings. O(values × offerings/64 + offerings).
func (s *nodePool) number() *variety {
	t := &variety{}
	for _, k := range s.wanted {
		v, _ := s.own.Get(k)
		x := numbered{key: k, least: v.MinValues()}
		c := s.offerings.keys[k]
		if c == nil {
			list, _ := v.Listed()
			x.fixed = len(list)
			t.keys = append(t.keys, x)
			continue
		}
		x.of, x.seen = make([][]int32, len(s.offerings.items)), make([]int32, len(c.sets))
		ids := make([]int32, len(c.sets))
		for id, have := range c.sets {
			ids[id] = int32(id)
			have.Each(func(i int) {
				if x.of[i] == nil {
					x.of[i] = ids[id : id+1 : id+1]
				} else { // whoever buys chooses
					x.of[i] = append(x.of[i], int32(id))
				}
			})
		}
		t.keys = append(t.keys, x)
	}
	return t
}

func (t *variety) begin() {
	t.round++
	for k := range t.keys {
		t.keys[k].n = t.keys[k].fixed
	}
}

// add counts the values of an offering.
func (t *variety) add(item int) {
	for k := range t.keys {
		x := &t.keys[k]
		if x.of == nil {
			continue
		}
		for _, v := range x.of[item] {
			if x.seen[v] != t.round {
				x.seen[v] = t.round
				x.n++
			}
		}
	}
}

// brings reports whether an offering has a value that is still lacking.
func (t *variety) brings(item int) bool {
	for k := range t.keys {
		x := &t.keys[k]
		if x.n >= x.least || x.of == nil {
			continue
		}
		for _, v := range x.of[item] {
			if x.seen[v] != t.round {
				return true
			}
		}
	}
	return false
}

// full reports whether enough values of every key were counted.
func (t *variety) full() bool { return t.lacking() == nil }

// lacking is the first key of which too few values were counted; nil when there is none.
func (t *variety) lacking() *numbered {
	for k := range t.keys {
		if t.keys[k].n < t.keys[k].least {
			return &t.keys[k]
		}
	}
	return nil
}

// same reports whether two offerings have the same values.
func (t *variety) same(i, j int) bool {
	for k := range t.keys {
		if of := t.keys[k].of; of != nil && !slices.Equal(of[i], of[j]) {
			return false
		}
	}
	return true
}

// enough reports whether the items show enough distinct values for every requirement with minValues.
func (s *nodePool) enough(items []int) bool {
	if len(s.choosy) == 0 {
		return true
	}
	t := s.variety()
	for _, i := range items {
		t.add(i)
	}
	return t.full()
}

// varied reports whether the offerings that hold need are enough; of no need, all of them.
func (s *nodePool) varied(from bitset.Set, need vec.Vec) bool {
	if len(s.choosy) == 0 {
		return true
	}
	t := s.variety()
	for i := from.First(); i >= 0; i = from.Next(i + 1) {
		if need != nil && !s.room[i].Covers(need) {
			continue
		}
		t.add(i)
		if t.full() {
			return true
		}
	}
	return t.full()
}

// lack names the first requirement of whose minValues the offerings fall short, and says so; "" when there is none.
func (s *nodePool) lack(from bitset.Set) (key, text string) {
	if len(s.choosy) == 0 {
		return "", ""
	}
	t := s.variety()
	from.Each(t.add)
	x := t.lacking()
	if x == nil {
		return "", ""
	}
	return x.key, fmt.Sprintf("label %s: the pool wants at least %d distinct values to choose from, %d remain", x.key, x.least, x.n)
}

// MinValues says whether the choice that a pool asks for with minValues is a must (Input.MinValues).
type MinValues string

// The ways to treat minValues.
const (
	// Strict leaves pods over rather than buy a machine for them that shows fewer distinct values than its pool asks for.
	Strict MinValues = "Strict"
	// BestEffort buys with less choice for pods that found no place under Strict, in the same pool, before a lighter pool is asked. Such a
	// new claim says so (New claim.Relaxed), and asks for as many values as its options show.
	BestEffort MinValues = "BestEffort"
)

// most returns how many of size one machine may be filled with beside base, at most n: as many as some offering holds, or, with
// minValues, enough of them.
func (s *nodePool) most(from bitset.Set, base, size vec.Vec, n int) int {
	best := 0
	if len(s.choosy) == 0 {
		from.Each(func(i int) {
			if best < n {
				best = max(best, s.room[i].TimesBeside(base, size, n))
			}
		})
		return best
	}
	return sort.Search(n, func(k int) bool {
		need := base.Clone()
		need.Take(size, -(k + 1))
		return !s.varied(from, need)
	})
}
