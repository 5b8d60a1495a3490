package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// ledger works out why one pool cannot take one more pod: constraint by constraint, in a fixed order, offerings are struck off, and
// each is counted once, under the first constraint that removes it. The constraint that removes the last one is the reason.
type ledger struct {
	s    *nodePool
	rest bitset.Set // offerings that nothing has removed yet
	out  Refusal
}

// strike removes offerings for a reason. detail is asked for when these were the last ones, of which it gets all that were left.
func (l *ledger) strike(w model.Why, what string, gone bitset.Set, detail func(had bitset.Set) string) {
	gone = gone.And(l.rest)
	n := gone.Count()
	if n == 0 {
		return
	}
	had := l.rest
	l.rest = had.Minus(gone)
	if i := slices.IndexFunc(l.out.Removed, func(r Removed) bool { return r.Why == w && r.What == what }); i >= 0 {
		l.out.Removed[i].Offerings += n
	} else {
		l.out.Removed = append(l.out.Removed, Removed{w, what, n})
	}
	if l.rest.First() < 0 {
		l.out.Why, l.out.Detail = w, detail(had)
	}
}

// over reports whether nothing is left.
func (l *ledger) over() bool { return l.rest.First() < 0 }

// refusal says why one pool could not take one more pod of the group. x is the part of it that could not be bought for,
// nil when none was to be.
func (d explainer) refusal(s *nodePool, x *group, g *seatClass) Refusal {
	l := &ledger{s: s, rest: s.offerings.all, out: Refusal{Pool: s.pool.Name}}
	if s.closed.Why != "" {
		l.out = s.closed
		if n := len(s.offerings.items); n > 0 && len(l.out.Removed) == 0 {
			l.out.Removed = []Removed{{l.out.Why, "", n}}
		}
		return l.out
	}
	p, f := g.first(), g.constraint
	if t, bad := f.untolerated(s.pool.Taints); bad {
		l.strike(model.WhyTaint, t.Key, l.rest, func(bitset.Set) string { return fmt.Sprintf("taint %s is not tolerated", t) })
		return l.out
	}
	l.strike(model.WhyRequirements, "", s.offerings.all.Minus(s.base), func(bitset.Set) string { return "the pool's requirements exclude every offering" })
	own := selected(p)
	l.labels(own)
	l.reach(g, f.terms, own)
	for _, m := range f.conflicts {
		l.strike(m.why, "daemon "+d.daemons[m.daemon].name, s.beside(m), func(bitset.Set) string { return d.shunText(m) })
	}
	l.room(g.size)
	l.strike(model.WhyUnavailable, "", s.offerings.all.Minus(s.offerings.available), func(had bitset.Set) string { return soldOutText(s, had) })
	if !l.over() {
		if lot := d.allowedOf(s, f); lot.ok != nil {
			l.alternatives(lot)
		}
		l.spent()
	}
	if !l.over() && x == nil && g.cut {
		l.strike(model.WhyPlanCut, "", l.rest, func(bitset.Set) string { return "the search ended before the pod's turn" })
	}
	if !l.over() && x == nil && g.tied() {
		d.strikeTies(l, g)
	}
	if !l.over() {
		d.strikeRest(l, x, g)
	}
	return l.out
}

// labels strikes what the pod's node selector and required affinity exclude. Of alternatives, the first says which label it was.
func (l *ledger) labels(own []require.Set) {
	if !slices.ContainsFunc(own, func(t require.Set) bool { return len(t.Keys()) > 0 }) {
		return
	}
	fit := l.s.suiting(l.rest, own)
	text := func(bitset.Set) string { return labelText(l.s, own) }
	for _, k := range own[0].Keys() {
		gone := l.rest.Minus(fit)
		if l.s.conflict(own[0].Only(func(key string) bool { return key == k })) == "" {
			if !l.s.offerings.machine(k) {
				continue
			}
			want, _ := own[0].Get(k)
			have, _ := l.s.own.Get(k)
			gone = gone.Minus(l.s.offerings.match(k, want.And(have)))
		}
		l.strike(model.WhyNodeSelector, k, gone, text)
	}
	l.strike(model.WhyNodeSelector, "", l.rest.Minus(fit), text)
}

