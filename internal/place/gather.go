package place

// gatherable reports whether some group is spread over single machines and says how many of these are enough (minDomains), and has more
// pods than so many machines take one skew of. Without the number nobody knows on how few machines its owner would have it,
// and each takes one skew of its pods.
func (d *decision) gatherable() bool {
	for _, g := range d.groups {
		if _, n := g.enough(); n > 0 && len(g.parts) > 0 {
			return true
		}
	}
	return false
}

// enough returns how many machines are enough for the pods of the group that machines are bought for, and how many pods each then takes
// at most; most is 0 when the group says nothing, or when that is no more than one skew.
func (g *group) enough() (machines, most int) {
	bought := 0
	for _, p := range g.parts {
		bought += p.n
	}
	skew := 0
	for _, r := range g.spread {
		if r.term.key != host {
			continue
		}
		if r.min < 2 || r.self == 0 || r.crew > 0 {
			return 0, 0
		}
		machines, skew = max(machines, int(r.min)), int(r.skew)
	}
	if machines == 0 || bought <= machines*skew {
		return 0, 0
	}
	return machines, (bought + machines - 1) / machines
}

// gathered splits a part into bundles of about the same number of pods, one for each machine that it needs when it takes most.
func (g *group) gathered(p part, most int) []*group {
	machines := (p.n + most - 1) / most
	var out []*group
	for i := range machines {
		n := p.n*(i+1)/machines - p.n*i/machines
		x := &group{key: g.key, form: p.c.pinned, size: make(vec, len(g.size)), bundled: true, members: []member{{g, p.c, n}}, cell: p.c, of: g,
			priority: g.priority, ahead: g.ahead, leap: g.leap}
		x.size.take(g.size, -n)
		x.join(p.host, int32(n))
		for k := range x.host {
			for _, r := range g.spread {
				if r.term == x.host[k].term {
					x.host[k].limit = max(x.host[k].limit, int32(most))
				}
			}
		}
		out = append(out, x)
	}
	return out
}
