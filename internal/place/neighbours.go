package place

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// fewerThere is a way to save: fewer pods of a group, or none, in one of the places where they were seated. Seats are
// taken group by group, each where it is best for the group alone; what that costs those who come later shows only when
// all machines are bought.
func fewerThere(d *decision) []proposal {
	var out []proposal
	count := map[capKey]int{} // pods
	type place struct {
		key  capKey
		seat seated
	}
	var places []place
	for _, s := range d.seats {
		k := d.capKeyOf(s)
		if count[k] == 0 {
			places = append(places, place{k, s})
		}
		count[k] += s.n
	}
	for _, at := range places {
		for _, to := range slices.Compact([]int{count[at.key] - 1, 0}) {
			next := d.choices
			next.caps = maps.Clone(d.caps)
			remember(&next.caps, at.key, to)
			out = append(out, proposal{next, func() string {
				return fmt.Sprintf("%d of %s on %s", to, at.seat.g.name(), d.whereOf(at.seat))
			}})
		}
	}
	return out
}

// leaveToLighter is a way to save: pods of one machine leave its pools alone, because machines of lighter ones, which are
// bought anyway, may take them along.
func leaveToLighter(d *decision) []proposal {
	var out []proposal
	for i := range d.made {
		m := &d.made[i]
		if !slices.ContainsFunc(d.made, func(o made) bool { return o.pool.pool.Weight < m.pool.pool.Weight }) {
			continue
		}
		next := d.choices
		next.shy = maps.Clone(d.shy)
		for _, l := range m.loads {
			k := shyKey{l.g.key, m.pool.pool.Weight}
			remember(&next.shy, k, next.shy[k]+l.n)
		}
		out = append(out, proposal{next, func() string { return "pods of one machine of " + m.pool.pool.Name }})
	}
	return out
}

// anotherFirst is a way to save: another group goes first among those of its priority.
func anotherFirst(d *decision) []proposal {
	var out []proposal
	round := d.round()
	for i, g := range d.classes {
		if i > 0 && g.why == "" && cmp.Compare(g.priority, d.classes[i-1].priority) == 0 {
			next := d.choices
			next.ahead = maps.Clone(d.ahead)
			remember(&next.ahead, g.key, round)
			out = append(out, proposal{next, g.name})
		}
	}
	return out
}
