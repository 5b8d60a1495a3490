package place

import "math/bits"

// set is a set of small integers, as words of bits. Sets that meet have the same length.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// and returns a fresh intersection.
func (s set) and(o set) set {
	out := make(set, len(s))
	for i := range s {
		out[i] = s[i] & o[i]
	}
	return out
}

// narrow drops from s in place what is not in o.
func (s set) narrow(o set) {
	for i := range s {
		s[i] &= o[i]
	}
}

// minus returns a fresh set of the members of s that are not in o.
func (s set) minus(o set) set {
	out := make(set, len(s))
	for i := range s {
		out[i] = s[i] &^ o[i]
	}
	return out
}

// or adds o to s in place.
func (s set) or(o set) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s set) count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// lacks counts the members of s that are not in o.
func (s set) lacks(o set) int {
	n := 0
	for i := range s {
		n += bits.OnesCount64(s[i] &^ o[i])
	}
	return n
}

// within reports whether every member of s is in o.
func (s set) within(o set) bool {
	for i := range s {
		if s[i]&^o[i] != 0 {
			return false
		}
	}
	return true
}

// meets reports whether s and o have a member in common.
func (s set) meets(o set) bool {
	for i := range s {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// first returns the smallest member, or -1.
func (s set) first() int {
	for i, w := range s {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// each calls f with every member in ascending order.
func (s set) each(f func(i int)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}

// next returns the smallest member that is at least from, or -1.
func (s set) next(from int) int {
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
