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
// Cost: put, drop and get are O(log n); settle is O(changed objects × chunk) when they came in order, as an API server lists them, and sorts
// them otherwise; list is O(1) when nothing changed since the last call, else O(n).
type table[T model.Object] struct {
	order func(a, b *T) int // total order of the list; equal only for equal keys
	// finish fills in what other objects say about this one; nil = nothing. It does so anew when asked again. What the object shares with
	// others it replaces, and does not change.
	finish func(*T)

	rows model.Rows[T]
	flat []T // of rows; nil when they changed since
	// edits are what became of rows since they were made, each object once, in the order in which they changed first; changed says by key
	// where in it.
	edits   []edit[T]
	changed map[string]int
	// heard are the keys that the Follow of number follow told, but for those in edits that say so, until it is through: settled is the
	// last that was.
	heard           map[string]struct{}
	follow, settled uint64
}

// edit is what became of an object since the rows were made.
type edit[T any] struct {
	key  string
	told uint64 // the Follow that told it last; 0 = none has since the rows were made
	model.Edit[T]
}

func newTable[T model.Object](order func(a, b *T) int) table[T] {
	return table[T]{order: order, changed: map[string]int{}, settled: math.MaxUint64}
}

// row returns the object that has like's key as it is now, nil if there is none, and as it is in the rows; and where its edit is, -1 if it has
// none.
func (t *table[T]) row(key string, like *T) (now, listed *T, at int) {
	if at, ok := t.changed[key]; ok {
		return t.edits[at].New, t.edits[at].Old, at
	}
	if t.rows.Len() > 0 {
		now = t.rows.Find(func(o *T) int { return t.order(o, like) })
	}
	return now, now, -1
}

// edited notes what became of an object, at the place that row said.
func (t *table[T]) edited(at int, e edit[T]) {
	if at >= 0 {
		t.edits[at] = e
		return
	}
	t.changed[e.key] = len(t.edits)
	t.edits = append(t.edits, e)
}

// get returns the object that has like's key.
func (t *table[T]) get(like T) (T, bool) {
	if now, _, _ := t.row(like.ObjectKey(), &like); now != nil {
		return *now, true
	}
	var none T
	return none, false
}

// put stores the object as told by Follow number told, and reports whether anything changed. old is what was there, nil if nothing was. The
// table keeps o.
func (t *table[T]) put(o *T, told uint64) (old *T, changed bool) {
	if t.finish != nil {
		t.finish(o)
	}
	key := (*o).ObjectKey()
	now, listed, at := t.row(key, o)
	if now != nil && reflect.DeepEqual(now, o) {
		if at >= 0 {
			t.edits[at].told = told
		} else {
			t.hear(key, told)
		}
		return now, false
	}
	t.edited(at, edit[T]{key, told, model.Edit[T]{Old: listed, New: o}})
	return now, true
}

// hear notes that the Follow told the object. One that is through, or that another has followed, has nothing to note.
func (t *table[T]) hear(key string, told uint64) {
	if told == t.settled || told < t.follow {
		return
	}
	if told != t.follow || t.heard == nil {
		t.follow, t.heard = told, map[string]struct{}{}
	}
	t.heard[key] = struct{}{}
}

// drop forgets the object that has like's key and returns it; nil when there is none.
func (t *table[T]) drop(like *T) *T {
	key := (*like).ObjectKey()
	now, listed, at := t.row(key, like)
	if now != nil {
		t.edited(at, edit[T]{key: key, Edit: model.Edit[T]{Old: listed}})
	}
	return now
}

// stale lists, in order, the objects that the Follow of number told, which is through, has not mentioned.
func (t *table[T]) stale(told uint64) []T {
	heard := t.heard
	if t.follow != told {
		heard = nil
	}
	t.heard, t.follow, t.settled = nil, told, told
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
	for i := range t.edits {
		if t.edits[i].told != told {
			note(t.edits[i].key, t.edits[i].New)
		}
	}
	slices.SortFunc(out, func(a, b T) int { return t.order(&a, &b) })
	return out
}

// again finishes anew the object that has like's key, if there is one.
func (t *table[T]) again(like T) {
	key := like.ObjectKey()
	now, listed, at := t.row(key, &like)
	if now == nil {
		return
	}
	n, told := *now, uint64(0)
	if at >= 0 {
		told = t.edits[at].told
	}
	t.finish(&n)
	if !reflect.DeepEqual(&n, now) {
		t.edited(at, edit[T]{key, told, model.Edit[T]{Old: listed, New: &n}})
	}
}

// settle brings the rows up to date, and says, in order, what changed since it was called last.
func (t *table[T]) settle() []model.Edit[T] {
	if len(t.edits) == 0 {
		return nil
	}
	edits := make([]model.Edit[T], 0, len(t.edits))
	for i := range t.edits {
		x := &t.edits[i]
		if x.told != 0 && x.New != nil {
			t.hear(x.key, x.told)
		}
		if x.Old != nil || x.New != nil { // else it came and went
			edits = append(edits, x.Edit)
		}
	}
	slices.SortFunc(edits, func(a, b model.Edit[T]) int { return t.order(a.Row(), b.Row()) })
	t.rows = t.rows.With(t.order, edits)
	t.edits, t.changed = nil, map[string]int{} // not cleared: after a first list they would stay as large as that
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
