package world

import (
	"math"
	"reflect"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// table holds the objects of one kind: as rows, of which each list shares with the one before what did not change, and what changed since
// the last list was made. An object is in memory once, because there may be hundreds of thousands.
//
// Cost: put, drop and get are O(log n); settle is O(changed objects × chunk); list is O(1) when nothing changed since the last call, else O(n).
type table[T model.Object] struct {
	order func(a, b T) int // total order of the list; equal only for equal keys
	// finish fills in what other objects say about this one; nil = nothing. It does so anew when asked again.
	finish func(T) T

	rows model.Rows[T]
	flat []T // of rows; nil when they changed since
	// changed holds, by key, what became of rows since they were made.
	changed map[string]model.Edit[T]
	// heard are the keys that the Follow of number follow told, until it is through: settled is the last that was.
	heard           map[string]struct{}
	follow, settled uint64
}

func newTable[T model.Object](order func(a, b T) int) table[T] {
	return table[T]{order: order, changed: map[string]model.Edit[T]{}, settled: math.MaxUint64}
}

// row returns the object that has like's key as it is now, nil if there is none, and as it is in the rows.
func (t *table[T]) row(key string, like T) (now, listed *T) {
	if e, ok := t.changed[key]; ok {
		return e.New, e.Old
	}
	now = t.rows.Find(func(o *T) int { return t.order(*o, like) })
	return now, now
}

// get returns the object that has like's key.
func (t *table[T]) get(like T) (T, bool) {
	if now, _ := t.row(like.ObjectKey(), like); now != nil {
		return *now, true
	}
	var none T
	return none, false
}

// put stores the object as told by Follow number told, and reports whether anything changed.
func (t *table[T]) put(o T, told uint64) (old T, had, changed bool) {
	if t.finish != nil {
		o = t.finish(o)
	}
	key := o.ObjectKey()
	t.hear(key, told)
	now, listed := t.row(key, o)
	if now != nil && reflect.DeepEqual(*now, o) {
		return *now, true, false
	}
	t.changed[key] = model.Edit[T]{Old: listed, New: &o}
	if now == nil {
		return old, false, true
	}
	return *now, true, true
}

// hear notes that the Follow told the object.
func (t *table[T]) hear(key string, told uint64) {
	if told == t.settled {
		return
	}
	if told != t.follow || t.heard == nil {
		t.follow, t.heard = told, map[string]struct{}{}
	}
	t.heard[key] = struct{}{}
}

// drop forgets the object that has like's key and returns it.
func (t *table[T]) drop(like T) (T, bool) {
	key := like.ObjectKey()
	now, listed := t.row(key, like)
	if now == nil {
		return like, false
	}
	t.changed[key] = model.Edit[T]{Old: listed}
	return *now, true
}

// stale lists, in order, the objects that the Follow of number told, which is through, has not mentioned.
func (t *table[T]) stale(told uint64) []T {
	heard := t.heard
	if t.follow != told {
		heard = nil
	}
	t.heard, t.settled = nil, told
	var out []T
	note := func(key string, o *T) {
		if _, ok := heard[key]; !ok && o != nil {
			out = append(out, *o)
		}
	}
	for o := range t.rows.All() {
		key := (*o).ObjectKey()
		if _, changed := t.changed[key]; !changed {
			note(key, o)
		}
	}
	for key, e := range t.changed {
		note(key, e.New)
	}
	slices.SortFunc(out, t.order)
	return out
}

// again finishes anew the object that has like's key, if there is one.
func (t *table[T]) again(like T) {
	key := like.ObjectKey()
	now, listed := t.row(key, like)
	if now == nil {
		return
	}
	if n := t.finish(*now); !reflect.DeepEqual(n, *now) {
		t.changed[key] = model.Edit[T]{Old: listed, New: &n}
	}
}

// settle brings the rows up to date, and says, in order, what changed since it was called last.
func (t *table[T]) settle() []model.Edit[T] {
	if len(t.changed) == 0 {
		return nil
	}
	edits := make([]model.Edit[T], 0, len(t.changed))
	for _, x := range t.changed {
		if x.Old != nil || x.New != nil { // else it came and went
			edits = append(edits, x)
		}
	}
	slices.SortFunc(edits, func(a, b model.Edit[T]) int { return t.order(*a.Row(), *b.Row()) })
	t.rows = t.rows.With(func(a, b *T) int { return t.order(*a, *b) }, edits)
	t.changed = map[string]model.Edit[T]{} // not cleared: after a first list it would stay as large as that
	if len(edits) > 0 {
		t.flat = nil
	}
	return edits
}

// list returns all objects in order. The caller must not change the list, and neither does the table.
func (t *table[T]) list() []T {
	t.settle()
	if t.flat == nil && t.rows.Len() > 0 {
		t.flat = make([]T, 0, t.rows.Len())
		for o := range t.rows.All() {
			t.flat = append(t.flat, *o)
		}
	}
	return t.flat
}
