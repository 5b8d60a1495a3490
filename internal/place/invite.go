package place

// invite is a repair: pods were left over that look for others, who were seated where these cannot come: too large,
// another zone, a taint. In the next decision they are guests: whoever they look for is seated where they can come too.
func invite(d *decision, next *choices) string {
	var who []string
	for _, g := range d.classes {
		if g.why != "" || g.unseated() == 0 || len(g.near.terms) == 0 || d.alone[g.key] {
			continue
		}
		leaders := d.leaders(g)
		for _, o := range leaders {
			remember(&next.alone, g.key, true)
			d.expect(o, next)
		}
		if len(leaders) > 0 {
			who = append(who, g.name())
		}
	}
	return listed(who)
}

// expect has those come as guests, too, that are looked for by guests and look for others themselves: only together can
// they go where all can.
func (d *decision) expect(g *seatClass, next *choices) {
	if len(g.near.terms) == 0 || next.alone[g.key] {
		return
	}
	for _, o := range d.leaders(g) {
		remember(&next.alone, g.key, true)
		d.expect(o, next)
	}
}
