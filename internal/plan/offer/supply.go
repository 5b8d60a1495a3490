package offer

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
)

// TakeStock works out what is left of scarce offerings: what the cloud says, less what claims that are not launched yet may become.
// Each of them holds one of everything that it may be, so that no two count on the same.
func (d *Purchasing) TakeStock() {
	scarce := false
	d.Supply = map[problem.Source]int64{}
	for _, s := range d.Pools {
		for _, i := range s.Bounded {
			scarce = true
			d.Supply[s.Source(i)] = *s.Offerings.Items[i].Offering.Supply
		}
	}
	if !scarce {
		return
	}
	shelves := offerings.NewIndexes(d.World)
	for i := range d.World.Claims {
		c := &d.World.Claims[i]
		if c.ProviderID != "" {
			continue
		}
		sh := shelves.Of(c.Pool, c.Class)
		problem.ClaimItems(sh, *c).Each(func(i int) {
			k := problem.Source{Class: c.Class, Key: sh.Items[i].Offering.Key()}
			if sh.Items[i].Offering.Supply != nil {
				d.Supply[k]--
			}
		})
	}
	d.share(d.Pools)
}

// share lets every one of the pools see all that is left.
func (d *Purchasing) share(sellers []*problem.NodePool) {
	for _, s := range sellers {
		for at, i := range s.Bounded {
			// Claims that may become one or the other hold more than there is.
			s.Left[at] = max(0, d.Supply[s.Source(i)])
		}
	}
}

// ration hands what is left of each scarce offering to one of the pools of a weight: that in which most of the waiting pods could
// use it. The others do without in this tier, so that it is never promised twice.
func (d *Purchasing) ration(tier []*problem.NodePool) {
	d.share(tier)
	best := map[problem.Source]*problem.NodePool{}
	most := map[problem.Source]int{}
	for _, s := range tier {
		for _, i := range s.Bounded {
			n := 0
			for _, g := range d.Buying {
				if g.Waiting() > 0 && d.AllowedOf(s, g.Constraint).OK != nil &&
					d.AllowedOf(s, g.Constraint).OK.Has(i) {
					n += g.Waiting()
				}
			}
			if k := s.Source(i); best[k] == nil || n > most[k] {
				best[k], most[k] = s, n
			}
		}
	}
	for _, s := range tier {
		for at, i := range s.Bounded {
			if best[s.Source(i)] != s {
				s.Left[at] = 0
			}
		}
	}
}

// settleStock notes what a tier has left.
func (d *Purchasing) settleStock(tier []*problem.NodePool) {
	left := map[problem.Source]int64{}
	for _, s := range tier {
		for at, i := range s.Bounded {
			left[s.Source(i)] = max(left[s.Source(i)], s.Left[at])
		}
	}
	for k, n := range left {
		d.Supply[k] = n
	}
}

// keeping settles a list of options that begins with a scarce offering: it is asked for by itself, with as many more of its kind as
// minValues need, since every option of a claim holds one for it. Where these are not enough, nothing scarce is asked for: mixed with
// others, a claim could become scarce offerings that nobody counted.
func (s seller) keeping(all []int) (out []int, scarce bool) {
	if len(s.Bounded) == 0 {
		return all, false
	}
	out = all[:1:1]
	first := s.Offerings.Items[all[0]].Offering
	t := s.Variety()
	t.Add(all[0])
	for _, i := range all[1:] {
		if first.Supply != nil && s.Offerings.Items[i].Offering.Supply != nil && t.Brings(i) {
			t.Add(i)
			out = append(out, i)
		}
	}
	if first.Supply != nil && s.Enough(out) {
		slices.Sort(out)
		return out, true
	}
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool {
		return s.Offerings.Items[i].Offering.Supply != nil
	}), false
}
