package portfolio

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/pack"
)

const (
	// maxFamilies is how many sets of markets are told apart, with all of them together.
	maxFamilies = 6
	// maxScarce is how many counts of ties are reckoned with: those that need most machines.
	maxScarce = 3
)

// sliced is the linear program of buying machines by the slice: as little money as possible for all that waits, as if pods were sand. It has
// one row per demand.
type sliced struct {
	p      *Packer
	rows   []demand
	of     [][]int // per kind: the rows of its resources
	scant  []int   // per knot: its row, or -1
	shares []share
}

// demand is something that machines of some markets must give: an amount of a resource, or, where that is -1, room for pods that share no
// machine.
type demand struct {
	resource int
	markets  bitset.Set
}

// share is what a pod asks of a row.
type share struct {
	row int
	n   float64
}

// bySlice prices a pod of each group that waits, in 1024ths of a micro-dollar, as if machines were sold by the slice, in so many sets of
// markets at most (see families). No machine is worth more than it costs, and no draft costs less than bound, in micro-dollars. O(pivots × choices × rows + groups × rows).
func (p *Packer) bySlice(want []int, most int) (worth []int64, bound int64) {
	s := newSliced(p, want, most)
	needs := make([]float64, len(s.rows))
	for g, n := range want {
		for _, a := range s.asks(g) {
			needs[a.row] += float64(n) * a.n
		}
	}
	gives, prices := make([][]float64, len(p.Choices)), make([]float64, len(p.Choices))
	flat := make([]float64, len(p.Choices)*len(s.rows))
	for ci := range p.Choices {
		gives[ci], flat = flat[:len(s.rows):len(s.rows)], flat[len(s.rows):]
		prices[ci] = float64(p.Choices[ci].Price)
		for i, d := range s.rows {
			if d.markets.Has(int(p.lay.marketOf[ci])) {
				gives[ci][i] = s.gives(ci, d.resource)
			}
		}
	}
	price, pivots := pack.Amounts(gives, prices, needs)
	p.Steps -= pivots
	sum := 0.0
	for i, n := range needs {
		sum += n * price[i]
	}
	worth = make([]int64, len(want))
	for g, n := range want {
		if n == 0 {
			continue
		}
		v := 0.0
		for _, a := range s.asks(g) {
			v += price[a.row] * a.n
		}
		worth[g] = max(1, int64(1024*v))
	}
	return worth, int64(sum)
}

// newSliced lists the demands of want pods per group, in so many families at most.
func newSliced(p *Packer, want []int, most int) *sliced {
	p.arranged(want)
	s := &sliced{p: p, of: make([][]int, len(p.lay.takers)), scant: make([]int, p.Counts)}
	for i := range s.scant {
		s.scant[i] = -1
	}
	families := s.families(want, most)
	for _, f := range families {
		for r := range p.Choices[0].Room {
			for k, takers := range p.lay.takers {
				if !slices.ContainsFunc(takers, func(m int32) bool { return !f.Has(int(m)) }) {
					s.of[k] = append(s.of[k], len(s.rows))
				}
			}
			s.rows = append(s.rows, demand{r, f})
		}
	}
	for _, k := range s.scarce(want) {
		s.scant[k] = len(s.rows)
		s.rows = append(s.rows, demand{-1, families[0]})
	}
	return s
}

// families lists at most so many sets of markets that some pods need one of: first all, then those of most pods.
func (s *sliced) families(want []int, most int) []bitset.Set {
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
	for i, f := range list[:min(len(list), most)] {
		if i == 0 || f.pods > 0 {
			out = append(out, f.markets)
		}
	}
	return out
}

// scarce lists the knots that need most machines.
func (s *sliced) scarce(want []int) []int {
	machines, order := make([]float64, s.p.Counts), make([]int, s.p.Counts)
	for g, n := range want {
		for _, t := range s.p.Ties[g] {
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

// gives is what one machine gives to a demand of its market.
func (s *sliced) gives(ci, resource int) float64 {
	if resource < 0 {
		return 1
	}
	return float64(max(0, s.p.Choices[ci].Room[resource]))
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
