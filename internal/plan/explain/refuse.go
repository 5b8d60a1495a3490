package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// ledger works out why one pool cannot take one more pod: constraint by constraint, in a fixed order, offerings are struck off, and
// each is counted once, under the first constraint that removes it. The constraint that removes the last one is the reason.
type ledger struct {
	s    *problem.NodePool
	rest bitset.Set // offerings that nothing has removed yet
	out  answer.Refusal
}

// strike removes offerings for a reason. detail is asked for when these were the last ones, of which it gets all that were left.
func (l *ledger) strike(
	w model.Why,
	what string,
	gone bitset.Set,
	detail func(had bitset.Set) string,
) {
	gone = gone.And(l.rest)
	n := gone.Count()
	if n == 0 {
		return
	}
	had := l.rest
	l.rest = had.Minus(gone)
	same := func(r answer.Removed) bool { return r.Why == w && r.What == what }
	if i := slices.IndexFunc(l.out.Removed, same); i >= 0 {
		l.out.Removed[i].Offerings += n
	} else {
		l.out.Removed = append(l.out.Removed, answer.Removed{Why: w, What: what, Offerings: n})
	}
	if l.rest.First() < 0 {
		l.out.Why, l.out.Detail = w, detail(had)
	}
}

// over reports whether nothing is left.
func (l *ledger) over() bool { return l.rest.First() < 0 }

// refusal says why one pool could not take one more pod of the class. x is the part of it that could not be bought for,
// nil when none was to be.
func (d Explainer) refusal(s *problem.NodePool, x *assign.Group, g *assign.Class) answer.Refusal {
	l := &ledger{s: s, rest: s.Offerings.All, out: answer.Refusal{Pool: s.Pool.Name}}
	if s.Closed.Why != "" {
		l.out = s.Closed
		if n := len(s.Offerings.Items); n > 0 && len(l.out.Removed) == 0 {
			l.out.Removed = []answer.Removed{{Why: l.out.Why, What: "", Offerings: n}}
		}
		return l.out
	}
	p, f := g.First(), g.Constraint
	if t, bad := f.Untolerated(s.Pool.Taints); bad {
		l.strike(model.WhyTaint, t.Key, l.rest, func(bitset.Set) string {
			return fmt.Sprintf("taint %s is not tolerated", t)
		})
		return l.out
	}
	l.strike(model.WhyRequirements, "", s.Offerings.All.Minus(s.Base), func(bitset.Set) string {
		return "the pool's requirements exclude every offering"
	})
	own := alike.Selected(p)
	l.labels(own)
	l.reach(g, f.Terms, own)
	for _, m := range f.Conflicts {
		l.strike(m.Why, "daemon "+d.Daemons[m.Daemon].Name, s.Beside(m), func(bitset.Set) string {
			return d.shunText(m)
		})
	}
	l.room(g.Size)
	l.strike(
		model.WhyUnavailable,
		"",
		s.Offerings.All.Minus(s.Offerings.Available),
		func(had bitset.Set) string { return soldOutText(s, had) },
	)
	if !l.over() {
		if lot := d.AllowedOf(s, f); lot.OK != nil {
			l.alternatives(lot)
		}
		l.spent()
	}
	if !l.over() && x == nil && g.Cut {
		l.strike(model.WhyPlanCut, "", l.rest, func(bitset.Set) string {
			return "the search ended before the pod's turn"
		})
	}
	if !l.over() && x == nil && g.Tied() {
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
	fit := l.s.Suiting(l.rest, own)
	text := func(bitset.Set) string { return labelText(l.s, own) }
	for _, k := range own[0].Keys() {
		gone := l.rest.Minus(fit)
		if l.s.Conflict(own[0].Only(func(key string) bool { return key == k })) == "" {
			if !l.s.Offerings.Machine(k) {
				continue
			}
			want, _ := own[0].Get(k)
			have, _ := l.s.Own.Get(k)
			gone = gone.Minus(l.s.Offerings.Match(k, want.And(have)))
		}
		l.strike(model.WhyNodeSelector, k, gone, text)
	}
	l.strike(model.WhyNodeSelector, "", l.rest.Minus(fit), text)
}

// labelText says which label leaves nothing.
func labelText(s *problem.NodePool, own []require.Set) string {
	detail := ""
	for _, t := range own {
		if k := s.Conflict(t); k != "" {
			detail = conflictText(s, k, t)
		} else {
			detail = machineText(s, t)
		}
	}
	return detail
}

// reach strikes offerings from which the pod's volumes cannot be reached: what suits the selectors, but none of the combinations.
func (l *ledger) reach(g *assign.Class, terms, own []require.Set) {
	l.strike(
		model.WhyVolumes,
		"",
		l.rest.Minus(l.s.Suiting(l.rest, terms)),
		func(had bitset.Set) string {
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
				return "its volume is on the disk of node " + strings.Join(nodes, " or ") +
					", which no other node reaches"
			}
			who, alone := unreached(l.s, had, &g.PodClass, own)
			if alone != nil {
				where = nil
			}
			for _, t := range alone {
				where = append(where, require.New(t).String())
			}
			return who + " can only be reached from machines with " + strings.Join(where, ", or ")
		},
	)
}

