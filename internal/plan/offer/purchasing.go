// Package offer answers: which NodeClaims hold these groups of pods?
//
// Groups are packed into bins of what the pools sell, and a bin becomes a claim to create: all offerings that hold it, ranked, with
// minValues met and scarce supply handed out once.
package offer

import (
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
)

// Purchasing buys machines for what has no place on what is paid for.
type Purchasing struct {
	assign.Seating
	Buying []*assign.Group
	Made   []Made // which machines were bought for them
	// Supply is what is left of scarce offerings.
	Supply map[problem.Source]int64
	// Steps is the work that packing may still cost, most how many options a claim gets.
	Steps, Most int
	Without     []portfolio.Mechanism
}

// Buy asks the pools, and once more for those that no pool has room for as they would like it.
func (d *Purchasing) Buy() {
	if len(d.Buying) == 0 {
		return
	}
	d.askAll()
	if d.putUp() {
		d.askAll()
	}
	d.share(d.Pools)
	if d.Journal != nil {
		d.tighten()
	}
	for _, p := range d.Plan.NewClaims {
		d.Plan.Price += p.Options[0].Price
	}
}

// askAll asks the pools, tier by tier.
func (d *Purchasing) askAll() {
	sellers := d.Pools
	for from := 0; from < len(sellers); {
		to := from
		for to < len(sellers) && sellers[to].Pool.Weight == sellers[from].Pool.Weight {
			to++
		}
		d.ask(sellers[from:to])
		if d.relax(sellers[from:to]) {
			d.ask(sellers[from:to])
		}
		from = to
	}
}

// ask buys from pools of one weight, again where machines had to be given up.
func (d *Purchasing) ask(tier []*problem.NodePool) {
	for range maxTries {
		d.ration(tier)
		given := d.tier(tier)
		d.settleStock(tier)
		if given == 0 {
			return
		}
	}
}

// maxTries bounds how often a tier is packed again after machines had to be given up for want of choice.
const maxTries = 4

// putUp lets those that still wait put up with taints that only discourage, and reports whether there are any: pools without such a taint may
// have had room for some.
func (d *Purchasing) putUp() bool {
	any := false
	for _, x := range d.Buying {
		if x.Waiting() > 0 && x.Constraint.Picky {
			x.Constraint, any = d.Constraints.Plain(x.Constraint), true
		}
	}
	return any
}

// Made is a machine that was bought: what it may be, and whose pods it is for.
type Made struct {
	Pool  *problem.NodePool
	Deal  *Deal
	Loads []assign.Member
	Spot  int32 // while the plan is proven
}
