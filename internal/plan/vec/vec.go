// Package vec adds up amounts of several resources.
package vec

import "slices"

// Vec is an amount of every resource that matters in one decision, in a fixed order of names.
type Vec []int64

// Times returns how many of size fit into v; at most most. Zero-sized things fit without bound.
func (v Vec) Times(size Vec, most int) int {
	n := int64(most)
	for i, s := range size {
		if s > 0 {
			n = min(n, v[i]/s)
		}
		if v[i] < 0 {
			return 0
		}
	}
	return int(max(n, 0))
}

// TimesBeside returns how many of size fit into v beside used; at most most.
func (v Vec) TimesBeside(used, size Vec, most int) int {
	n := int64(most)
	for i, s := range size {
		left := v[i] - used[i]
		if left < 0 {
			return 0
		}
		if s > 0 {
			n = min(n, left/s)
		}
	}
	return int(max(n, 0))
}

// Take subtracts n × size from v in place.
func (v Vec) Take(size Vec, n int) {
	for i, s := range size {
		v[i] -= s * int64(n)
	}
}

// Covers reports whether v is at least o everywhere.
func (v Vec) Covers(o Vec) bool {
	for i := range v {
		if v[i] < o[i] {
			return false
		}
	}
	return true
}

// Clone copies the vector.
func (v Vec) Clone() Vec { return slices.Clone(v) }
