package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// undo remembers what a question changed. A nil *undo remembers nothing.
type undo struct {
	d      *problem
	frees  []oldFree
	counts []oldCount
	lims   []oldLim
	// light is set when only counts are ever taken back, those from marked on.
	light  bool
	marked int
	mounts []oldMount
}

type oldMount struct {
	slot int32
	id   string
	n    int
}

type oldFree struct {
	slot int32
	free vec.Vec
}

type oldCount struct {
	t      *counter
	dom, n int32
}

type oldLim struct {
	x   *term
	dom int32
	lim int32
	had bool
}

func (u *undo) free(slot int32, free vec.Vec) {
	if u != nil && !u.light {
		u.frees = append(u.frees, oldFree{slot, free.Clone()})
	}
}

// mounted notes that n pods more use a volume on an existing node.
func (u *undo) mounted(slot int32, id string, n int) {
	if u != nil {
		u.mounts = append(u.mounts, oldMount{slot, id, n})
	}
}

// add counts n pods in a domain.
func (u *undo) add(t *counter, dom, n int32) {
	t.add(dom, n)
	if u != nil {
		u.counts = append(u.counts, oldCount{t, dom, n})
	}
}

func (u *undo) lim(x *term, dom int32) {
	if u != nil && !u.light {
		old, had := x.lim[dom]
		u.lims = append(u.lims, oldLim{x, dom, old, had})
	}
}

// mark notes the counts as they are, for rewind.
func (u *undo) mark() { u.marked = len(u.counts) }

// rewind takes back the counts since the mark.
func (u *undo) rewind() {
	for _, c := range slices.Backward(u.counts[u.marked:]) {
		c.t.add(c.dom, -c.n)
	}
	u.counts = u.counts[:u.marked]
}

func (u *undo) rollback() {
	for _, f := range slices.Backward(u.frees) {
		copy(u.d.existing[f.slot].free, f.free)
		u.d.rooms.set(int(f.slot), f.free)
	}
	for _, m := range u.mounts {
		u.d.existing[m.slot].volumes[m.id] -= m.n
	}
	for _, c := range slices.Backward(u.counts) {
		c.t.add(c.dom, -c.n)
	}
	for _, l := range slices.Backward(u.lims) {
		delete(l.x.lim, l.dom)
		if l.had {
			l.x.lim[l.dom] = l.lim
		}
	}
}
