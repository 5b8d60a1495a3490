package place

import "github.com/karpenter-aks/karpenter/internal/plan/portfolio"

// purchasing buys machines for what has no place on what is paid for.
type purchasing struct {
	seating
	buying []*group
	made   []made // which machines were bought for them
	// supply is what is left of scarce offerings.
	supply map[source]int64
	// steps is the work that packing may still cost, most how many options a claim gets.
	steps, most int
	without     []portfolio.Mechanism
}

// buy asks the pools, and once more for those that no pool has room for as they would like it.
func (d *purchasing) buy() {
	if len(d.buying) == 0 {
		return
	}
	d.askAll()
	if d.putUp() {
		d.askAll()
	}
	d.share(d.pools)
	if d.undo != nil {
		d.tighten()
	}
	for _, p := range d.plan.NewClaims {
		d.plan.Price += p.Options[0].Price
	}
}

// askAll asks the pools, tier by tier.
func (d *purchasing) askAll() {
	sellers := d.pools
	for from := 0; from < len(sellers); {
		to := from
		for to < len(sellers) && sellers[to].pool.Weight == sellers[from].pool.Weight {
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
func (d *purchasing) ask(tier []*nodePool) {
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
func (d *purchasing) putUp() bool {
	any := false
	for _, x := range d.buying {
		if x.waiting() > 0 && x.constraint.picky {
			x.constraint, any = d.constraints.plain(x.constraint), true
		}
	}
	return any
}

// made is a machine that was bought: what it may be, and whose pods it is for.
type made struct {
	pool  *nodePool
	deal  *deal
	loads []member
	spot  int32 // while the plan is proven
}
