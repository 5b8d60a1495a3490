package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Preferences says what preferences are worth (Input.Preferences).
type Preferences string

// The ways to treat preferences: preferred node affinity, preferred pod affinity and anti-affinity, spread that is not required
// (ScheduleAnyway), and taints that only discourage (PreferNoSchedule).
const (
	// Respect grants preferences where they cost nothing, or no more than they are worth: a preference of weight 100 is worth 5 % of its pod's
	// share of the price of all that is bought, others in proportion; to keep off a taint that discourages has weight 50, whatever the pool's
	// weight is. It never leaves a pod over that could have a place without.
	Respect Preferences = "Respect"
	// Ignore looks at requirements only.
	Ignore Preferences = "Ignore"
)

// wishPercent of a pod's share of the price is what its preferences may cost at most. heavy is the weight of preferences that have none.
const (
	wishPercent = 5
	heavy       = 100
	light       = 50 // of taints that only discourage
)

// preference is one preference of a group, as the rule that it would be if it were required. Exactly one of the pointers is set, or picky.
type preference struct {
	weight int32
	node   *require.Set
	spread *spreadRule
	avoid  *term
	toward *term
	picky  bool
}

// anyPrefers reports whether any of the pods has a preference that could matter.
func anyPrefers(w model.World, pods []*model.Pod) bool {
	soft := func(list []model.Taint) bool {
		return slices.ContainsFunc(list, func(t model.Taint) bool { return t.Effect == model.PreferNoSchedule })
	}
	if slices.ContainsFunc(w.Pools, func(p model.Pool) bool { return soft(p.Taints) }) ||
		slices.ContainsFunc(w.Nodes, func(n model.Node) bool { return soft(n.Taints) }) {
		return true
	}
	return slices.ContainsFunc(pods, func(p *model.Pod) bool {
		return len(p.Prefers) > 0 || slices.ContainsFunc(p.Spread, func(c model.Spread) bool { return !c.Hard })
	})
}

// preferencesOf interns what the group preferences, heaviest first.
func (d *decision) preferencesOf(g *podClass, p *model.Pod, soft func(c model.Spread) spreadRule) {
	t := d.topo
	for _, c := range p.Spread {
		if !c.Hard {
			r := soft(c)
			g.preferences = append(g.preferences, preference{weight: heavy, spread: &r})
		}
	}
	for _, x := range p.Prefers {
		w := preference{weight: x.Weight}
		switch {
		case x.Pod == nil:
			s := require.New(x.Node)
			w.node = &s
		case x.Anti:
			w.avoid = t.intern(t.key(x.Pod.Key), []podSelector{podSelectorOf(*x.Pod)}, "pods")
			w.avoid.used = true
		default:
			w.toward = t.intern(t.key(x.Pod.Key), []podSelector{podSelectorOf(*x.Pod)}, "near")
			w.toward.used, w.toward.near = true, true
		}
		g.preferences = append(g.preferences, w)
	}
	g.preferences = append(g.preferences, preference{weight: light, picky: true})
	slices.SortStableFunc(g.preferences, func(a, b preference) int { return cmp.Compare(b.weight, a.weight) })
}

// level is a group's form and ties with some of its preferences granted.
type level struct {
	form  *nodeConstraint
	rules rules
}

// levels lists what the group asks for, from all preferences granted to none: each level gives up the lightest that is left.
func (d *decision) levels(g *podClass) []level {
	if len(g.preferences) == 0 {
		return nil
	}
	var out []level
	for n := len(g.preferences); n > 0; n-- {
		l := level{form: g.constraint, rules: g.rules}
		l.rules.spread, l.rules.host, l.rules.keys = slices.Clone(g.spread), nil, nil
		for i := range g.preferences[:n] {
			w := &g.preferences[i]
			switch {
			case w.node != nil:
				if f := d.constraints.wish(l.form, *w.node); f != nil && d.possible(f, g) {
					l.form = f
				}
			case w.spread != nil:
				l.rules.spread = append(l.rules.spread, *w.spread)
			case w.avoid != nil:
				l.rules.avoid = append(l.rules.avoid, w.avoid)
			case w.toward != nil:
				l.rules.toward = append(l.rules.toward, w.toward)
			case w.picky:
				f := d.constraints.getPicky(l.form)
				if d.possible(f, g) {
					l.form = f
				}
			}
		}
		d.relate(&l.rules, g.ports)
		out = append(out, l)
	}
	return append(out, level{form: g.constraint, rules: g.rules})
}

// possible reports whether anything is there or on sale that suits the form and holds one pod of the group.
func (d *decision) possible(f *nodeConstraint, g *podClass) bool {
	for _, i := range d.existingFor(f) {
		if d.existing[i].holds(g, 1) > 0 {
			return true
		}
	}
	return d.sold(f, g)
}

// sold reports whether anything is on sale that suits the form and holds one pod of the group.
func (d *decision) sold(f *nodeConstraint, g *podClass) bool {
	for _, s := range d.pools {
		ok := d.allowedOf(s, f).ok
		for i := ok.First(); i >= 0; i = ok.Next(i + 1) {
			if s.room[i].Covers(g.size) {
				return true
			}
		}
	}
	return false
}

// wish narrows a form to machines that have what is wished for; nil when none of its alternatives can.
func (fs *constraints) wish(f *nodeConstraint, s require.Set) *nodeConstraint {
	var terms []require.Set
	for _, t := range f.terms {
		if t = t.And(s); t.Impossible() == "" {
			terms = append(terms, t)
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return fs.like(f, terms)
}

// worthIt reports whether granting preferences is worth what it costs beside the plan without.
func (d *decision) worthIt(plain *decision) bool {
	if c := d.comparePlaces(plain); c != 0 || d.plan.BudgetExceeded && !plain.plan.BudgetExceeded {
		return c < 0 // more pods have a place, however that came
	}
	pods, weight, soft := 0, int64(0), d.discouraging()
	for _, g := range d.classes {
		pods += len(g.pods)
		most := int32(0)
		for _, w := range g.preferences {
			if _, minds := discouraging(soft, g.tolerations); minds || !w.picky {
				most = max(most, w.weight)
			}
		}
		weight += int64(most) * int64(len(g.pods))
	}
	value := float64(plain.plan.Price) * wishPercent / 100 * float64(weight) / 100 / float64(max(pods, 1))
	return float64(d.plan.Price-plain.plan.Price) <= value
}

// discouraging lists, once each, the taints of pools and nodes that only discourage.
func (d *decision) discouraging() []model.Taint {
	var out []model.Taint
	note := func(list []model.Taint) {
		for _, t := range list {
			if t.Effect == model.PreferNoSchedule && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	for _, s := range d.pools {
		note(s.pool.Taints)
	}
	for _, s := range d.existing {
		note(s.taints)
	}
	return out
}

// putUp lets those that still wait put up with taints that only discourage, and reports whether there are any: pools without such a taint may
// have had room for some.
func (d *decision) putUp() bool {
	any := false
	for _, x := range d.buying {
		if x.waiting() > 0 && x.constraint.picky {
			x.constraint, any = d.constraints.plain(x.constraint), true
		}
	}
	return any
}
