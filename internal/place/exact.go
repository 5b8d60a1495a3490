package place

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// maxStates bounds how many different sets of waiting pods an exact search may tell apart.
const maxStates = 1 << 16

// exact finds the cheapest way to pack by looking at every sensible way, for inputs that are small enough to be looked at
// whole: few pods, or many of one or two groups. nil when the input is too large or the budget of steps does not suffice.
func (p *packer) exact(want []int, budget int) *draft {
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
	if budget -= len(p.choices); budget <= 0 || len(groups) == 0 {
		p.steps--
		return nil
	}
	p.steps -= len(p.choices) / 2
	e := &search{packer: p, budget: min(budget, p.steps), memo: map[string]answer{}, groups: groups, want: left}
	e.options = e.trim()
	start := e.budget
	a, ok := e.solve(slices.Clone(left), make([]vec, len(p.limits)))
	if ok && !e.within(a) {
		// The limits bind: search again, this time with what is left of them as part of the question.
		e.bound, e.memo = true, map[string]answer{}
		a, ok = e.solve(slices.Clone(left), p.remaining(nil))
	}
	p.steps -= start - max(e.budget, 0)
	if !ok {
		return nil
	}
	d := &draft{}
	for at := a.plan; at != nil; at = at.next {
		d.bins = append(d.bins, bin{at.bin.choice, at.bin.loads})
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
	bin  bin
	next *link
}

func (a answer) better(b answer) bool {
	return cmp.Or(cmp.Compare(a.missed, b.missed), cmp.Compare(a.price, b.price), cmp.Compare(a.bins, b.bins)) < 0
}

type search struct {
	*packer
	groups  []int // those that wait; all lists of counts below are by position here
	want    []int
	options []int // choices worth looking at
	budget  int
	bound   bool // limits are part of the state
	memo    map[string]answer
	text    []byte
	rooms   vec // of the machines being filled, one after the other
}

// trim returns the choices that are not beaten once rooms are cut down to what all waiting pods together need. Choices come by price: what
// is as dear as one that holds everything, or dearer, is not looked at.
func (e *search) trim() []int {
	dims := len(e.sizes[0])
	total, waiting := make(vec, dims), make(set, len(e.choices[0].takes))
	for at, n := range e.want {
		total.take(e.sizes[e.groups[at]], -n)
		waiting.add(e.kind[e.groups[at]])
	}
	// Of pods that are all alike, only how many fit tells machines apart.
	only, most := -1, 0
	if len(e.groups) == 1 {
		only = e.groups[0]
		most = min(e.want[0], e.bearable(nil, only))
	}
	whole := make([]*option, len(e.limits)) // per seller: the first choice that holds everything
	cuts, of := make([]option, 0, min(len(e.choices), pruneBlock)), make([]int, 0, len(e.choices))
	var flat vec
	for i := range e.choices {
		o := &e.choices[i]
		if w := whole[o.seller]; !o.takes.meets(waiting) || w != nil && (w.free == 0 || w.free == o.free) && o.cost.covers(w.cost) {
			continue
		}
		if len(flat) < dims {
			flat = make(vec, pruneBlock*dims)
		}
		c := option{seller: o.seller, cost: o.cost, takes: o.takes, free: o.free, room: flat[:dims:dims]}
		flat = flat[dims:]
		all := only < 0
		if only >= 0 {
			k := min(o.room.times(e.sizes[only], most), most)
			all = k == most
			c.room.take(e.sizes[only], -k)
		} else {
			for r, v := range o.room {
				c.room[r] = min(v, total[r])
				all = all && v >= total[r]
			}
		}
		if all && whole[o.seller] == nil && waiting.within(o.takes) {
			whole[o.seller] = o
		}
		cuts, of = append(cuts, c), append(of, i)
	}
	var out []int
	for _, i := range prune(len(cuts), func(i int) *option { return &cuts[i] }) {
		out = append(out, of[i])
	}
	return out
}

// position is where the load's group stands among those that wait.
func (e *search) position(l load) int {
	at, _ := slices.BinarySearch(e.groups, l.group)
	return at
}

// within reports whether the plan keeps the limits.
func (e *search) within(a answer) bool {
	left := e.remaining(nil)
	for at := a.plan; at != nil; at = at.next {
		c := e.choices[at.bin.choice]
		if !left[c.seller].covers(c.cost) {
			return false
		}
		left[c.seller].take(c.cost, 1)
	}
	return true
}

// key writes the state into e.text.
func (e *search) key(left []int, limits []vec) {
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
func (e *search) solve(left []int, limits []vec) (best answer, ok bool) {
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
		c := &e.choices[ci]
		if !e.takes(ci, e.groups[first]) || e.bound && !limits[c.seller].covers(c.cost) {
			continue
		}
		t := &try{search: e, ci: ci, left: left, limits: limits, best: &best, found: &found}
		if !t.fill(first, c.room, make([]load, 0, len(left))) {
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
	limits []vec
	best   *answer
	found  *bool
}

// fill decides how many pods of the group at a position and of all later ones go in. The first group gives at least one pod, the last
// one as many as fit: a machine that could hold more of them is never better. It is false when the budget is spent.
func (t *try) fill(at int, room vec, loads []load) bool {
	if t.budget--; t.budget < 0 {
		return false
	}
	for at < len(t.left) && (t.left[at] == 0 || !t.takes(t.ci, t.groups[at]) || room.times(t.sizes[t.groups[at]], 1) == 0 || t.bearable(loads, t.groups[at]) == 0) {
		at++
	}
	if at == len(t.left) {
		return len(loads) == 0 || t.close(loads)
	}
	g, last := t.groups[at], true
	for h := at + 1; h < len(t.left); h++ {
		last = last && (t.left[h] == 0 || !t.takes(t.ci, t.groups[h]))
	}
	most := min(room.times(t.sizes[g], t.left[at]), t.bearable(loads, g))
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
			next.take(t.sizes[g], n)
			with = append(loads, load{g, n}) // in the room of the ways before, which are done with
		}
		ok := t.fill(at+1, next, with)
		if t.rooms = t.rooms[:mark]; !ok {
			return false
		}
	}
	return true
}

// close buys the filled machine and solves the rest.
func (t *try) close(loads []load) bool {
	c := &t.choices[t.ci]
	for _, l := range loads {
		t.left[t.position(l)] -= l.n
	}
	limits := t.limits
	if t.bound {
		limits = slices.Clone(t.limits)
		limits[c.seller] = limits[c.seller].clone()
		limits[c.seller].take(c.cost, 1)
	}
	a, ok := t.solve(t.left, limits)
	for _, l := range loads {
		t.left[t.position(l)] += l.n
	}
	if !ok {
		return false
	}
	a.price, a.bins = a.price+c.price, a.bins+1
	if !*t.found || a.better(*t.best) {
		a.plan = &link{bin{t.ci, slices.Clone(loads)}, a.plan}
		*t.best, *t.found = a, true
	}
	return true
}
