package place

import "slices"

// takeStock works out what is left of scarce offerings: what the cloud says, less what claims that are not launched yet may become.
// Each of them holds one of everything that it may be, so that no two count on the same.
func (d *purchasing) takeStock() {
	scarce := false
	d.supply = map[source]int64{}
	for _, s := range d.pools {
		for _, i := range s.bounded {
			scarce = true
			d.supply[s.source(i)] = *s.offerings.items[i].o.Supply
		}
	}
	if !scarce {
		return
	}
	shelves := newShelves(d.world)
	for i := range d.world.Claims {
		c := &d.world.Claims[i]
		if c.ProviderID != "" {
			continue
		}
		sh := shelves.of(c.Pool, c.Class)
		claimItems(sh, *c).Each(func(i int) {
			if k := (source{c.Class, sh.items[i].o.Key()}); sh.items[i].o.Supply != nil {
				d.supply[k]--
			}
		})
	}
	d.share(d.pools)
}

// share lets every one of the pools see all that is left.
func (d *purchasing) share(sellers []*nodePool) {
	for _, s := range sellers {
		for at, i := range s.bounded {
			s.left[at] = max(0, d.supply[s.source(i)]) // claims that may become one or the other hold more than there is
		}
	}
}

// ration hands what is left of each scarce offering to one of the pools of a weight: that in which most of the waiting pods could
// use it. The others do without in this tier, so that it is never promised twice.
func (d *purchasing) ration(tier []*nodePool) {
	d.share(tier)
	best := map[source]*nodePool{}
	most := map[source]int{}
	for _, s := range tier {
		for _, i := range s.bounded {
			n := 0
			for _, g := range d.buying {
				if g.waiting() > 0 && d.allowedOf(s, g.constraint).ok != nil && d.allowedOf(s, g.constraint).ok.Has(i) {
					n += g.waiting()
				}
			}
			if k := s.source(i); best[k] == nil || n > most[k] {
				best[k], most[k] = s, n
			}
		}
	}
	for _, s := range tier {
		for at, i := range s.bounded {
			if best[s.source(i)] != s {
				s.left[at] = 0
			}
		}
	}
}

// settleStock notes what a tier has left.
func (d *purchasing) settleStock(tier []*nodePool) {
	left := map[source]int64{}
	for _, s := range tier {
		for at, i := range s.bounded {
			left[s.source(i)] = max(left[s.source(i)], s.left[at])
		}
	}
	for k, n := range left {
		d.supply[k] = n
	}
}

// keeping settles a list of options that begins with a scarce offering: it is asked for by itself, with as many more of its kind as
// minValues need, since every option of a claim holds one for it. Where these are not enough, nothing scarce is asked for: mixed with
// others, a claim could become scarce offerings that nobody counted.
func (s seller) keeping(all []int) (out []int, scarce bool) {
	if len(s.bounded) == 0 {
		return all, false
	}
	out = all[:1:1]
	first := s.offerings.items[all[0]].o
	t := s.variety()
	t.add(all[0])
	for _, i := range all[1:] {
		if first.Supply != nil && s.offerings.items[i].o.Supply != nil && t.brings(i) {
			t.add(i)
			out = append(out, i)
		}
	}
	if first.Supply != nil && s.enough(out) {
		slices.Sort(out)
		return out, true
	}
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return s.offerings.items[i].o.Supply != nil }), false
}
