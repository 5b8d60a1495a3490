package world

import (
	"reflect"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// table holds the objects of one kind and a sorted list of them that is never changed once handed out.
//
// Cost: put and drop are O(1); list is O(1) when nothing changed since the last call, else one merge of the old list
// with the c changed objects, O(n + c log c).
type table[T model.Object] struct {
	order func(a, b T) int // total order of the list; equal only for equal keys
	rows  map[string]row[T]
	// dirty holds the keys that changed since sorted was built.
	dirty  map[string]bool
	sorted []T
}

// row is an object and the Follow that told it last.
type row[T model.Object] struct {
	object T
	told   uint64
}

func newTable[T model.Object](order func(a, b T) int) table[T] {
	return table[T]{order: order, rows: map[string]row[T]{}, dirty: map[string]bool{}}
}

// put stores the object as told by Follow number told, and reports whether anything but that number changed.
func (t *table[T]) put(o T, told uint64) (old T, had, changed bool) {
	key := o.ObjectKey()
	was, had := t.rows[key]
	if had && reflect.DeepEqual(was.object, o) {
		t.rows[key] = row[T]{was.object, told}
		return was.object, true, false
	}
	t.rows[key] = row[T]{o, told}
	t.dirty[key] = true
	return was.object, had, true
}

// drop forgets the object of that key and returns it.
func (t *table[T]) drop(key string) (T, bool) {
	was, had := t.rows[key]
	if had {
		delete(t.rows, key)
		t.dirty[key] = true
	}
	return was.object, had
}

// stale lists, in order, the objects that no Follow since number told has mentioned.
func (t *table[T]) stale(told uint64) []T {
	var out []T
	for _, r := range t.rows {
		if r.told < told {
			out = append(out, r.object)
		}
	}
	slices.SortFunc(out, t.order)
	return out
}

// list returns all objects in order. The caller must not change the list, and neither does the table.
func (t *table[T]) list() []T {
	if len(t.dirty) == 0 {
		return t.sorted
	}
	fresh := make([]T, 0, len(t.dirty))
	for key := range t.dirty {
		if r, ok := t.rows[key]; ok {
			fresh = append(fresh, r.object)
		}
	}
	slices.SortFunc(fresh, t.order)
	out := make([]T, 0, len(t.rows))
	for _, o := range t.sorted {
		if t.dirty[o.ObjectKey()] {
			continue
		}
		for len(fresh) > 0 && t.order(fresh[0], o) < 0 {
			out, fresh = append(out, fresh[0]), fresh[1:]
		}
		out = append(out, o)
	}
	t.sorted = append(out, fresh...)
	clear(t.dirty)
	return t.sorted
}
