package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// maxAttempts bounds how often a decision is made anew because of what the one before taught.
const maxAttempts = 10

// attempt decides under one way to grant wishes. A decision seats group after group and looks back at none; where that goes wrong, or
// leaves pods over that others stand in the way of, another one is made that knows better, and the best is kept. Each is sound by
// itself.
func attempt(in Input, pods []*model.Pod, wishes bool, known lessons) *decision {
	var best *decision
	mends := min(maxMends, 1+mendPods/len(pods))
	for range maxAttempts {
		if best != nil && in.exhausted() {
			best.plan.Cut = true
			return best
		}
		d := &decision{in: in, wishes: wishes, lessons: known}
		d.run(pods)
		if best == nil || d.compare(best) < 0 {
			best = d
		}
		learnt := d.learn()
		if in.uses(lessonsAhead) && !wishes && mends > 0 && d.yield() {
			mends--
			learnt = true
		}
		if !learnt && !d.goOutside() {
			break
		}
		known = d.next
	}
	return varied(best, pods)
}

// lessons are what earlier attempts taught. The zero value knows nothing.
type lessons struct {
	// caps bounds, per group and cell or slot, how many pods machines may be bought for, or may be seated there.
	caps map[capKey]int
	// ahead says, by key, which groups go first among those of their priority: the greater, the earlier.
	ahead map[string]int
	// leap is set when they go before more important ones, too.
	leap bool
	// alone are groups, by key, that were left over because those that they look for were where they could not join them.
	alone map[string]bool
	// shy says for how many pods of a group nothing is bought in pools of a weight, because machines of lighter pools are to take them along.
	shy map[shyKey]int
	// absent are domains that could have been bought in, and were not by anybody.
	absent map[absence]bool
	// outside is set when pods that are spread over zones may go outside them, too.
	outside bool
}

// clone copies the lessons.
func (l *lessons) clone() lessons {
	return lessons{caps: maps.Clone(l.caps), ahead: maps.Clone(l.ahead), leap: l.leap, alone: maps.Clone(l.alone),
		absent: maps.Clone(l.absent), outside: l.outside}
}

// round is one more than any group is ahead.
func (l *lessons) round() int {
	round := 1
	for _, n := range l.ahead {
		round = max(round, n+1)
	}
	return round
}

// capKey names a group and a cell, or a slot.
type capKey struct{ group, at string }

// shyKey names a group and the weight of pools.
type shyKey struct {
	group  string
	weight int
}

// absence names a domain of those that count for a spread.
type absence struct {
	eligible, key, value string
}

// slotKey names a slot in caps; no cell has such a name.
func slotKey(s *slot) string { return "\x01" + s.node + "\x01" + s.claim }

// capKeyOf names the group of a seat, and where it is.
func (d *decision) capKeyOf(s seated) capKey {
	if s.slot >= 0 {
		return capKey{s.g.key, slotKey(d.slots[s.slot])}
	}
	return capKey{s.g.key, s.cell.key()}
}

// asEqual: prices that differ by less than such a part are as good as each other.
const asEqual = 100_000

// compare orders decisions: fewer planned pods for whom machines would be bought twice, or that lost their place; then fewer pods left over,
// those that matter most before others; then cheaper, and fewer machines where the price is next to equal.
func (d *decision) compare(o *decision) int {
	fewer := 0
	if diff := d.plan.Price - o.plan.Price; max(diff, -diff) <= max(d.plan.Price, o.plan.Price)/asEqual {
		fewer = cmp.Compare(len(d.plan.Buy), len(o.plan.Buy))
	}
	return cmp.Or(d.comparePlaces(o), fewer, cmp.Compare(d.plan.Price, o.plan.Price), cmp.Compare(len(d.plan.Buy), len(o.plan.Buy)))
}

// comparePlaces is compare without the price.
func (d *decision) comparePlaces(o *decision) int {
	return cmp.Or(cmp.Compare(d.twice, o.twice), cmp.Compare(len(d.broken), len(o.broken)), d.compareLeft(o))
}

// learn draws lessons into next from what went wrong in an attempt, and reports whether there are new ones.
func (d *decision) learn() bool {
	d.next = d.lessons.clone()
	return d.in.uses(lessonsGuests) && d.lonesome()
}

// goOutside lets pods go outside zones in the next attempt that were left over, and kept from there. It reports whether there are any.
func (d *decision) goOutside() bool {
	if d.outside || len(d.plan.Left) == 0 {
		return false
	}
	left := make(map[model.PodKey]bool, len(d.plan.Left))
	for _, l := range d.plan.Left {
		left[l.Pod] = true
	}
	d.next.outside = slices.ContainsFunc(d.groups, func(g *group) bool {
		return g.kept && slices.ContainsFunc(g.pods, func(p *model.Pod) bool { return left[p.Key()] })
	})
	return d.next.outside
}

// yield lets those go ahead in the next attempt who were left over in this one, and has nobody wait for domains that nobody was in. It
// reports whether there is anything to try.
func (d *decision) yield() bool {
	round := d.round()
	stay := d.stayed()
	for _, k := range stay {
		remember(&d.next.ahead, k, round)
	}
	learnt := len(stay) > 0
	d.next.leap = round > leaping
	for _, a := range d.missing {
		learnt = learnt || !d.absent[a]
		remember(&d.next.absent, a, true)
	}
	return learnt
}

func remember[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// noteMissing notes the domains that pods were left over for, as the emptiest, and that no machine is in after all.
func (d *decision) noteMissing() {
	t := d.topo
	for _, g := range d.groups {
		if g.why != "" || g.unseated() == 0 {
			continue
		}
		for i, r := range g.spread {
			e := r.term.elig
			if r.term.key == host || i >= len(g.among) {
				continue
			}
			for _, dom := range g.among[i] {
				if !e.anyIn(t, r.term.key, dom) {
					d.missing = append(d.missing, absence{e.text, t.keys[r.term.key], t.names[r.term.key][dom]})
				}
			}
		}
	}
}

// anyIn reports whether a machine that may count is in the domain, or may turn out to be.
func (e *eligible) anyIn(t *topology, key int, dom int32) bool {
	for i, s := range t.spots {
		if e.spots[i] != never && s.mayBe(t, key, dom) {
			return true
		}
	}
	return false
}

// mayBe reports whether the machine is in the domain, or may turn out to be.
func (s *spot) mayBe(t *topology, key int, dom int32) bool {
	return s.doms[key] == dom || s.doms[key] == either && slices.Contains(s.may[t.keys[key]], t.names[key][dom])
}
