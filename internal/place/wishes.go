package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Preferences says what wishes are worth (Input.Preferences).
type Preferences string

// The ways to treat wishes: preferred node affinity, preferred pod affinity and anti-affinity, spread that is not required
// (ScheduleAnyway), and taints that only discourage (PreferNoSchedule).
const (
	// Respect grants wishes where they cost nothing, or no more than they are worth: a wish of weight 100 is worth 5 % of its pod's
	// share of the price of all that is bought, others in proportion; to keep off a taint that discourages has weight 50, whatever the pool's
	// weight is. It never leaves a pod over that could have a place without.
	Respect Preferences = "Respect"
	// Ignore looks at requirements only.
	Ignore Preferences = "Ignore"
)

// wishPercent of a pod's share of the price is what its wishes may cost at most. heavy is the weight of wishes that have none.
const (
	wishPercent = 5
	heavy       = 100
	light       = 50 // of taints that only discourage
)

// wish is one wish of a group, as the rule that it would be if it were required. Exactly one of the pointers is set, or picky.
type wish struct {
	weight int32
	node   *require.Set
	spread *spreadRule
	avoid  *term
	toward *term
	picky  bool
}

// wished reports whether any of the pods has a wish that could matter.
func wished(w model.World, pods []*model.Pod) bool {
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

// wishesOf interns what the group wishes, heaviest first.
func (d *decision) wishesOf(g *group, p *model.Pod, soft func(c model.Spread) spreadRule) {
	t := d.topo
	for _, c := range p.Spread {
		if !c.Hard {
			r := soft(c)
			g.wish = append(g.wish, wish{weight: heavy, spread: &r})
		}
	}
	for _, x := range p.Prefers {
		w := wish{weight: x.Weight}
		switch {
		case x.Pod == nil:
			s := require.New(x.Node)
			w.node = &s
		case x.Anti:
			w.avoid = t.intern(t.key(x.Pod.Key), []picker{pickerOf(*x.Pod)}, "pods")
			w.avoid.used = true
		default:
			w.toward = t.intern(t.key(x.Pod.Key), []picker{pickerOf(*x.Pod)}, "near")
			w.toward.used, w.toward.near = true, true
		}
		g.wish = append(g.wish, w)
	}
	g.wish = append(g.wish, wish{weight: light, picky: true})
	slices.SortStableFunc(g.wish, func(a, b wish) int { return cmp.Compare(b.weight, a.weight) })
}

// level is a group's form and ties with some of its wishes granted.
type level struct {
	form  *form
	rules rules
}

// levels lists what the group asks for, from all wishes granted to none: each level gives up the lightest that is left.
func (d *decision) levels(g *group) []level {
	if len(g.wish) == 0 {
		return nil
	}
	var out []level
	for n := len(g.wish); n > 0; n-- {
		l := level{form: g.form, rules: g.rules}
		l.rules.spread, l.rules.host, l.rules.keys = slices.Clone(g.spread), nil, nil
		for i := range g.wish[:n] {
			w := &g.wish[i]
			switch {
			case w.node != nil:
				if f := d.forms.wish(l.form, *w.node); f != nil && d.possible(f, g) {
					l.form = f
				}
			case w.spread != nil:
				l.rules.spread = append(l.rules.spread, *w.spread)
			case w.avoid != nil:
				l.rules.avoid = append(l.rules.avoid, w.avoid)
			case w.toward != nil:
				l.rules.toward = append(l.rules.toward, w.toward)
			case w.picky:
				f := d.forms.getPicky(l.form)
				if d.possible(f, g) {
					l.form = f
				}
			}
		}
		d.relate(&l.rules, g.ports)
		out = append(out, l)
	}
	return append(out, level{form: g.form, rules: g.rules})
}

// possible reports whether anything is there or on sale that suits the form and holds one pod of the group.
func (d *decision) possible(f *form, g *group) bool {
	for _, i := range d.slotsOf(f) {
		if d.slots[i].holds(g, 1) > 0 {
			return true
		}
	}
	return d.sold(f, g)
}

// sold reports whether anything is on sale that suits the form and holds one pod of the group.
func (d *decision) sold(f *form, g *group) bool {
	for _, s := range d.sellers {
		ok := d.lotOf(s, f).ok
		for i := ok.First(); i >= 0; i = ok.Next(i + 1) {
			if s.room[i].Covers(g.size) {
				return true
			}
		}
	}
	return false
}

// wish narrows a form to machines that have what is wished for; nil when none of its alternatives can.
func (fs *forms) wish(f *form, s require.Set) *form {
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

// worthIt reports whether granting wishes is worth what it costs beside the plan without.
func (d *decision) worthIt(plain *decision) bool {
	if c := d.comparePlaces(plain); c != 0 || d.plan.Cut && !plain.plan.Cut {
		return c < 0 // more pods have a place, however that came
	}
	pods, weight, soft := 0, int64(0), d.discouraging()
	for _, g := range d.groups {
		pods += len(g.pods)
		most := int32(0)
		for _, w := range g.wish {
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
	for _, s := range d.sellers {
		note(s.pool.Taints)
	}
	for _, s := range d.slots {
		note(s.taints)
	}
	return out
}

// putUp lets those that still wait put up with taints that only discourage, and reports whether there are any: pools without such a taint may
// have had room for some.
func (d *decision) putUp() bool {
	any := false
	for _, x := range d.buying {
		if x.waiting() > 0 && x.form.picky {
			x.form, any = d.forms.plain(x.form), true
		}
	}
	return any
}
