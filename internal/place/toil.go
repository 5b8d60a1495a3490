package place

import "cmp"

// Work is counted, not timed: a plan that is cut short is the same everywhere. Packing counts its steps; seating and proving count questions
// whether a pod may go somewhere, each with what it has to look at. In one attempt, each of the three may cost as much as Input.Limit says;
// and as soon as all attempts together have cost as much, no other one is made. So a plan never costs more than four times the limit, beside finding out
// once what each pool can sell to whom: without that nothing could be bought at all. It counts, so that hardly anything is tried twice where it is much.

// Parts of questions that are as much work as a question.
const (
	tiesAsOne    = 8  // ties of a pod
	domainsAsOne = 16 // domains that are compared
	seatsAsOne   = 16 // seats that are looked through

	comparedAsOne = 64 // offerings that are compared with a form
	peersAsOne    = 16 // offerings that are asked whether they join others for the sake of minValues
)

// limit is the bound on work.
func (in *Input) limit() int { return cmp.Or(in.Limit, DefaultLimit) }

// exhausted reports whether all attempts together have cost what a plan may cost.
func (in *Input) exhausted() bool { return in.spent != nil && *in.spent >= in.limit() }

// toil counts work, and reports whether any is left to be spent. Once nothing is, nobody finds a place any more, and the plan says so.
func (d *decision) toil(n int) bool {
	d.work += n
	return !d.tired()
}

// tired reports whether seating, or proving, has cost what it may cost.
func (d *decision) tired() bool {
	if d.work <= d.allowed {
		return false
	}
	d.plan.BudgetExceeded = true
	return true
}

// setup is the work of finding out what can be sold to whom.
func (d *decision) setup() int {
	n := 0
	for _, s := range d.pools {
		n += s.setup
	}
	return n
}

// ask is the work of one question about the group's ties.
func (g *rules) ask() int {
	return 1 + (len(g.spread)+len(g.anti)+len(g.avoid)+len(g.toward)+len(g.matches)+len(g.near.terms))/tiesAsOne
}
