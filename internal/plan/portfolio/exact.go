package portfolio

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/unbeaten"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// maxStates bounds how many different sets of waiting pods an exact search may tell apart.
const maxStates = 1 << 16

// exact finds the cheapest way to pack by looking at every sensible way, for inputs that are small enough to be looked at
// whole: few pods, or many of one or two groups. nil when the input is too large or the budget of steps does not suffice.
func (p *Packer) exact(want []int, budget int) *Draft {
	states := 1
	var groups, left []int
	for g, n := range want {
		if n == 0 {
			continue
		}
		if states *= n + 1; states > maxStates {
			return nil
		}
		groups, left = append(groups, g), append(left, n)
	}
	// Choices are compared with each other first; that is work too.
	if budget -= len(p.Choices); budget <= 0 || len(groups) == 0 {
		p.Steps--
		return nil
	}
	p.Steps -= len(p.Choices) / 2
	e := &search{Packer: p, budget: min(budget, p.Steps), memo: map[string]answer{}, groups: groups, want: left}
	e.options = e.trim()
	start := e.budget
	a, ok := e.solve(slices.Clone(left), make([]vec.Vec, len(p.Limits)))
	if ok && !e.within(a) {
		// The limits bind: search again, this time with what is left of them as part of the question.
		e.bound, e.memo = true, map[string]answer{}
		a, ok = e.solve(slices.Clone(left), p.Remaining(nil))
	}
	p.Steps -= start - max(e.budget, 0)
	if !ok {
		return nil
	}
	d := &Draft{}
	for at := a.plan; at != nil; at = at.next {
		d.Bins = append(d.Bins, Bin{at.bin.Choice, at.bin.Loads})
	}
	return p.settle(d, want)
}

// answer is the best way to pack one state; plan is a linked list so that states share their tails.
type answer struct {
	missed, bins int
	price        int64
	plan         *link
}

type link struct {
	bin  Bin
	next *link
}

func (a answer) better(b answer) bool {
	return cmp.Or(cmp.Compare(a.missed, b.missed), cmp.Compare(a.price, b.price), cmp.Compare(a.bins, b.bins)) < 0
}

type search struct {
	*Packer
	groups  []int // those that wait; all lists of counts below are by position here
	want    []int
	options []int // choices worth looking at
	budget  int
	bound   bool // limits are part of the state
	memo    map[string]answer
	text    []byte
	rooms   vec.Vec // of the machines being filled, one after the other
}

// trim returns the choices that are not beaten once rooms are cut down to what all waiting pods together need. Choices come by price: what
// is as dear as one that holds everything, or dearer, is not looked at.
func (e *search) trim() []int {
	dims := len(e.Sizes[0])
	total, waiting := make(vec.Vec, dims), make(bitset.Set, len(e.Choices[0].Takes))
	for at, n := range e.want {
		total.Take(e.Sizes[e.groups[at]], -n)
		waiting.Add(e.Kinds[e.groups[at]])
	}
	// Of pods that are all alike, only how many fit tells machines apart.
	only, most := -1, 0
	if len(e.groups) == 1 {
		only = e.groups[0]
		most = min(e.want[0], e.bearable(nil, only))
	}
	whole := make([]*Choice, len(e.Limits)) // per seller: the first choice that holds everything
	cuts, of := make([]unbeaten.Option, 0, min(len(e.Choices), unbeaten.Block)), make([]int, 0, len(e.Choices))
	var flat vec.Vec
	for i := range e.Choices {
		o := &e.Choices[i]
		if w := whole[o.Seller]; !o.Takes.Meets(waiting) || w != nil && (w.Free == 0 || w.Free == o.Free) && o.Cost.Covers(w.Cost) {
			continue
		}
		if len(flat) < dims {
			flat = make(vec.Vec, unbeaten.Block*dims)
		}
		c := unbeaten.Option{Seller: o.Seller, Cost: o.Cost, Takes: o.Takes, Free: o.Free, Room: flat[:dims:dims]}
		flat = flat[dims:]
		all := only < 0
		if only >= 0 {
			k := min(o.Room.Times(e.Sizes[only], most), most)
			all = k == most
			c.Room.Take(e.Sizes[only], -k)
		} else {
			for r, v := range o.Room {
				c.Room[r] = min(v, total[r])
				all = all && v >= total[r]
			}
		}
		if all && whole[o.Seller] == nil && waiting.Within(o.Takes) {
			whole[o.Seller] = o
		}
		cuts, of = append(cuts, c), append(of, i)
	}
	kept, took := unbeaten.Of(len(cuts), func(i int) *unbeaten.Option { return &cuts[i] }, e.budget)
	for at, i := range kept {
		kept[at] = of[i]
	}
	if more := took - len(e.Choices)/2; more > 0 { // half of the choices were charged before
		e.Steps, e.budget = e.Steps-more, max(1, e.budget-more)
	}
	return kept
}

