package place

import (
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
)

// invite is a repair: pods were left over that look for others, who were seated where these cannot come: too large,
// another zone, a taint. In the next decision they are guests: whoever they look for is seated where they can come too.
func invite(d *decision, next *problem.Choices) string {
	var who []string
	for _, g := range d.Classes {
		if g.Why != "" || g.Unseated() == 0 || len(g.Near.Terms) == 0 || d.Alone[g.Key] {
			continue
		}
		leaders := d.Leaders(g)
		for _, o := range leaders {
			problem.Remember(&next.Alone, g.Key, true)
			d.expect(o, next)
		}
		if len(leaders) > 0 {
			who = append(who, g.Name())
		}
	}
	return listed(who)
}

// expect has those come as guests, too, that are looked for by guests and look for others themselves: only together can
// they go where all can.
func (d *decision) expect(g *assign.Class, next *problem.Choices) {
	if len(g.Near.Terms) == 0 || next.Alone[g.Key] {
		return
	}
	for _, o := range d.Leaders(g) {
		problem.Remember(&next.Alone, g.Key, true)
		d.expect(o, next)
	}
}
