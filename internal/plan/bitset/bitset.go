// Package bitset holds sets of small integers.
package bitset

import "math/bits"

// Set is a set of small integers, as words of bits. Sets that meet have the same length.
type Set []uint64

// New returns an empty set for integers below n.
func New(n int) Set { return make(Set, (n+63)/64) }

// Add adds a member.
func (s Set) Add(i int) { s[i/64] |= 1 << (i % 64) }

// Remove drops a member.
func (s Set) Remove(i int) { s[i/64] &^= 1 << (i % 64) }

// Has reports whether i is a member.
func (s Set) Has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// And returns a fresh intersection.
func (s Set) And(o Set) Set {
	out := make(Set, len(s))
	for i := range s {
		out[i] = s[i] & o[i]
	}
	return out
}

// Narrow drops from s in place what is not in o.
func (s Set) Narrow(o Set) {
	for i := range s {
		s[i] &= o[i]
	}
}

// Minus returns a fresh set of the members of s that are not in o.
func (s Set) Minus(o Set) Set {
	out := make(Set, len(s))
	for i := range s {
		out[i] = s[i] &^ o[i]
	}
	return out
}

// Or adds o to s in place.
func (s Set) Or(o Set) {
	for i := range s {
		s[i] |= o[i]
	}
}

// Count returns the number of members.
func (s Set) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Lacks counts the members of s that are not in o.
func (s Set) Lacks(o Set) int {
	n := 0
	for i := range s {
		n += bits.OnesCount64(s[i] &^ o[i])
	}
	return n
}

// Within reports whether every member of s is in o.
func (s Set) Within(o Set) bool {
	for i := range s {
		if s[i]&^o[i] != 0 {
			return false
		}
	}
	return true
}

// Meets reports whether s and o have a member in common.
func (s Set) Meets(o Set) bool {
	for i := range s {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// First returns the smallest member, or -1.
func (s Set) First() int {
	for i, w := range s {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// Each calls f with every member in ascending order.
func (s Set) Each(f func(i int)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}

// Where returns a fresh set of the members that keep accepts.
func (s Set) Where(keep func(i int) bool) Set {
	out := make(Set, len(s))
	s.Each(func(i int) {
		if keep(i) {
			out.Add(i)
		}
	})
	return out
}

// Next returns the smallest member that is at least from, or -1.
func (s Set) Next(from int) int {
	w := from / 64
	if w >= len(s) {
		return -1
	}
	if x := s[w] >> (from % 64); x != 0 {
		return from + bits.TrailingZeros64(x)
	}
	for w++; w < len(s); w++ {
		if s[w] != 0 {
			return w*64 + bits.TrailingZeros64(s[w])
		}
	}
	return -1
}
