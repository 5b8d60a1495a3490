package place

import "cmp"

// Work is counted, not timed: a plan that is cut short is the same everywhere. Packing counts its steps; seating and proving count questions
// whether a pod may go somewhere, each with what it has to look at. In one attempt, each of the three may cost as much as Input.Limit says;
// and as soon as all attempts together have cost as much, no other one is made. So a plan never costs more than four times the limit, beside finding out
// once what each pool can sell to whom: without that nothing could be bought at all. It counts, so that hardly anything is tried twice where it is much.

// limit is the bound on work.
func (in *Input) limit() int { return cmp.Or(in.Limit, DefaultLimit) }

// exhausted reports whether all attempts together have cost what a plan may cost.
func (in *Input) exhausted() bool { return in.spent != nil && *in.spent >= in.limit() }
