package portfolio

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
)

const (
	// maxFamilies is how many sets of markets are told apart, with all of them together.
	maxFamilies = 6
	// maxScarce is how many counts of ties are reckoned with: those that need most machines.
	maxScarce = 3
	// maxPivots bounds one solution.
	maxPivots = 200
	// beyond is what a slice costs that no machine gives, as a multiple of the dearest machine.
	beyond = 1e6
	nearly = 1e-9
)

// sliced is the linear program of buying machines by the slice: as little money as possible for all that waits, as if pods were sand. Its
// amounts say how many machines of which choice a good mix has, its prices what pods are worth, and no draft costs less than it.
// Simplex with an explicit inverse and one row per demand.
type sliced struct {
	p     *Packer
	rows  []demand
	room  [][]float64 // per choice and row, in the row's scale
	top   float64     // price of the dearest choice
	of    [][]int     // per kind: the rows of its resources
	scant []int       // per knot: its row, or -1
	// The solution: per row, the choice bought (or -1), how many, what one costs, and what the row's demand is worth.
	basis          []int
	x, cost, price []float64
	inv            [][]float64
	column         []float64
	shares         []share
}

// demand is something that machines of some markets must give: an amount of a resource, or room for pods that share no machine.
type demand struct {
	resource, knot int // one of them is -1
	markets        bitset.Set
	need, scale    float64
}

// share is what a pod asks of a row.
type share struct {
	row int
	n   float64
}

// newSliced sets up the program for want pods per group.
func (p *Packer) newSliced(want []int) *sliced {
	p.arranged(want)
	s := &sliced{p: p, of: make([][]int, len(p.lay.takers)), scant: make([]int, p.Counts)}
	for i := range s.scant {
		s.scant[i] = -1
	}
	needed := make([]bool, len(p.Choices[0].Room))
	for g, n := range want {
		for r, v := range p.Sizes[g] {
			needed[r] = needed[r] || n > 0 && v > 0
		}
	}
	families := s.families(want)
	for _, f := range families {
		for r, ok := range needed {
			if ok {
				s.demand(demand{resource: r, knot: -1, markets: f})
			}
		}
	}
	for _, k := range p.scarce(want) {
		s.demand(demand{resource: -1, knot: k, markets: families[0]})
	}
	for g, n := range want {
		for _, a := range s.asks(g) {
			s.rows[a.row].need += float64(n) * a.n
		}
	}
	for i := range p.Choices {
		s.top = max(s.top, float64(p.Choices[i].Price), 1)
	}
	n := len(s.rows)
	flat := make([]float64, len(p.Choices)*n)
	s.room = make([][]float64, len(p.Choices))
	gives := make([][]int, len(p.lay.markets)) // per market: the rows that its machines give to
	for m := range gives {
		for i := range s.rows {
			if s.rows[i].markets.Has(m) {
				gives[m] = append(gives[m], i)
			}
		}
	}
	for ci := range p.Choices {
		row := flat[ci*n : (ci+1)*n : (ci+1)*n]
		for _, i := range gives[p.lay.marketOf[ci]] {
			row[i] = s.gives(ci, &s.rows[i]) / s.rows[i].scale
		}
		s.room[ci] = row
	}
	s.solve()
	return s
}

// families lists sets of markets that some pods need one of: first all, then those of most pods.
func (s *sliced) families(want []int) []bitset.Set {
	type family struct {
		markets bitset.Set
		pods    int
	}
	all := family{markets: bitset.New(len(s.p.lay.markets))}
	for m := range s.p.lay.markets {
		all.markets.Add(m)
	}
	pods := make([]int, len(s.p.lay.takers))
	for g, n := range want {
		pods[s.p.Kinds[g]] += n
	}
	list := []family{all}
	for k, takers := range s.p.lay.takers {
		markets := bitset.New(len(s.p.lay.markets))
		for _, m := range takers {
			markets.Add(int(m))
		}
		i := slices.IndexFunc(list, func(f family) bool { return slices.Equal(f.markets, markets) })
		if i < 0 {
			i = len(list)
			list = append(list, family{markets: markets})
		}
		list[i].pods += pods[k]
	}
	slices.SortStableFunc(list[1:], func(a, b family) int { return cmp.Compare(b.pods, a.pods) })
	var out []bitset.Set
	for i, f := range list[:min(len(list), maxFamilies)] {
		if i == 0 || f.pods > 0 {
			out = append(out, f.markets)
		}
	}
	return out
}

