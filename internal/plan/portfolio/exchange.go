package portfolio

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// Bounds of the exchange. Where there are many machines in a zone, what is lost in pieces is little beside what there is.
const (
	maxSeparated = 128   // machines of a draft
	maxHomes     = 64    // machines in one zone
	maxKinds     = 1_000 // zones, times groups of pods that could go anywhere
	maxCleared   = 100   // loose pods that make room
	maxExchange  = 10    // pods of a group that go together: two may be worth one loose pod
	maxChanges   = 32    // pods of a home exchanged for smaller ones
)

// Arrival is how pods of a group are let in: where, for those that are tied to a place.
type Arrival struct {
	How   Manner
	Where string
}

// Manner is a way in which pods are let in.
type Manner int

const (
	// Anyhow: any of them may come at any time.
	Anyhow Manner = iota
	// InTurn: one after the other.
	InTurn
	// Leading: likewise, and the first of them decides where the others go.
	Leading
	// Fixed: their machine is not to change.
	Fixed
)

// Separate exchanges pods between machines of a draft, at the same price or, where a machine is left without any, a lower one, until those that must be in one zone because of others like them share as few machines
// there as may be, with as few pods as may be that could go anywhere. kube-scheduler lets the former in one after the other, and has no order among them: on one machine any
// order does, on several the last ones find room in pieces that are too small. Large drafts are left alone. O(machines × groups) exchanges.
func (p *Packer) Separate(d *Draft) {
	flows, leaders := map[string][]int{}, map[string][]int{} // by zone
	var keys []string
	var loose []int
	for i, g := range p.Arrivals {
		k := g.Where
		if g.How == InTurn || g.How == Leading {
			if flows[k] == nil && leaders[k] == nil {
				keys = append(keys, k)
			}
		}
		switch g.How {
		case InTurn:
			flows[k] = append(flows[k], i)
		case Leading:
			leaders[k] = append(leaders[k], i)
		case Anyhow:
			loose = append(loose, i)
		}
	}
	if !p.uses(separation) || len(keys) == 0 || len(loose) == 0 || len(d.Bins) > maxSeparated || len(keys)*len(loose) > maxKinds {
		return
	}
	slices.Sort(keys)
	largeFirst := func(a, b int) int {
		return cmp.Or(cmp.Compare(p.Sizes[b][0], p.Sizes[a][0]), cmp.Compare(a, b))
	}
	slices.SortFunc(loose, largeFirst)
	x := &exchange{Packer: p, loose: loose, nothing: make(vec.Vec, len(p.Sizes[0]))}
	for _, b := range d.Bins {
		y := crate{choice: b.Choice, n: make([]int, len(p.Arrivals)), free: p.Choices[b.Choice].Room.Clone()}
		for _, l := range b.Loads {
			y.n[l.Group] += l.N
			y.free.Take(p.Sizes[l.Group], l.N)
		}
		x.crates = append(x.crates, y)
	}
	homes := map[int]bool{}
	for _, k := range keys {
		slices.SortFunc(flows[k], largeFirst)
		x.gather(flows[k])
		if have, _ := x.having(flows[k]); len(have) <= maxHomes {
			for _, i := range have {
				homes[i] = true
			}
		}
	}
	for _, k := range keys {
		x.lead(leaders[k], homes)
	}
	x.clear(homes)
	bins := d.Bins[:0]
	for _, y := range x.crates {
		b := Bin{Choice: y.choice}
		for g, n := range y.n {
			if n > 0 {
				b.Loads = append(b.Loads, Load{g, n})
			}
		}
		if len(b.Loads) == 0 { // all its pods found room elsewhere
			d.Price -= p.Choices[b.Choice].Price
			continue
		}
		bins = append(bins, b)
	}
	d.Bins = bins
}