// labelText says which label leaves nothing.
func labelText(s *nodePool, own []require.Set) string {
	detail := ""
	for _, t := range own {
		if k := s.conflict(t); k != "" {
			detail = conflictText(s, k, t)
		} else {
			detail = machineText(s, t)
		}
	}
	return detail
}

// reach strikes offerings from which the pod's volumes cannot be reached: what suits the selectors, but none of the combinations.
func (l *ledger) reach(g *seatClass, terms, own []require.Set) {
	l.strike(model.WhyVolumes, "", l.rest.Minus(l.s.suiting(l.rest, terms)), func(had bitset.Set) string {
		var where, nodes []string
		for _, t := range terms {
			where = append(where, t.String())
			if v, ok := t.Get(model.LabelHostname); ok {
				names, _ := v.Listed()
				nodes = append(nodes, names...)
			}
		}
		if len(nodes) >= len(terms) && len(nodes) > 0 {
			slices.Sort(nodes)
			nodes = slices.Compact(nodes) // each of the pod's own alternatives names them again
			return "its volume is on the disk of node " + strings.Join(nodes, " or ") + ", which no other node reaches"
		}
		who, alone := unreached(l.s, had, &g.podClass, own)
		if alone != nil {
			where = nil
		}
		for _, t := range alone {
			where = append(where, require.New(t).String())
		}
		return who + " can only be reached from machines with " + strings.Join(where, ", or ")
	})
}

// room strikes offerings that are too small, under the first resource that they have too little of.
func (l *ledger) room(size vec.Vec) {
	all := l.rest
	text := func(bitset.Set) string { return sizeText(l.s, all, size) }
	for j, n := range l.s.names {
		small := bitset.New(len(l.s.offerings.items))
		l.rest.Each(func(i int) {
			if l.s.room[i][j] < size[j] {
				small.Add(i)
			}
		})
		why := model.WhyResources
		if driver, ok := strings.CutPrefix(n, attachPrefix); ok {
			why, n = model.WhyVolumes, "of "+driver
		}
		l.strike(why, n, small, text)
	}
}

// alternatives strikes what suits an alternative of the pod's that was not followed, because another one is cheaper and both cannot
// be promised at once.
func (l *ledger) alternatives(lot *allowed) {
	l.strike(model.WhyNodeSelector, "alternatives", l.rest.Minus(lot.ok), func(bitset.Set) string { return "its alternatives cannot be promised together" })
}

// spent strikes what the pool's limits no longer bear, under the first limit that stands in the way.
func (l *ledger) spent() {
	s, all := l.s, l.rest
	for j, n := range s.limits {
		dear := bitset.New(len(s.offerings.items))
		l.rest.Each(func(i int) {
			if s.cost[i][j] > s.left[j] {
				dear.Add(i)
			}
		})
		why := model.WhyLimits
		if isSupply(n) {
			why, n = model.WhyUnavailable, "reserved"
		}
		l.strike(why, n, dear, func(bitset.Set) string { return limitText(s, all) })
	}
}

// strikeTies strikes what ties to other pods forbid: offering by offering, the first tie that refuses one more pod there.
func (d explainer) strikeTies(l *ledger, g *seatClass) {
	for _, t := range d.tiesOf(g) {
		gone := bitset.New(len(l.s.offerings.items))
		l.rest.Each(func(i int) {
			if !d.stands(t.alone, d.domsOf(l.s, g, i), true) {
				gone.Add(i)
			}
		})
		l.strike(t.why, t.key, gone, func(bitset.Set) string { _, text := d.tieText(l.s, t.alone); return text })
	}
	if !l.over() && len(l.s.choosy) > 0 {
		k := l.s.choosy[0]
		l.strike(model.WhyMinValues, k, l.rest, func(bitset.Set) string {
			return fmt.Sprintf("label %s: too few values to choose from remain in any one domain that its ties to other pods leave", k)
		})
	}
	if !l.over() {
		why, text := d.tieText(l.s, &g.tiedClass)
		l.strike(why, "", l.rest, func(bitset.Set) string { return text })
	}
}

// tie is one thing that a group asks of other pods, or they of it: the group as if it had no other.
type tie struct {
	why   model.Why
	key   string
	alone *tiedClass
}