// scarce lists the knots that need most machines.
func (p *Packer) scarce(want []int) []int {
	machines, order := make([]float64, p.Counts), make([]int, p.Counts)
	for g, n := range want {
		for _, t := range p.Ties[g] {
			machines[t.Count] += float64(n) * t.share()
		}
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(machines[b], machines[a]) })
	order = order[:min(maxScarce, len(order))]
	return slices.DeleteFunc(order, func(k int) bool { return machines[k] <= 1 })
}

// share is the part of what a machine bears that one pod takes.
func (t Tie) share() float64 {
	if t.Adds == 0 || t.Limit >= NoLimit {
		return 0
	}
	return float64(t.Adds) / float64(max(1, t.Limit))
}

// demand adds a row, if machines can give what it asks for.
func (s *sliced) demand(d demand) {
	for m := range s.p.lay.markets {
		if !d.markets.Has(m) {
			continue
		}
		if d.resource < 0 {
			d.scale = 1
			break
		}
		for _, most := range s.p.lay.markets[m].most {
			d.scale = max(d.scale, float64(most[d.resource]))
		}
	}
	if d.scale == 0 {
		return
	}
	if d.resource < 0 {
		s.scant[d.knot] = len(s.rows)
	} else {
		for k, takers := range s.p.lay.takers {
			if !slices.ContainsFunc(takers, func(m int32) bool { return !d.markets.Has(int(m)) }) {
				s.of[k] = append(s.of[k], len(s.rows))
			}
		}
	}
	s.rows = append(s.rows, d)
}

// gives is what one machine gives to a demand of its market.
func (s *sliced) gives(ci int, d *demand) float64 {
	if d.resource < 0 {
		return 1
	}
	return float64(max(0, s.p.Choices[ci].Room[d.resource]))
}

// asks lists what a pod of a group asks for; the list is valid until the next call.
func (s *sliced) asks(g int) []share {
	s.shares = s.shares[:0]
	for _, i := range s.of[s.p.Kinds[g]] {
		if v := s.p.Sizes[g][s.rows[i].resource]; v > 0 {
			s.shares = append(s.shares, share{i, float64(v)})
		}
	}
	for _, t := range s.p.Ties[g] {
		if i := s.scant[t.Count]; i >= 0 && t.share() > 0 {
			s.shares = append(s.shares, share{i, t.share()})
		}
	}
	return s.shares
}

// less takes pods away, and reports whether prices changed. O(rows² + choices × rows) per change.
func (s *sliced) less(loads []Load, times int) bool {
	for _, l := range loads {
		for _, a := range s.asks(l.Group) {
			r := &s.rows[a.row]
			r.need = max(0, r.need-float64(l.N*times)*a.n)
		}
	}
	changed := false
	for i, row := range s.inv {
		s.x[i] = 0
		for j, v := range row {
			s.x[i] += v * s.rows[j].need / s.rows[j].scale
		}
		changed = changed || s.x[i] < -nearly
	}
	if changed && !s.resolve() {
		s.solve()
	}
	return changed
}

// prices is worth of all that waits.
func (s *sliced) prices(want []int) []int64 {
	out := make([]int64, len(want))
	s.worth(want, out)
	return out
}

// worth writes what a pod of each group that is left is worth, in 1024ths of a micro-dollar. O(groups + rows × kinds).
func (s *sliced) worth(left []int, out []int64) {
	dims := len(s.p.Choices[0].Room)
	per := make([]float64, dims*len(s.of)) // per kind and resource: the price of a unit
	for k, rows := range s.of {
		for _, i := range rows {
			per[k*dims+s.rows[i].resource] += s.price[i] / s.rows[i].scale
		}
	}
	for g, n := range left {
		if n == 0 {
			continue
		}
		v := 0.0
		prices := per[s.p.Kinds[g]*dims:][:dims]
		for r, size := range s.p.Sizes[g] {
			v += prices[r] * float64(size)
		}
		for _, t := range s.p.Ties[g] {
			if i := s.scant[t.Count]; i >= 0 {
				v += s.price[i] / s.rows[i].scale * t.share()
			}
		}
		out[g] = max(1, int64(1024*v))
	}
}

// bound is what all that waits costs at least, in micro-dollars.
func (s *sliced) bound() int64 {
	sum := 0.0
	for i, x := range s.x {
		sum += x * s.cost[i]
	}
	return int64(sum)
}