// lead moves pods of the groups, of which the first decides where the others go, from machines of pods that are let in one after the other to the smallest machine that
// has none of these and holds them: it can open before the others.
func (x *exchange) lead(flow []int, homes map[int]bool) {
	have, total := x.having(flow)
	if !slices.ContainsFunc(have, func(i int) bool { return homes[i] }) {
		return
	}
	var to []int
	for i := range x.crates {
		if !homes[i] && x.room(flow, i) >= total && x.turned(i, flow[0]) >= 0 {
			to = append(to, i)
		}
	}
	slices.SortFunc(to, func(a, b int) int { return cmp.Or(cmp.Compare(x.room(flow, a), x.room(flow, b)), cmp.Compare(a, b)) })
	for _, i := range to {
		before := make([]crate, len(x.crates))
		for j, c := range x.crates {
			before[j] = crate{c.choice, slices.Clone(c.n), c.free.Clone()}
		}
		x.crates[i].choice = x.turned(i, flow[0])
		for _, from := range have {
			for _, g := range flow {
				if n := x.crates[from].n[g]; n > 0 && from != i {
					x.move(Load{g, n}, from, i)
				}
			}
		}
		if x.amount(flow, i) == total {
			return
		}
		x.crates = before
	}
}

// crate is a machine whose pods are exchanged.
type crate struct {
	choice int
	n      []int // per group
	free   vec.Vec
}

type exchange struct {
	*Packer
	loose   []int // large first
	crates  []crate
	nothing vec.Vec
}

// gather exchanges pods of the groups, all of one zone and large ones first: onto the smallest machine that holds all of them, or else the largest; and
// those that it does not hold onto machines where each is the only one of its group, since the room of one can be kept.
func (x *exchange) gather(flow []int) {
	have, total := x.having(flow)
	if len(have) < 2 || len(have) > maxHomes {
		return
	}
	home := -1
	for i := range x.crates {
		if (home < 0 || x.fitter(flow, total, i, home)) && (slices.Contains(have, i) || x.turned(i, flow[0]) >= 0) {
			home = i
		}
	}
	if c := x.turned(home, flow[0]); c >= 0 {
		x.crates[home].choice = c
	}
	others := slices.DeleteFunc(have, func(i int) bool { return i == home })
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(x.amount(flow, a), x.amount(flow, b)) })
	for range maxChanges {
		for _, from := range others {
			x.empty(flow, from, home)
		}
		if x.amount(flow, home) == total || !x.change(home) {
			break
		}
	}
	for _, from := range others {
		x.scatter(flow, from, home)
	}
}

// empty moves pods of the groups from a machine to their home, several of a group at a time where one alone finds no room.
func (x *exchange) empty(flow []int, from, home int) {
	for _, g := range flow {
		for k := 1; k <= min(maxExchange, x.crates[from].n[g]); k++ {
			for x.crates[from].n[g] >= k && x.move(Load{g, k}, from, home) {
			}
		}
	}
}

// scatter moves pods of the groups from a machine that has several of one to machines that have none of it.
func (x *exchange) scatter(flow []int, from, home int) {
	for _, g := range flow {
		for to := 0; to < len(x.crates) && x.crates[from].n[g] > 1; to++ {
			if to == from || to == home || x.crates[to].n[g] > 0 {
				continue
			}
			old := x.crates[to].choice
			if c := x.turned(to, g); c >= 0 {
				x.crates[to].choice = c
			}
			if !x.move(Load{g, 1}, from, to) {
				x.crates[to].choice = old
			}
		}
	}
}

// turned returns the choice that is like the machine's and also takes the group, as in another zone; -1 when there is none.
func (x *exchange) turned(i, group int) int {
	y := &x.crates[i]
	old := &x.Choices[y.choice]
	for ci := range x.Choices {
		c := &x.Choices[ci]
		if !c.like(old) || c.Free != old.Free || !x.takes(ci, group) {
			continue
		}
		all := true
		for g, n := range y.n {
			all = all && (n == 0 || x.takes(ci, g))
		}
		if all {
			return ci
		}
	}
	return -1
}

// clear moves loose pods from machines of pods that are let in one after the other to what room is left over on others: there it is of use, since the last of
// these pods may find the room in pieces.
func (x *exchange) clear(homes map[int]bool) {
	for range maxCleared {
		from, group, to := -1, -1, -1
		for i := range x.crates {
			if !homes[i] || from >= 0 && x.crates[i].free[0] >= x.crates[from].free[0] {
				continue
			}
			if g, b := x.out(i, homes); g >= 0 {
				from, group, to = i, g, b
			}
		}
		if from < 0 {
			return
		}
		x.shift(Load{group, 1}, from, to)
	}
}

