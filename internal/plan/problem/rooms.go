package problem

import "github.com/karpenter-aks/karpenter/internal/plan/vec"

// rooms finds the next existing node with enough room. It is a tree of maxima over the existing nodes: an inner node knows the most of each amount
// that any existing node below it has. A question costs O(log existing nodes) plus a little for existing nodes that have one amount but not the other.
type rooms struct {
	width int     // leaves, a power of two
	dims  int     // amounts per node
	max   []int64 // per node, root at 1
}

func newRooms(slots []*ExistingNode) rooms {
	if len(slots) == 0 {
		return rooms{}
	}
	r := rooms{width: 1, dims: len(slots[0].Free)}
	for r.width < len(slots) {
		r.width *= 2
	}
	r.max = make([]int64, 2*r.width*r.dims)
	for i := range r.max {
		r.max[i] = -1
	}
	for i, s := range slots {
		copy(r.at(r.width+i), s.Free)
	}
	for n := r.width - 1; n > 0; n-- {
		r.pull(n)
	}
	return r
}

func (r *rooms) at(n int) []int64 { return r.max[n*r.dims : (n+1)*r.dims] }

func (r *rooms) pull(n int) (changed bool) {
	v, a, b := r.at(n), r.at(2*n), r.at(2*n+1)
	for i := range v {
		if m := max(a[i], b[i]); m != v[i] {
			v[i], changed = m, true
		}
	}
	return changed
}

// Set notes what existing node i has now.
func (r *rooms) Set(i int, free vec.Vec) {
	n := r.width + i
	copy(r.at(n), free)
	for n /= 2; n > 0 && r.pull(n); n /= 2 {
	}
}

func (r *rooms) covers(n int, size vec.Vec) bool {
	v := r.at(n)
	for i, s := range size {
		if v[i] < s {
			return false
		}
	}
	return true
}

// Next returns the first existing node, from from on, that has room for size; -1 when none has.
func (r *rooms) Next(from int, size vec.Vec) int {
	if from >= r.width {
		return -1
	}
	n := r.width + from
	for {
		if r.covers(n, size) {
			for n < r.width {
				n *= 2
				if !r.covers(n, size) {
					n++
					if !r.covers(n, size) {
						break // one amount on the left, the other on the right
					}
				}
			}
			if n >= r.width && r.covers(n, size) {
				return n - r.width
			}
		}
		// The next subtree to the right.
		for n&1 == 1 {
			n /= 2
		}
		if n == 0 {
			return -1
		}
		n++
	}
}
