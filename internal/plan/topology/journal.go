package topology

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// Journal remembers what a question changed. A nil *undo remembers nothing.
type Journal struct {
	Problem *problem.Problem
	frees   []oldFree
	counts  []oldCount
	lifts   []oldLift
	lims    []oldLim
	// Light is set when only counts are ever taken back, those from marked on.
	Light  bool
	marked struct{ counts, lifts int }
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
	t      *Counter
	dom, n int32
}

type oldLift struct {
	t   *Counter
	dom int32
}

type oldLim struct {
	x   *Term
	dom int32
	lim int32
	had bool
}

// Free notes the room of an existing node before it changes.
func (u *Journal) Free(slot int32, free vec.Vec) {
	if u != nil && !u.Light {
		u.frees = append(u.frees, oldFree{slot, free.Clone()})
	}
}

// Mounted notes that n pods more use a volume on an existing node.
func (u *Journal) Mounted(slot int32, id string, n int) {
	if u != nil {
		u.mounts = append(u.mounts, oldMount{slot, id, n})
	}
}

// Add counts n pods in a domain.
func (u *Journal) Add(t *Counter, dom, n int32) {
	t.Add(dom, n)
	if u != nil {
		u.counts = append(u.counts, oldCount{t, dom, n})
	}
}

// Lift has machines that go, by spot, be the emptiest of a spread over machines no longer, as if very many pods were on them. O(machines).
func (u *Journal) Lift(x *Term, gone []int32) {
	for _, spot := range gone {
		if x.Matched.isLifted(spot) {
			continue
		}
		x.Matched.lift(spot)
		if u != nil {
			u.lifts = append(u.lifts, oldLift{&x.Matched, spot})
		}
	}
}

// ForgetHosts drops what was counted on single machines from the spot on: there are none. The sums of
// the counters keep it. O(what is noted).
func (u *Journal) ForgetHosts(from int32) {
	for _, c := range u.counts {
		if c.t.host && c.dom >= from {
			delete(c.t.n, c.dom)
		}
	}
}

// sink takes back what was lifted, from one on.
func (u *Journal) sink(from int) {
	for _, l := range u.lifts[from:] {
		l.t.sink(l.dom)
	}
	u.lifts = u.lifts[:from]
}

func (u *Journal) lim(x *Term, dom int32) {
	if u != nil && !u.Light {
		old, had := x.lim[dom]
		u.lims = append(u.lims, oldLim{x, dom, old, had})
	}
}

// Mark notes the counts as they are, for rewind.
func (u *Journal) Mark() { u.marked.counts, u.marked.lifts = len(u.counts), len(u.lifts) }

// Rewind takes back the counts since the mark.
func (u *Journal) Rewind() {
	for _, c := range slices.Backward(u.counts[u.marked.counts:]) {
		c.t.Add(c.dom, -c.n)
	}
	u.sink(u.marked.lifts)
	u.counts = u.counts[:u.marked.counts]
}

// Rollback takes back all that is noted.
func (u *Journal) Rollback() {
	for _, f := range slices.Backward(u.frees) {
		copy(u.Problem.Existing[f.slot].Free, f.free)
		u.Problem.Rooms.Set(int(f.slot), f.free)
	}
	for _, m := range u.mounts {
		u.Problem.Existing[m.slot].Volumes[m.id] -= m.n
	}
	for _, c := range slices.Backward(u.counts) {
		c.t.Add(c.dom, -c.n)
	}
	u.sink(0)
	for _, l := range slices.Backward(u.lims) {
		delete(l.x.lim, l.dom)
		if l.had {
			l.x.lim[l.dom] = l.lim
		}
	}
}
