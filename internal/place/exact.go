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
	for _, n := range want {
		if states *= n + 1; states > maxStates {
			return nil
		}
	}
	// Choices are compared with each other first; that is work too.
	if budget -= len(p.choices) * len(p.choices) / 64; budget <= 0 {
		p.steps -= 1 + len(p.choices)/8
		return nil
	}
	e := &search{packer: p, budget: min(budget, p.steps), memo: map[string]answer{}, want: want}
	e.options = e.trim()
	start := e.budget
	a, ok := e.solve(slices.Clone(want), make([]vec, len(p.limits)))
	if ok && !e.within(a) {
		// The limits bind: search again, this time with what is left of them as part of the question.
		e.bound, e.memo = true, map[string]answer{}
		a, ok = e.solve(slices.Clone(want), p.remaining(nil))
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
	want    []int
	options []int // choices worth looking at
	budget  int
	bound   bool // limits are part of the state
	memo    map[string]answer
}

// trim returns the choices that are not beaten once rooms are cut down to what all waiting pods together need.
func (e *search) trim() []int {
	total := make(vec, len(e.sizes[0]))
	groups, only := 0, 0
	for g, n := range e.want {
		total.take(e.sizes[g], -n)
		if n > 0 {
			groups, only = groups+1, g
		}
	}
	var cuts []choice
	for i, c := range e.choices {
		c.room = c.room.clone()
		for r := range c.room {
			c.room[r] = min(c.room[r], total[r])
		}
		if groups == 1 {
			// Of pods that are all alike, only how many fit tells machines apart.
			k := min(c.room.times(e.sizes[only], e.want[only]), e.bearable(nil, only))
			c.room = make(vec, len(total))
			c.room.take(e.sizes[only], -k)
		}
		c.item = i
		cuts = append(cuts, c)
	}
	var out []int
	for _, c := range prune(cuts) {
		out = append(out, c.item)
	}
	return out
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

func (e *search) key(left []int, limits []vec) string {
	var b []byte
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
	return string(b)
}

// solve returns the best answer for the pods left. Some machine holds the first waiting pod, so only machines that
// take it need be tried; ok is false when the budget is spent. The depth is bounded by the number of pods.
func (e *search) solve(left []int, limits []vec) (best answer, ok bool) {
	first := slices.IndexFunc(left, func(n int) bool { return n > 0 })
	if first < 0 {
		return answer{}, true
	}
	key := e.key(left, limits)
	if a, ok := e.memo[key]; ok {
		return a, true
	}
	best, found := answer{}, false
	for _, ci := range e.options {
		c := &e.choices[ci]
		if !e.takes(ci, first) || e.bound && !limits[c.seller].covers(c.cost) {
			continue
		}
		t := &try{search: e, ci: ci, left: left, limits: limits, best: &best, found: &found}
		if !t.fill(first, c.room.clone(), nil) {
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

// fill decides how many pods of group g and all later ones go in. The first group gives at least one pod, the last
// one as many as fit: a machine that could hold more of them is never better. It is false when the budget is spent.
func (t *try) fill(g int, room vec, loads []load) bool {
	if t.budget--; t.budget < 0 {
		return false
	}
	for g < len(t.left) && (t.left[g] == 0 || !t.takes(t.ci, g) || room.times(t.sizes[g], 1) == 0 || t.bearable(loads, g) == 0) {
		g++
	}
	if g == len(t.left) {
		return len(loads) == 0 || t.close(loads)
	}
	last := true
	for h := g + 1; h < len(t.left); h++ {
		last = last && (t.left[h] == 0 || !t.takes(t.ci, h))
	}
	most := min(room.times(t.sizes[g], t.left[g]), t.bearable(loads, g))
	least := 0
	if len(loads) == 0 {
		least = 1
	}
	if last {
		least = most
	}
	for n := most; n >= least; n-- {
		next, with := room, loads
		if n > 0 {
			next = room.clone()
			next.take(t.sizes[g], n)
			with = append(slices.Clip(loads), load{g, n})
		}
		if !t.fill(g+1, next, with) {
			return false
		}
	}
	return true
}

// close buys the filled machine and solves the rest.
func (t *try) close(loads []load) bool {
	c := &t.choices[t.ci]
	for _, l := range loads {
		t.left[l.group] -= l.n
	}
	limits := t.limits
	if t.bound {
		limits = slices.Clone(t.limits)
		limits[c.seller] = limits[c.seller].clone()
		limits[c.seller].take(c.cost, 1)
	}
	a, ok := t.solve(t.left, limits)
	for _, l := range loads {
		t.left[l.group] += l.n
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
