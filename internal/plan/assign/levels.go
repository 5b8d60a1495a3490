package assign

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
)

// level is a class's form and ties with some of its preferences granted.
type level struct {
	form  *problem.NodeConstraint
	rules topology.Rules
}

// levels lists what the class asks for, from all preferences granted to none: each level gives up the lightest that is left.
func (d *desk) levels(g *Class) []level {
	if len(g.Preferences) == 0 {
		return nil
	}
	var out []level
	for n := len(g.Preferences); n > 0; n-- {
		l := level{form: g.Constraint, rules: g.Rules}
		l.rules.Spread, l.rules.Host, l.rules.Keys = slices.Clone(g.Spread), nil, nil
		for i := range g.Preferences[:n] {
			w := &g.Preferences[i]
			switch {
			case w.Node != nil:
				if f := d.Constraints.Wish(l.form, *w.Node); f != nil &&
					d.Possible(f, &g.PodClass) {
					l.form = f
				}
			case w.Spread != nil:
				l.rules.Spread = append(l.rules.Spread, *w.Spread)
			case w.Avoid != nil:
				l.rules.Avoid = append(l.rules.Avoid, w.Avoid)
			case w.Toward != nil:
				l.rules.Toward = append(l.rules.Toward, w.Toward)
			case w.Picky:
				f := d.Constraints.GetPicky(l.form)
				if d.Possible(f, &g.PodClass) {
					l.form = f
				}
			}
		}
		l.rules.Relate(g.Ports)
		out = append(out, l)
	}
	return append(out, level{form: g.Constraint, rules: g.Rules})
}