// room strikes offerings that are too small, under the first resource that they have too little of.
func (l *ledger) room(size vec.Vec) {
	all := l.rest
	text := func(bitset.Set) string { return sizeText(l.s, all, size) }
	for j, n := range l.s.Names {
		most := int64(0)
		small := l.rest.Where(func(i int) bool {
			most = max(most, l.s.Room[i][j])
			return l.s.Room[i][j] < size[j]
		})
		why := model.WhyResources
		if driver, ok := strings.CutPrefix(n, problem.AttachPrefix); ok {
			why, n = model.WhyVolumes, "of "+driver
		}
		l.strike(why, n, small, text)
		l.most(why, n, most)
	}
}

// most writes down how much the offerings left of a resource, if some were too small.
func (l *ledger) most(why model.Why, what string, most int64) {
	for i := range l.out.Removed {
		if x := &l.out.Removed[i]; x.Why == why && x.What == what && why == model.WhyResources {
			x.Most = most
		}
	}
}

// alternatives strikes what suits an alternative of the pod's that was not followed, because another one is cheaper and both cannot
// be promised at once.
func (l *ledger) alternatives(lot *problem.Allowed) {
	l.strike(model.WhyNodeSelector, "alternatives", l.rest.Minus(lot.OK), func(bitset.Set) string {
		return "its alternatives cannot be promised together"
	})
}

// spent strikes what the pool's limits no longer bear, under the first limit that stands in the way.
func (l *ledger) spent() {
	s, all := l.s, l.rest
	for j, n := range s.Limits {
		dear := l.rest.Where(func(i int) bool { return s.Cost[i][j] > s.Left[j] })
		why := model.WhyLimits
		if problem.IsSupply(n) {
			why, n = model.WhyUnavailable, "reserved"
		}
		l.strike(why, n, dear, func(bitset.Set) string { return limitText(s, all) })
	}
}

// strikeTies strikes what ties to other pods forbid: offering by offering, the first tie that refuses one more pod there.
func (d Explainer) strikeTies(l *ledger, g *assign.Class) {
	for _, t := range d.tiesOf(g) {
		gone := l.rest.Where(func(i int) bool {
			return !d.Allows(t.alone, d.domsOf(l.s, g, i), topology.Fresh)
		})
		l.strike(t.why, t.key, gone,
			func(bitset.Set) string { _, text := d.tieText(l.s, t.alone); return text })
	}
	if !l.over() && len(l.s.Choosy) > 0 {
		k := l.s.Choosy[0]
		l.strike(model.WhyMinValues, k, l.rest, func(bitset.Set) string {
			return fmt.Sprintf(
				"label %s: too few values to choose from remain in any one domain "+
					"that its ties to other pods leave",
				k,
			)
		})
	}
	if !l.over() {
		why, text := d.tieText(l.s, &g.Class)
		l.strike(why, "", l.rest, func(bitset.Set) string { return text })
	}
}

// tie is one thing that a class asks of other pods, or they of it: the class as if it had no other.
type tie struct {
	why   model.Why
	key   string
	alone *topology.Class
}

