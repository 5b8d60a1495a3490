package place

import "github.com/karpenter-aks/karpenter/internal/plan/problem"

// fewerAgain is a part of goAhead, and names the classes it is about: pods were seated on an existing node, and could not all be bound there once it was known which
// machines are bought: one that is bought for others and empty of them lets no node have many more. In the next decision
// the node takes those that could be bound, and one more where several could not, since others of them will be on the
// new machines; for the rest machines are bought.
func fewerAgain(d *decision, next *problem.Choices) (who []string) {
	lost := map[problem.CapKey]int{}
	for _, o := range d.Over {
		if o.From.Slot < 0 {
			continue
		}
		at := d.CapKeyOf(o.From)
		if lost[at]++; lost[at] == 1 {
			who = append(who, o.Class.Name())
		}
	}
	for at, n := range lost {
		problem.Remember(&next.Caps, at, seatedAt(d, at)+min(1, n-1))
	}
	return who
}

// seatedAt counts the pods of a class that have a place on an existing node or in a cell.
func seatedAt(d *decision, at problem.CapKey) (n int) {
	for _, s := range d.Seats {
		if d.CapKeyOf(s) == at {
			n += s.N
		}
	}
	return n
}
