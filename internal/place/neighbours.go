package place

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
)

// fewerThere is a way to save: fewer pods of a class, or none, in one of the places where they were seated. Seats are
// taken class by class, each where it is best for the class alone; what that costs those who come later shows only when
// all machines are bought.
func fewerThere(d *decision) []proposal {
	var out []proposal
	count := map[problem.CapKey]int{} // pods
	type place struct {
		key  problem.CapKey
		seat assign.Seated
	}
	var places []place
	for _, s := range d.Seats {
		k := d.CapKeyOf(s)
		if count[k] == 0 {
			places = append(places, place{k, s})
		}
		count[k] += s.N
	}
	for _, at := range places {
		for _, to := range slices.Compact([]int{count[at.key] - 1, 0}) {
			next := d.Choices
			next.Caps = maps.Clone(d.Caps)
			problem.Remember(&next.Caps, at.key, to)
			out = append(out, proposal{next, func() string {
				return fmt.Sprintf("%d of %s on %s", to, at.seat.Class.Name(), d.WhereOf(at.seat))
			}})
		}
	}
	return out
}

// leaveToLighter is a way to save: pods of one machine leave its pools alone, because machines of lighter ones, which are
// bought anyway, may take them along.
func leaveToLighter(d *decision) []proposal {
	var out []proposal
	for i := range d.Made {
		m := &d.Made[i]
		if !slices.ContainsFunc(d.Made, func(o offer.Made) bool { return o.Pool.Pool.Weight < m.Pool.Pool.Weight }) {
			continue
		}
		next := d.Choices
		next.Shy = maps.Clone(d.Shy)
		for _, l := range m.Loads {
			k := problem.ShyKey{Group: l.Class.Key, Weight: m.Pool.Pool.Weight}
			problem.Remember(&next.Shy, k, next.Shy[k]+l.N)
		}
		out = append(out, proposal{next, func() string { return "pods of one machine of " + m.Pool.Pool.Name }})
	}
	return out
}

// anotherFirst is a way to save: another class goes first among those of its priority.
func anotherFirst(d *decision) []proposal {
	var out []proposal
	round := d.Round()
	for i, g := range d.Classes {
		if i > 0 && g.Why == "" && cmp.Compare(g.Priority, d.Classes[i-1].Priority) == 0 {
			next := d.Choices
			next.Ahead = maps.Clone(d.Ahead)
			problem.Remember(&next.Ahead, g.Key, round)
			out = append(out, proposal{next, g.Name})
		}
	}
	return out
}
