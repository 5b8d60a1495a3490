// Package leastprice answers: what do machines for so much cpu and memory cost at least?
package leastprice

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

// Bound knows what machines for some cpu and memory cost at least: prices of both at which nothing on
// sale holds more than it costs. Any such prices bound what pods cost from below (weak duality of the
// linear program that buys machines by the slice); the dearest of all prices for a need is its optimum.
// These are the edges of a hull: of what a dollar buys of cpu and of memory.
type Bound struct{ prices []price }

// price is micro-dollars per hour for one thousandth of a core, and for one byte; or how much of both
// one micro-dollar buys.
type price struct{ core, byte float64 }

// slack is what a bound is lowered by, so that rounding never lifts it above what it bounds.
const slack = 1e-9

// New looks at everything that the pools may sell now. O(offerings log offerings).
func New(pools []*problem.NodePool) Bound {
	var points []price // of one micro-dollar
	for _, s := range pools {
		if s.Closed.Why != "" {
			continue
		}
		s.Base.And(s.Offerings.Available).Each(func(i int) {
			cost := float64(max(s.Offerings.Items[i].Offering.Price, 1))
			room := s.Room[i]
			points = append(points, price{
				core: float64(max(room[0], 0)) / cost,
				byte: float64(max(room[1], 0)) / cost,
			})
		})
	}
	return hull(points)
}

// hull turns what a micro-dollar buys into prices: one for each edge between two machines that are both
// the best for some mix, and one for each end, where one of the two amounts costs nothing.
func hull(points []price) (out Bound) {
	slices.SortFunc(points, func(a, b price) int {
		return cmp.Or(cmp.Compare(b.core, a.core), cmp.Compare(b.byte, a.byte))
	})
	var top []price
	for _, q := range points {
		if len(top) > 0 && q.byte <= top[len(top)-1].byte {
			continue // another buys as much of both
		}
		for len(top) > 1 && !turns(top[len(top)-2], top[len(top)-1], q) {
			top = top[:len(top)-1]
		}
		top = append(top, q)
	}
	if len(top) == 0 {
		return Bound{}
	}
	first, last := top[0], top[len(top)-1]
	if first.core > 0 {
		out.prices = append(out.prices, price{core: 1 / first.core})
	}
	for i := 1; i < len(top); i++ {
		a, b := top[i-1], top[i]
		area := a.core*b.byte - b.core*a.byte // both machines are worth what they cost
		out.prices = append(out.prices, price{(b.byte - a.byte) / area, (a.core - b.core) / area})
	}
	if last.byte > 0 {
		out.prices = append(out.prices, price{byte: 1 / last.byte})
	}
	return out
}

// turns reports whether b lies outside of the line from a to c.
func turns(a, b, c price) bool {
	return (b.core-c.core)*(b.byte-a.byte) > (a.core-b.core)*(c.byte-b.byte)
}

// Of is what machines for so many thousandths of cores and bytes cost at least, bought in any mix; 0 = nothing is known. O(kinds of
// machines that are the best for some mix).
func (l Bound) Of(core, byte int64) model.Price {
	most := 0.0
	for _, p := range l.prices {
		most = max(most, p.core*float64(core)+p.byte*float64(byte))
	}
	return model.Price(math.Ceil(most * (1 - slack))) // prices are whole
}
