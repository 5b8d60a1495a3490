package problem

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
	Key   string
	least int
	of    [][]int32 // per item: its values; nil when machines have no say in the key
	fixed int       // how many values there are where machines have no say
	seen  []int32   // per value: the last count that saw it
	N     int       // how many the current count saw
}

// Variety counts distinct values among offerings.
type Variety struct {
	Keys  []numbered
	round int32
}

// Variety begins to count the values of the keys with minValues; the one before it ends.
func (s *NodePool) Variety() *Variety {
	if s.counts == nil {
		s.counts = s.number()
	}
	s.counts.begin()
	return s.counts
}

// number numbers the values of all offerings. O(values × offerings/64 + offerings).
func (s *NodePool) number() *Variety {
	t := &Variety{}
	for _, k := range s.Wanted {
		v, _ := s.Own.Get(k)
		x := numbered{Key: k, least: v.MinValues()}
		c := s.Offerings.Keys[k]
		if c == nil {
			list, _ := v.Listed()
			x.fixed = len(list)
			t.Keys = append(t.Keys, x)
			continue
		}
		x.of, x.seen = make([][]int32, len(s.Offerings.Items)), make([]int32, len(c.Sets))
		ids := make([]int32, len(c.Sets))
		for id, have := range c.Sets {
			ids[id] = int32(id)
			have.Each(func(i int) {
				if x.of[i] == nil {
					x.of[i] = ids[id : id+1 : id+1]
				} else { // whoever buys chooses
					x.of[i] = append(x.of[i], int32(id))
				}
			})
		}
		t.Keys = append(t.Keys, x)
	}
	return t
}

func (t *Variety) begin() {
	t.round++
	for k := range t.Keys {
		t.Keys[k].N = t.Keys[k].fixed
	}
}

// Add counts the values of an offering.
func (t *Variety) Add(item int) {
	for k := range t.Keys {
		x := &t.Keys[k]
		if x.of == nil {
			continue
		}
		for _, v := range x.of[item] {
			if x.seen[v] != t.round {
				x.seen[v] = t.round
				x.N++
			}
		}
	}
}

// Brings reports whether an offering has a value that is still lacking.
func (t *Variety) Brings(item int) bool {
	for k := range t.Keys {
		x := &t.Keys[k]
		if x.N >= x.least || x.of == nil {
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

// Full reports whether enough values of every key were counted.
func (t *Variety) Full() bool { return t.lacking() == nil }

// lacking is the first key of which too few values were counted; nil when there is none.
func (t *Variety) lacking() *numbered {
	for k := range t.Keys {
		if t.Keys[k].N < t.Keys[k].least {
			return &t.Keys[k]
		}
	}
	return nil
}

// Same reports whether two offerings have the same values.
func (t *Variety) Same(i, j int) bool {
	for k := range t.Keys {
		if of := t.Keys[k].of; of != nil && !slices.Equal(of[i], of[j]) {
			return false
		}
	}
	return true
}

// Enough reports whether the items show enough distinct values for every requirement with minValues.
func (s *NodePool) Enough(items []int) bool {
	if len(s.Choosy) == 0 {
		return true
	}
	t := s.Variety()
	for _, i := range items {
		t.Add(i)
	}
	return t.Full()
}

// Varied reports whether the offerings that hold need are enough; of no need, all of them.
func (s *NodePool) Varied(from bitset.Set, need vec.Vec) bool {
	if len(s.Choosy) == 0 {
		return true
	}
	t := s.Variety()
	for i := from.First(); i >= 0; i = from.Next(i + 1) {
		if need != nil && !s.Room[i].Covers(need) {
			continue
		}
		t.Add(i)
		if t.Full() {
			return true
		}
	}
	return t.Full()
}

// Lack names the first requirement of whose minValues the offerings fall short, and says so; "" when there is none.
func (s *NodePool) Lack(from bitset.Set) (key, text string) {
	if len(s.Choosy) == 0 {
		return "", ""
	}
	t := s.Variety()
	from.Each(t.Add)
	x := t.lacking()
	if x == nil {
		return "", ""
	}
	return x.Key, fmt.Sprintf(
		"label %s: the pool wants at least %d distinct values to choose from, %d remain",
		x.Key,
		x.least,
		x.N,
	)
}

// MinValues says whether the choice that a pool asks for with MinValues is a must (Input.MinValues).
type MinValues string

// The ways to treat minValues.
const (
	// Strict leaves pods over rather than buy a machine for them that shows fewer distinct values than its pool asks for.
	Strict MinValues = "Strict"
	// BestEffort buys with less choice for pods that found no place under Strict, in the same pool, before a lighter pool is asked. Such a
	// new claim says so (New claim.Relaxed), and asks for as many values as its options show.
	BestEffort MinValues = "BestEffort"
)

// Most returns how many of size one machine may be filled with beside base, at most n: as many as some offering holds, or, with
// minValues, enough of them.
func (s *NodePool) Most(from bitset.Set, base, size vec.Vec, n int) int {
	best := 0
	if len(s.Choosy) == 0 {
		from.Each(func(i int) {
			if best < n {
				best = max(best, s.Room[i].TimesBeside(base, size, n))
			}
		})
		return best
	}
	return sort.Search(n, func(k int) bool {
		need := base.Clone()
		need.Take(size, -(k + 1))
		return !s.Varied(from, need)
	})
}