// shift takes the load from one machine to another.
func (x *exchange) shift(l Load, from, to int) {
	a, b := &x.crates[from], &x.crates[to]
	a.n[l.Group] -= l.N
	b.n[l.Group] += l.N
	a.free.Take(x.Sizes[l.Group], -l.N)
	b.free.Take(x.Sizes[l.Group], l.N)
}

// out finds the largest loose pod of machine i that fits into what is left of another machine.
func (x *exchange) out(i int, homes map[int]bool) (group, to int) {
	for _, g := range x.loose {
		if x.crates[i].n[g] == 0 {
			continue
		}
		for j := range x.crates {
			if b := &x.crates[j]; !homes[j] && b.free.Covers(x.Sizes[g]) && x.takes(b.choice, g) {
				return g, j
			}
		}
	}
	return -1, -1
}

// having lists the machines that have pods of the groups, and says how much these are in all.
func (x *exchange) having(flow []int) (out []int, total int64) {
	for i := range x.crates {
		if n := x.amount(flow, i); n > 0 {
			out, total = append(out, i), total+n
		}
	}
	return out, total
}

// room is how much of the groups and of loose pods the machine holds, and what is free on it.
func (x *exchange) room(flow []int, i int) int64 {
	c := &x.crates[i]
	v := c.free[0]
	for _, g := range slices.Concat(flow, x.loose) {
		v += x.Sizes[g][0] * int64(c.n[g])
	}
	return v
}

func (x *exchange) amount(flow []int, i int) (v int64) {
	for _, g := range flow {
		v += x.Sizes[g][0] * int64(x.crates[i].n[g])
	}
	return v
}

// fitter reports whether machine a is a better home for total of the groups than b: the smallest that holds all, or else the largest.
func (x *exchange) fitter(flow []int, total int64, a, b int) bool {
	ra, rb := x.room(flow, a), x.room(flow, b)
	if (ra >= total) != (rb >= total) {
		return ra >= total
	}
	if ra >= total {
		return ra < rb
	}
	return ra > rb
}

// change exchanges a loose pod of the machine for several smaller ones of another machine, with which room can be made to measure. It reports whether
// that is possible.
func (x *exchange) change(home int) bool {
	b := &x.crates[home]
	for _, l := range x.loose {
		if b.n[l] == 0 {
			continue
		}
		room := b.free.Clone()
		room.Take(x.Sizes[l], -1)
		for _, s := range slices.Backward(x.loose) {
			if x.Sizes[s][0] >= x.Sizes[l][0] || !x.takes(b.choice, s) {
				break
			}
			for via := range x.crates {
				c := &x.crates[via]
				if via == home || c.n[s] == 0 || !x.takes(c.choice, l) {
					continue
				}
				k := room.Times(x.Sizes[s], c.n[s])
				rest := c.free.Clone()
				rest.Take(x.Sizes[s], -k)
				if k < 2 || !rest.Covers(x.Sizes[l]) {
					continue
				}
				x.shift(Load{l, 1}, home, via)
				x.shift(Load{s, k}, via, home)
				return true
			}
		}
	}
	return false
}

// move takes the load to another machine, and as many loose pods back as must make room for it. It reports whether that is possible.
func (x *exchange) move(l Load, from, to int) bool {
	a, b := &x.crates[from], &x.crates[to]
	if !x.takes(b.choice, l.Group) {
		return false
	}
	room, free := a.free.Clone(), b.free.Clone()
	room.Take(x.Sizes[l.Group], -l.N)
	free.Take(x.Sizes[l.Group], l.N) // below zero where something must go
	back := make([]Load, 0, 4)
	for _, y := range x.loose {
		n := 0
		for n < b.n[y] && !free.Covers(x.nothing) && x.takes(a.choice, y) && room.Covers(x.Sizes[y]) {
			n++
			room.Take(x.Sizes[y], 1)
			free.Take(x.Sizes[y], -1)
		}
		if n > 0 {
			back = append(back, Load{y, n})
		}
	}
	if !free.Covers(x.nothing) {
		return false
	}
	x.shift(l, from, to)
	for _, y := range back {
		x.shift(y, to, from)
	}
	return true
}
