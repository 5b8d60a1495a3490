package world

import (
	"reflect"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// table holds the objects of one kind: a sorted list of them that is never changed once handed out, and what changed since
// that list was made. An object is in memory once, because there may be hundreds of thousands.
//
// Cost: put, drop and get are O(log n); list is O(1) when nothing changed since the last call, else one copy of the old
// list with the c changed objects, O(n + c log n).
type table[T model.Object] struct {
	order func(a, b T) int // total order of the list; equal only for equal keys
	// finish fills in what other objects say about this one; nil = nothing. It does so anew when asked again.
	finish func(T) T

	sorted []T
	told   []uint64 // beside sorted: the Follow that told the object last
	// fresh holds, by key, what changed since sorted was made.
	fresh map[string]*row[T]
	count int // objects there are
}

// row is a changed object, or the place of one that is gone.
type row[T model.Object] struct {
	object T
	told   uint64
	gone   bool
}

func newTable[T model.Object](order func(a, b T) int) table[T] {
	return table[T]{order: order, fresh: map[string]*row[T]{}}
}

// find returns the place of like's key in sorted.
func (t *table[T]) find(like T) (int, bool) { return slices.BinarySearchFunc(t.sorted, like, t.order) }

// get returns the object that has like's key.
func (t *table[T]) get(like T) (T, bool) {
	if r, ok := t.fresh[like.ObjectKey()]; ok {
		return r.object, !r.gone
	}
	if i, ok := t.find(like); ok {
		return t.sorted[i], true
	}
	var none T
	return none, false
}

// put stores the object as told by Follow number told, and reports whether anything but that number changed.
func (t *table[T]) put(o T, told uint64) (old T, had, changed bool) {
	if t.finish != nil {
		o = t.finish(o)
	}
	key := o.ObjectKey()
	r, isFresh := t.fresh[key]
	seen := &told // who told it: beside where the object is
	if isFresh {
		old, had, seen = r.object, !r.gone, &r.told
	} else if at, ok := t.find(o); ok {
		old, had, seen = t.sorted[at], true, &t.told[at]
	}
	if had && reflect.DeepEqual(old, o) {
		*seen = told
		return old, true, false
	}
	if !had {
		t.count++
	}
	t.fresh[key] = &row[T]{object: o, told: told}
	return old, had, true
}

// drop forgets the object that has like's key and returns it.
func (t *table[T]) drop(like T) (T, bool) {
	old, had := t.get(like)
	if had {
		t.count--
		t.fresh[like.ObjectKey()] = &row[T]{object: like, gone: true}
	}
	return old, had
}

// stale lists, in order, the objects that no Follow since number told has mentioned.
func (t *table[T]) stale(told uint64) []T {
	var out []T
	for i, o := range t.sorted {
		if t.told[i] < told {
			if _, changed := t.fresh[o.ObjectKey()]; !changed {
				out = append(out, o)
			}
		}
	}
	for _, r := range t.fresh {
		if !r.gone && r.told < told {
			out = append(out, r.object)
		}
	}
	slices.SortFunc(out, t.order)
	return out
}

// again finishes anew the objects that concerned picks. O(n).
func (t *table[T]) again(concerned func(T) bool) {
	for _, r := range t.fresh {
		if !r.gone && concerned(r.object) {
			r.object = t.finish(r.object)
		}
	}
	for i, o := range t.sorted {
		if !concerned(o) {
			continue
		}
		if _, changed := t.fresh[o.ObjectKey()]; changed {
			continue
		}
		if n := t.finish(o); !reflect.DeepEqual(n, o) {
			t.fresh[o.ObjectKey()] = &row[T]{object: n, told: t.told[i]}
		}
	}
}

// list returns all objects in order. The caller must not change the list, and neither does the table.
func (t *table[T]) list() []T {
	if len(t.fresh) == 0 {
		return t.sorted
	}
	changed := make([]*row[T], 0, len(t.fresh))
	for _, r := range t.fresh {
		changed = append(changed, r)
	}
	slices.SortFunc(changed, func(a, b *row[T]) int { return t.order(a.object, b.object) })
	sorted, told := make([]T, 0, t.count), make([]uint64, 0, t.count)
	from := 0
	for _, r := range changed {
		n, had := slices.BinarySearchFunc(t.sorted[from:], r.object, t.order)
		sorted, told = append(sorted, t.sorted[from:from+n]...), append(told, t.told[from:from+n]...)
		if from += n; had {
			from++
		}
		if !r.gone {
			sorted, told = append(sorted, r.object), append(told, r.told)
		}
	}
	t.sorted, t.told = append(sorted, t.sorted[from:]...), append(told, t.told[from:]...)
	t.fresh = map[string]*row[T]{} // not cleared: after a first list it would stay as large as that
	return t.sorted
}
