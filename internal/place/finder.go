package place

import "slices"

// finder finds who is looked for without asking everybody: groups by the terms that pick them, and bundles by whose pods are in them: who
// follows a follower finds it there, whoever came first.
type finder struct {
	groups  map[*term][]*seatClass
	bundles map[*seatClass][]int
	known   int // so many bundles are in
}

// whom lists groups, in order, among which are those whose pods g has to share a machine with. O(groups) once, then O(those that its terms pick).
func (d *bundling) whom(g *seatClass) []*seatClass {
	x := &d.found
	if x.groups == nil {
		x.groups = map[*term][]*seatClass{}
		for _, o := range d.classes {
			for _, t := range o.matches {
				x.groups[t] = append(x.groups[t], o)
			}
		}
	}
	if len(g.near.terms) > 0 {
		return x.groups[g.near.terms[0]]
	}
	var out []*seatClass
	for _, t := range g.joint {
		if t.key == host {
			out = append(out, x.groups[t]...)
		}
	}
	slices.SortFunc(out, func(a, b *seatClass) int { return a.rank - b.rank })
	return slices.Compact(out)
}

// sharing lists the bundles, in order, that pods of the groups are in.
func (d *bundling) sharing(groups []*seatClass) []*bundle {
	x := &d.found
	if x.known > len(d.bundles) || x.bundles == nil {
		x.bundles, x.known = map[*seatClass][]int{}, 0
	}
	for ; x.known < len(d.bundles); x.known++ {
		b := d.bundles[x.known]
		b.at = x.known
		for i, m := range b.members {
			if !b.has(m.g, i) {
				x.bundles[m.g] = append(x.bundles[m.g], b.at)
			}
		}
	}
	var at []int
	for _, o := range groups {
		at = append(at, x.bundles[o]...)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	out := make([]*bundle, len(at))
	for i, n := range at {
		out[i] = d.bundles[n]
	}
	return out
}

// has reports whether pods of the group are among the first n members.
func (b *bundle) has(g *seatClass, n int) bool {
	return slices.ContainsFunc(b.members[:n], func(m member) bool { return m.g == g })
}

// join adds pods to a bundle, of which the finder may know already.
func (d *bundling) join(b *bundle, m member) {
	x := &d.found
	if b.at < min(x.known, len(d.bundles)) && d.bundles[b.at] == b && !b.has(m.g, len(b.members)) {
		x.bundles[m.g] = append(x.bundles[m.g], b.at)
	}
	b.members = append(b.members, m)
}
