package bound

import (
	"math"
	"slices"
)

// part is a component of a problem: groups and machines that have nothing to do with the others. Amounts are scaled so that the
// largest of each resource, and the dearest machine, is 1; machines that another beats in everything are left out.
type part struct {
	p        Problem
	groups   []int // indices into p.Groups
	machines []int // of those that are not beaten, indices into p.Machines
	beaten   map[int]int
	need     [][]float64 // by group and resource
	count    []float64
	room     [][]float64 // by machine and resource
	price    []float64
	fits     [][]fit // by machine
	scale    []float64
	money    float64
	work     int       // numbers touched so far
	leaves   int       // that a proof may have
	below    []float64 // the worth of groups in the tier below L2, once that was climbed
}

// fit is a group that a machine may hold, and how many of it at most.
type fit struct {
	g    int // position in part.groups
	most float64
}

// parts splits a problem. Groups without pods and machines without groups are in none. Machines are compared with each other as long as the effort,
// in numbers touched, is not spent; those that come later stay, beaten or not.
func parts(p Problem, effort int) []*part {
	owner := make([]int, len(p.Groups)+len(p.Machines))
	for i := range owner {
		owner[i] = i
	}
	root := func(i int) int {
		for owner[i] != i {
			owner[i] = owner[owner[i]]
			i = owner[i]
		}
		return i
	}
	for g, x := range p.Groups {
		for _, m := range x.On {
			if x.Count > 0 && most(x, p.Machines[m]) > 0 {
				owner[root(len(p.Groups)+int(m))] = root(g)
			}
		}
	}
	index := map[int]*part{}
	var out []*part
	for g, x := range p.Groups {
		if x.Count == 0 {
			continue
		}
		q := index[root(g)]
		if q == nil {
			q = &part{p: p}
			index[root(g)] = q
			out = append(out, q)
		}
		q.groups = append(q.groups, g)
	}
	all := map[*part][]int{}
	for m := range p.Machines {
		if q := index[root(len(p.Groups)+m)]; q != nil {
			all[q] = append(all[q], m)
		}
	}
	out = slices.DeleteFunc(out, func(q *part) bool { return len(all[q]) == 0 }) // nobody can run them: nothing can be said
	for _, q := range out {
		q.prepare(all[q], &effort)
	}
	return out
}

// prepare drops beaten machines and scales what is left.
func (q *part) prepare(all []int, effort *int) {
	at := map[int]int{}
	for i, g := range q.groups {
		at[g] = i
	}
	words := (len(q.groups) + 63) / 64
	may := map[int][]uint64{}
	for _, m := range all {
		may[m] = make([]uint64, words)
	}
	for i, g := range q.groups {
		for _, m := range q.p.Groups[g].On {
			if bits := may[int(m)]; bits != nil {
				bits[i/64] |= 1 << (i % 64)
			}
		}
	}
	q.beaten = map[int]int{}
	// Dear and small ones last, so that whoever beats a machine stands before it.
	slices.SortFunc(all, func(x, y int) int { return q.order(x, y) })
	for _, m := range all {
		by := -1
		if *effort > 0 {
			by = slices.IndexFunc(q.machines, func(k int) bool { return q.beats(k, m, may) })
			compared := by + 1
			if by < 0 {
				compared = len(q.machines)
			}
			*effort -= compared * (words + len(q.p.Resources))
		}
		if by >= 0 {
			q.beaten[m] = q.machines[by]
		} else {
			q.machines = append(q.machines, m)
		}
	}
	q.numbers(may)
}

func (q *part) order(x, y int) int {
	a, b := q.p.Machines[x], q.p.Machines[y]
	if a.Price != b.Price {
		return int(min(1, max(-1, a.Price-b.Price)))
	}
	if c := slices.Compare(b.Room, a.Room); c != 0 {
		return c
	}
	return x - y
}

// beats reports whether k costs no more than m, has as much room, and may hold whatever m may.
func (q *part) beats(k, m int, may map[int][]uint64) bool {
	x, y := q.p.Machines[k], q.p.Machines[m]
	if x.Price > y.Price {
		return false
	}
	for r := range x.Room {
		if x.Room[r] < y.Room[r] {
			return false
		}
	}
	for i, w := range may[m] {
		if w&^may[k][i] != 0 {
			return false
		}
	}
	return true
}

func (q *part) numbers(may map[int][]uint64) {
	q.scale = make([]float64, len(q.p.Resources))
	for _, m := range q.machines {
		q.money = max(q.money, float64(q.p.Machines[m].Price))
		for r, v := range q.p.Machines[m].Room {
			q.scale[r] = max(q.scale[r], float64(v))
		}
	}
	q.money = max(q.money, 1)
	scaled := func(v []int64) []float64 {
		out := make([]float64, len(v))
		for r := range v {
			if q.scale[r] > 0 {
				out[r] = float64(v[r]) / q.scale[r]
			}
		}
		return out
	}
	for _, g := range q.groups {
		q.need, q.count = append(q.need, scaled(q.p.Groups[g].Need)), append(q.count, float64(q.p.Groups[g].Count))
	}
	for _, m := range q.machines {
		q.room, q.price = append(q.room, scaled(q.p.Machines[m].Room)), append(q.price, float64(q.p.Machines[m].Price)/q.money)
		var fits []fit
		for i, g := range q.groups {
			if n := most(q.p.Groups[g], q.p.Machines[m]); n > 0 && may[m][i/64]&(1<<(i%64)) != 0 {
				fits = append(fits, fit{i, float64(n)})
			}
		}
		q.fits = append(q.fits, fits)
	}
}

// sum is what all pods are worth.
func (q *part) sum(worth []float64) float64 {
	total := 0.0
	for i, w := range worth {
		total += w * q.count[i]
	}
	return total
}

// worthOf prices pods by what they need.
func (q *part) worthOf(prices []float64) []float64 {
	out := make([]float64, len(q.groups))
	for i, need := range q.need {
		for r, v := range need {
			out[i] += v * prices[r]
		}
	}
	return out
}

// single is L0: the one resource whose cheapest source makes the pods cost most.
func (q *part) single() []float64 {
	best, at := -1.0, make([]float64, len(q.scale))
	for r := range q.scale {
		cheapest := math.Inf(1)
		for i := range q.machines {
			if q.room[i][r] > 0 {
				cheapest = min(cheapest, q.price[i]/q.room[i][r])
			}
		}
		if math.IsInf(cheapest, 1) {
			continue
		}
		prices := make([]float64, len(q.scale))
		prices[r] = cheapest
		if v := q.sum(q.worthOf(prices)); v > best {
			best, at = v, prices
		}
	}
	return at
}

// aggregate is L1: prices of resources at which the pods cost most and no machine is worth more than its price.
func (q *part) aggregate() []float64 {
	l := lp{value: make([]float64, len(q.scale)), upper: make([]float64, len(q.scale)), rows: q.room, limit: q.price}
	total := 0.0
	for r := range l.value {
		l.upper[r] = math.Inf(1)
		for i := range q.need {
			l.value[r] += q.need[i][r] * q.count[i]
		}
		total += l.value[r]
	}
	for r := range l.value {
		l.value[r] /= max(total, 1)
	}
	// A resource that no machine has cannot be needed by pods that fit: its column is empty, and so is its price.
	s := l.solve()
	q.work += s.work
	return s.x
}