func (d explainer) tiesOf(g *seatClass) []tie {
	var out []tie
	add := func(why model.Why, key int, r rules, among [][]int32) {
		x := g.tiedClass
		x.rules, x.among, x.ports = r, among, nil
		out = append(out, tie{why, d.topo.keys[key], &x})
	}
	for i, r := range g.spread {
		if i < len(g.among) {
			add(model.WhyTopologySpread, r.term.key, rules{spread: []spreadRule{r}}, g.among[i:i+1])
		}
	}
	for _, t := range g.anti {
		add(model.WhyPodAffinity, t.key, rules{anti: []*term{t}}, nil)
	}
	for _, t := range g.near.terms {
		add(model.WhyPodAffinity, t.key, rules{near: nearRule{[]*term{t}, g.near.self}}, nil)
	}
	for _, t := range g.joint {
		add(model.WhyVolumes, t.key, rules{joint: []*term{t}}, nil)
		if t.onePod {
			out[len(out)-1].key = "ReadWriteOncePod"
		}
	}
	for _, t := range g.matches {
		if t.volume {
			continue
		}
		why := model.WhyPodAffinity
		if t.elig != nil {
			why = model.WhyTopologySpread
		}
		add(why, t.key, rules{matches: []*term{t}}, nil)
	}
	return out
}

// domsOf returns the domains that a machine bought as item i would be in for pods of the group.
func (d explainer) domsOf(s *nodePool, g *seatClass, i int) []int32 {
	out := make([]int32, len(d.topo.keys))
	for k, name := range d.topo.keys {
		out[k] = unknown
		if c := s.offerings.keys[name]; c != nil {
			if v := slices.IndexFunc(c.sets, func(have bitset.Set) bool { return have.Has(i) }); v >= 0 {
				out[k] = d.topo.dom(k, c.values[v])
			}
			continue
		}
		if v := s.handsOut(name, d.allowedOf(s, g.constraint).free, d.topo.said[k]); k != host && len(v) > 0 && v[0] != "" {
			out[k] = d.topo.dom(k, v[0])
		}
	}
	return out
}

// strikeRest says why nothing was bought although something is left to buy.
func (d explainer) strikeRest(l *ledger, x *group, g *seatClass) {
	s := l.s
	lacks, text := s.lack(l.rest)
	switch {
	case d.capped(g):
		l.strike(model.WhyTopologySpread, "", l.rest, func(bitset.Set) string {
			return "a machine for it would cost others their place; it waits until these are bound"
		})
	case x != nil && x.given[s.id] != "":
		l.strike(model.WhyMinValues, "", l.rest, func(bitset.Set) string { return x.given[s.id] })
	case lacks != "":
		l.strike(model.WhyMinValues, lacks, l.rest, func(bitset.Set) string { return text })
	case len(s.choosy) > 0:
		l.strike(model.WhyMinValues, cmp.Or(s.choosy...), l.rest, func(bitset.Set) string { return "too few of the offerings that satisfy minValues hold the pod" })
	case d.exceeded || len(s.pool.Limits) == 0:
		l.strike(model.WhyPlanCut, "", l.rest, func(bitset.Set) string { return "the search ended before the pod's turn" })
	default:
		l.strike(model.WhyLimits, "", l.rest, func(had bitset.Set) string { return limitText(s, had) })
	}
}

// capped reports whether fewer machines may be bought for the group somewhere than it asks for, for the good of the plan.
func (d explainer) capped(x *seatClass) bool {
	for k := range d.caps {
		if k.group == x.key {
			return true
		}
	}
	return false
}

// shunText says what a daemon has against the pods.
func (d explainer) shunText(x daemonConflict) string {
	m := &d.daemons[x.daemon]
	switch x.why {
	case model.WhyHostPorts:
		return fmt.Sprintf("daemon %s/%s takes one of its host ports on every machine that is left", m.namespace, m.name)
	case model.WhyTopologySpread:
		return fmt.Sprintf("daemon %s/%s counts for its spread over %s, and leaves it no room on any machine", m.namespace, m.name, x.key)
	}
	return fmt.Sprintf("daemon %s/%s runs on every machine that is left, and one of the two refuses the other", m.namespace, m.name)
}