// position is where the load's group stands among those that wait.
func (e *search) position(l Load) int {
	at, _ := slices.BinarySearch(e.groups, l.Group)
	return at
}

// within reports whether the plan keeps the limits.
func (e *search) within(a answer) bool {
	left := e.Remaining(nil)
	for at := a.plan; at != nil; at = at.next {
		c := e.Choices[at.bin.Choice]
		if !left[c.Seller].Covers(c.Cost) {
			return false
		}
		left[c.Seller].Take(c.Cost, 1)
	}
	return true
}

// key writes the state into e.text.
func (e *search) key(left []int, limits []vec.Vec) {
	b := e.text[:0]
	for _, n := range left {
		b = binary.AppendUvarint(b, uint64(n))
	}
	if e.bound {
		for _, v := range limits {
			for _, x := range v {
				b = binary.AppendVarint(b, x)
			}
		}
	}
	e.text = b
}

// solve returns the best answer for the pods left. Some machine holds the first waiting pod, so only machines that
// take it need be tried; ok is false when the budget is spent. The depth is bounded by the number of pods.
func (e *search) solve(left []int, limits []vec.Vec) (best answer, ok bool) {
	first := slices.IndexFunc(left, func(n int) bool { return n > 0 })
	if first < 0 {
		return answer{}, true
	}
	e.key(left, limits)
	if a, ok := e.memo[string(e.text)]; ok {
		return a, true
	}
	key := string(e.text)
	best, found := answer{}, false
	for _, ci := range e.options {
		c := &e.Choices[ci]
		if !e.takes(ci, e.groups[first]) || e.bound && !limits[c.Seller].Covers(c.Cost) {
			continue
		}
		t := &try{search: e, ci: ci, left: left, limits: limits, best: &best, found: &found}
		if !t.fill(first, c.Room, make([]Load, 0, len(left))) {
			return answer{}, false
		}
	}
	if e.bound || !found {
		// Leaving the first pod (and so all its like that are left) without a place may be the only way, or save the
		// limits for more pods.
		n := left[first]
		left[first] = 0
		a, ok := e.solve(left, limits)
		left[first] = n
		if !ok {
			return answer{}, false
		}
		if a.missed += n; !found || a.better(best) {
			best = a
		}
	}
	e.memo[key] = best
	return best, true
}

// try enumerates the ways to fill one machine of one choice with what is left, beginning at one group.
type try struct {
	*search
	ci     int
	left   []int
	limits []vec.Vec
	best   *answer
	found  *bool
}

// fill decides how many pods of the group at a position and of all later ones go in. The first group gives at least one pod, the last
// one as many as fit: a machine that could hold more of them is never better. It is false when the budget is spent.
func (t *try) fill(at int, room vec.Vec, loads []Load) bool {
	if t.budget--; t.budget < 0 {
		return false
	}
	for at < len(t.left) && (t.left[at] == 0 || !t.takes(t.ci, t.groups[at]) || room.Times(t.Sizes[t.groups[at]], 1) == 0 || t.bearable(loads, t.groups[at]) == 0) {
		at++
	}
	if at == len(t.left) {
		return len(loads) == 0 || t.close(loads)
	}
	g, last := t.groups[at], true
	for h := at + 1; h < len(t.left); h++ {
		last = last && (t.left[h] == 0 || !t.takes(t.ci, t.groups[h]))
	}
	most := min(room.Times(t.Sizes[g], t.left[at]), t.bearable(loads, g))
	least := 0
	if len(loads) == 0 {
		least = 1
	}
	if last {
		least = most
	}
	mark := len(t.rooms)
	for n := most; n >= least; n-- {
		next, with := room, loads
		if n > 0 {
			t.rooms = append(t.rooms, room...)
			next = t.rooms[mark:]
			next.Take(t.Sizes[g], n)
			with = append(loads, Load{g, n}) // in the room of the ways before, which are done with
		}
		ok := t.fill(at+1, next, with)
		if t.rooms = t.rooms[:mark]; !ok {
			return false
		}
	}
	return true
}

// close buys the filled machine and solves the rest.
func (t *try) close(loads []Load) bool {
	c := &t.Choices[t.ci]
	for _, l := range loads {
		t.left[t.position(l)] -= l.N
	}
	limits := t.limits
	if t.bound {
		limits = slices.Clone(t.limits)
		limits[c.Seller] = limits[c.Seller].Clone()
		limits[c.Seller].Take(c.Cost, 1)
	}
	a, ok := t.solve(t.left, limits)
	for _, l := range loads {
		t.left[t.position(l)] += l.N
	}
	if !ok {
		return false
	}
	a.price, a.bins = a.price+c.Price, a.bins+1
	if !*t.found || a.better(*t.best) {
		a.plan = &link{Bin{t.ci, slices.Clone(loads)}, a.plan}
		*t.best, *t.found = a, true
	}
	return true
}
