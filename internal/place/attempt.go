package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// maxAttempts bounds how often a decision is made anew because of what the one before taught.
const maxAttempts = 10

// maxVain bounds how often in a row the order in which planned pods are asked is changed without any good.
const maxVain = 3

// attempt decides under one way to grant wishes. A decision seats group after group and looks back at none; where that goes wrong, or
// leaves pods over that others stand in the way of, another one is made that knows better, and the best is kept. Each is sound by
// itself.
func attempt(in Input, pods []*model.Pod, grant granting, known lessons) *decision {
	var best *decision
	mends, vain := min(maxMends, 1+mendPods/len(pods)), 0
	for range maxAttempts {
		if best != nil && in.exhausted() {
			best.plan.Cut = true
			return best
		}
		d := &decision{in: in, grant: grant, lessons: known}
		d.run(pods)
		vain++
		if best == nil || d.compare(best) < 0 {
			best, vain = d, 0
		}
		learnt := d.learn(vain < maxVain)
		if in.uses(lessonsAhead) && grant == noWishes && mends > 0 && d.yield() {
			mends--
			learnt = true
		}
		if !learnt && !(in.uses(lessonsOutside) && d.goOutside()) {
			break
		}
		known = d.next
	}
	if in.uses(lessonsGather) && best.gatherable() && !in.exhausted() {
		known = best.lessons
		known.gather = true
		d := &decision{in: in, grant: grant, lessons: known}
		if d.run(pods); d.compare(best) < 0 {
			best = d
		}
	}
	return varied(best, pods)
}

// lessons are what earlier attempts taught. The zero value knows nothing.
type lessons struct {
	// caps bounds, per group and cell or slot, how many pods machines may be bought for, or may be seated there.
	caps map[capKey]int
	// fresh is set when spread over hosts has to reckon with empty machines: those that will be bought.
	fresh bool
	// ahead says, by key, which groups go first among those of their priority: the greater, the earlier.
	ahead map[string]int
	// leap is set when they go before more important ones, too.
	leap bool
	// eager says of planned pods how often their place was gone when they were asked; they are asked first.
	eager map[model.PodKey]int
	// called are groups, by key, that planned pods look for: they come before everybody, the greater the earlier.
	called map[string]int
	// alone are groups, by key, that were left over because those that they look for were where they could not join them.
	alone map[string]bool
	// late is set when pods may join others on a machine who would mind if they had been there first.
	late bool
	// manner says when planned pods are asked.
	manner manner
	// gather is set when pods spread over machines are to share as few as their minDomains says are enough.
	gather bool
	// shy says for how many pods of a group nothing is bought in pools of a weight, because machines of lighter pools are to take them along.
	shy map[shyKey]int
	// absent are domains that could have been bought in, and were not by anybody.
	absent map[absence]bool
	// outside is set when pods that are spread over zones may go outside them, too.
	outside bool
}

// clone copies the lessons, but for gather, which is the last of them.
func (l *lessons) clone() lessons {
	return lessons{caps: maps.Clone(l.caps), fresh: l.fresh, ahead: maps.Clone(l.ahead), leap: l.leap, eager: maps.Clone(l.eager),
		called: maps.Clone(l.called), alone: maps.Clone(l.alone), late: l.late, manner: l.manner,
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

// learn draws lessons into next from what went wrong in an attempt, and reports whether there are new ones. With again, planned pods that
// lost their place are one.
func (d *decision) learn(again bool) bool {
	d.next = d.lessons.clone()
	learnt := false
	if !d.in.uses(lessonsCaps) {
		d.failed, d.usedLow, d.minded = nil, false, false
	}
	for k, to := range d.failed {
		if old, ok := d.caps[k]; !ok || to < old {
			remember(&d.next.caps, k, to)
			learnt = true
		}
	}
	if d.usedLow && !d.fresh && len(d.stuck) > 0 {
		d.next.fresh, learnt = true, true
	}
	if d.minded && !d.late && len(d.plan.Left) > 0 { // kube-scheduler lets them join whatever we plan
		d.next.late, learnt = true, true
	}
	learnt = d.in.uses(lessonsGuests) && d.lonesome() || learnt
	if !d.in.uses(lessonsManner) {
		return learnt
	}
	d.call()
	if d.robbed && d.manner < lastManner {
		d.next.manner++
		return true
	}
	for _, x := range d.denied {
		remember(&d.next.eager, x.pod, d.eager[x.pod]+1)
		learnt = learnt || again
	}
	return learnt
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

// call notes who is looked for by planned pods that lost their place: they come first of all in the next attempt.
func (d *decision) call() {
	for _, x := range d.denied {
		for _, g := range d.groups {
			if g.why != "" || len(x.g.near.terms) == 0 || !d.wants(x.g, g) {
				continue
			}
			n := 1
			if g.near.self { // they may have to be the first of their like
				n = 2
			}
			remember(&d.next.called, g.key, n)
		}
	}
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

// noteFailures notes for whom fewer machines could be bought than counted on, and who could not be bound where they were seated.
func (d *decision) noteFailures() {
	d.failed = map[capKey]int{}
	for _, x := range d.buying {
		if x.waiting() == 0 || !x.of.tied() {
			continue
		}
		if !x.bundled {
			k := capKey{x.of.key, x.cell.key()}
			d.failed[k] = d.failed[k] + x.next
			continue
		}
		for _, m := range x.members {
			d.failed[capKey{m.g.key, m.c.key()}] = 0
		}
	}
	for _, u := range d.stuck {
		s := d.seats[u.seat]
		k := d.capKeyOf(s)
		if _, ok := d.failed[k]; !ok {
			for _, o := range d.seats {
				if o.g == s.g && o.slot == s.slot && o.cell == s.cell {
					d.failed[k] += o.n
				}
			}
		}
		d.failed[k] = max(0, d.failed[k]-u.n)
	}
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
