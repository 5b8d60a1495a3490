package place

import "slices"

// level is a group's form and ties with some of its preferences granted.
type level struct {
	form  *nodeConstraint
	rules rules
}

// levels lists what the group asks for, from all preferences granted to none: each level gives up the lightest that is left.
func (d *desk) levels(g *seatClass) []level {
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
				if f := d.constraints.wish(l.form, *w.node); f != nil && d.possible(f, &g.podClass) {
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
				if d.possible(f, &g.podClass) {
					l.form = f
				}
			}
		}
		l.rules.relate(g.ports)
		out = append(out, l)
	}
	return append(out, level{form: g.constraint, rules: g.rules})
}