func (d Explainer) tiesOf(g *assign.Class) []tie {
	var out []tie
	add := func(why model.Why, key int, r topology.Rules, among [][]int32) {
		x := g.Class
		x.Rules, x.Among, x.Ports = r, among, nil
		out = append(out, tie{why, d.Topo.Keys[key], &x})
	}
	for i, r := range g.Spread {
		if i < len(g.Among) {
			add(model.WhyTopologySpread, r.Term.Key,
				topology.Rules{Spread: []topology.SpreadRule{r}}, g.Among[i:i+1])
		}
	}
	for _, t := range g.Anti {
		add(model.WhyPodAffinity, t.Key, topology.Rules{Anti: []*topology.Term{t}}, nil)
	}
	for _, t := range g.Near.Terms {
		add(model.WhyPodAffinity, t.Key,
			topology.Rules{Near: topology.NearRule{Terms: []*topology.Term{t}, Self: g.Near.Self}},
			nil)
	}
	for _, t := range g.Joint {
		add(model.WhyVolumes, t.Key, topology.Rules{Joint: []*topology.Term{t}}, nil)
		if t.OnePod {
			out[len(out)-1].key = "ReadWriteOncePod"
		}
	}
	for _, t := range g.Matches {
		if t.Volume {
			continue
		}
		why := model.WhyPodAffinity
		if t.Elig != nil {
			why = model.WhyTopologySpread
		}
		add(why, t.Key, topology.Rules{Matches: []*topology.Term{t}}, nil)
	}
	return out
}

// domsOf returns the domains that a machine bought as item i would be in for pods of the class.
func (d Explainer) domsOf(s *problem.NodePool, g *assign.Class, i int) []int32 {
	out := make([]int32, len(d.Topo.Keys))
	for k, name := range d.Topo.Keys {
		out[k] = topology.Unknown
		if c := s.Offerings.Keys[name]; c != nil {
			has := func(have bitset.Set) bool { return have.Has(i) }
			if v := slices.IndexFunc(c.Sets, has); v >= 0 {
				out[k] = d.Topo.Dom(k, c.Values[v])
			}
			continue
		}
		v := s.HandsOut(name, d.AllowedOf(s, g.Constraint).Free, d.Topo.Said[k])
		if k != topology.Host &&
			len(v) > 0 &&
			v[0] != "" {
			out[k] = d.Topo.Dom(k, v[0])
		}
	}
	return out
}

// strikeRest says why nothing was bought although something is left to buy.
func (d Explainer) strikeRest(l *ledger, x *assign.Group, g *assign.Class) {
	s := l.s
	lacks, text := s.Lack(l.rest)
	switch {
	case d.capped(g):
		l.strike(model.WhyTopologySpread, "", l.rest, func(bitset.Set) string {
			return "a machine for it would cost others their place; it waits until these are bound"
		})
	case x != nil && x.Given[s.ID] != "":
		l.strike(model.WhyMinValues, "", l.rest, func(bitset.Set) string { return x.Given[s.ID] })
	case lacks != "":
		l.strike(model.WhyMinValues, lacks, l.rest, func(bitset.Set) string { return text })
	case len(s.Choosy) > 0:
		l.strike(model.WhyMinValues, cmp.Or(s.Choosy...), l.rest, func(bitset.Set) string {
			return "too few of the offerings that satisfy minValues hold the pod"
		})
	case d.Exceeded:
		l.strike(model.WhyPlanCut, "", l.rest,
			func(bitset.Set) string { return "the search ended before the pod's turn" })
	case len(s.Pool.Limits) == 0:
		why := model.WhyPodAffinity
		if len(g.Spread) > 0 {
			why = model.WhyTopologySpread
		}
		l.strike(why, "", l.rest, func(bitset.Set) string {
			return "no place beside the other pods of this plan was found that its ties allow; " +
				"it is planned again when these run"
		})
	default:
		l.strike(model.WhyLimits, "", l.rest,
			func(had bitset.Set) string { return limitText(s, had) })
	}
}

// capped reports whether fewer machines may be bought for the class somewhere than it asks for, for the good of the plan.
func (d Explainer) capped(x *assign.Class) bool {
	for k := range d.Caps {
		if k.Group == x.Key && !k.Existing() {
			return true
		}
	}
	return false
}

// shunText says what a daemon has against the pods.
func (d Explainer) shunText(x problem.DaemonConflict) string {
	m := &d.Daemons[x.Daemon]
	switch x.Why {
	case model.WhyHostPorts:
		return fmt.Sprintf("daemon %s/%s takes one of its host ports on every machine that is left",
			m.Namespace, m.Name)
	case model.WhyTopologySpread:
		return fmt.Sprintf(
			"daemon %s/%s counts for its spread over %s, and leaves it no room on any machine",
			m.Namespace,
			m.Name,
			x.Key,
		)
	}
	return fmt.Sprintf(
		"daemon %s/%s runs on every machine that is left, and one of the two refuses the other",
		m.Namespace,
		m.Name,
	)
}
