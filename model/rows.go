package model

import (
	"iter"
	"slices"
	"sort"
)

// Rows is a sorted list of objects, kept in chunks that never change: a list made from another by a few edits shares all chunks but
// those that the edits touch. The zero value is empty. Nobody may change the objects.
type Rows[T any] struct {
	chunks [][]*T
	n      int
}

// rowsPerChunk is how many rows a chunk has at most: few enough that copying one costs nothing, enough that there are few chunks.
const rowsPerChunk = 256

// Edit puts New in the place of Old. Both have the same key; nil stands for no row.
type Edit[T any] struct{ Old, New *T }

// Row returns one of the two that there is, for its key.
func (e Edit[T]) Row() *T {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Len is the number of rows.
func (r Rows[T]) Len() int { return r.n }

// All yields the rows in order.
func (r Rows[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, c := range r.chunks {
			for _, x := range c {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// First is the first row; nil when there is none.
func (r Rows[T]) First() *T {
	if r.n == 0 {
		return nil
	}
	return r.chunks[0][0]
}

// Find returns the first row of which at says 0; at is negative for rows before that, positive behind. nil when there is none.
func (r Rows[T]) Find(at func(*T) int) *T {
	for x := range r.From(at) {
		if at(x) == 0 {
			return x
		}
		break
	}
	return nil
}

// From yields the rows from the first on that is not before what is looked for.
func (r Rows[T]) From(at func(*T) int) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		c := sort.Search(len(r.chunks), func(i int) bool { l := r.chunks[i]; return at(l[len(l)-1]) >= 0 })
		if c == len(r.chunks) {
			return
		}
		from := sort.Search(len(r.chunks[c]), func(i int) bool { return at(r.chunks[c][i]) >= 0 })
		for ; c < len(r.chunks); c++ {
			for _, x := range r.chunks[c][from:] {
				if !yield(x) {
					return
				}
			}
			from = 0
		}
	}
}

// With returns the list with the edits made. They are sorted by order, one for each key, and fit the list. O(edits × chunk + chunks).
func (r Rows[T]) With(order func(a, b *T) int, edits []Edit[T]) Rows[T] {
	if len(edits) == 0 {
		return r
	}
	out := Rows[T]{chunks: make([][]*T, 0, len(r.chunks)+1+len(edits)/rowsPerChunk), n: r.n}
	old := r.chunks
	for len(edits) > 0 {
		// The chunk of an edit is the first that does not end before it; what is behind all belongs to the last.
		c := sort.Search(len(old), func(i int) bool { return order(old[i][len(old[i])-1], edits[0].Row()) >= 0 })
		if c == len(old) && c > 0 {
			c--
		}
		out.chunks = append(out.chunks, old[:c]...)
		old = old[c:]
		n := len(edits)
		var chunk []*T
		if len(old) > 0 {
			if len(old) > 1 {
				end := old[0][len(old[0])-1]
				n = sort.Search(len(edits), func(i int) bool { return order(edits[i].Row(), end) > 0 })
			}
			chunk, old = old[0], old[1:]
		}
		out.add(merged(chunk, order, edits[:n]))
		for _, e := range edits[:n] {
			if e.Old == nil {
				out.n++
			}
			if e.New == nil {
				out.n--
			}
		}
		edits = edits[n:]
	}
	out.chunks = append(out.chunks, old...)
	return out
}

// merged returns a chunk, of any length, with the edits made.
func merged[T any](chunk []*T, order func(a, b *T) int, edits []Edit[T]) []*T {
	out := make([]*T, 0, len(chunk)+len(edits))
	for _, e := range edits {
		at := sort.Search(len(chunk), func(i int) bool { return order(chunk[i], e.Row()) >= 0 })
		out = append(out, chunk[:at]...)
		chunk = chunk[at:]
		if e.Old != nil {
			chunk = chunk[1:]
		}
		if e.New != nil {
			out = append(out, e.New)
		}
	}
	return append(out, chunk...)
}

// add appends rows, in as many chunks as they need. A small chunk joins the one before it.
func (r *Rows[T]) add(list []*T) {
	if last := len(r.chunks) - 1; last >= 0 && len(r.chunks[last])+len(list) <= rowsPerChunk/2 {
		list = slices.Concat(r.chunks[last], list)
		r.chunks = r.chunks[:last]
	}
	for len(list) > rowsPerChunk {
		n := rowsPerChunk / 2
		r.chunks = append(r.chunks, list[:n:n])
		list = list[n:]
	}
	if len(list) > 0 {
		r.chunks = append(r.chunks, list)
	}
}
