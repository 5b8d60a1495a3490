package assign

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/topology"
)

// Finder finds who is looked for without asking everybody: classes by the terms that pick them, and bundles by whose pods are in them: who
// follows a follower finds it there, whoever came first.
type Finder struct {
	groups  map[*topology.Term][]*Class
	bundles map[*Class][]int
	known   int // so many bundles are in
}

// whom lists classes, in order, among which are those whose pods g has to share a machine with. O(classes) once, then O(those that its terms pick).
func (d *bundling) whom(g *Class) []*Class {
	x := &d.Found
	if x.groups == nil {
		x.groups = map[*topology.Term][]*Class{}
		for _, o := range d.Classes {
			for _, t := range o.Matches {
				x.groups[t] = append(x.groups[t], o)
			}
		}
	}
	if len(g.Near.Terms) > 0 {
		return x.groups[g.Near.Terms[0]]
	}
	var out []*Class
	for _, t := range g.Joint {
		if t.Key == topology.Host {
			out = append(out, x.groups[t]...)
		}
	}
	slices.SortFunc(out, func(a, b *Class) int { return a.Rank - b.Rank })
	return slices.Compact(out)
}

// sharing lists the bundles, in order, that pods of the classes are in.
func (d *bundling) sharing(groups []*Class) []*bundle {
	x := &d.Found
	if x.known > len(d.Bundles) || x.bundles == nil {
		x.bundles, x.known = map[*Class][]int{}, 0
	}
	for ; x.known < len(d.Bundles); x.known++ {
		b := d.Bundles[x.known]
		b.at = x.known
		for i, m := range b.members {
			if !b.has(m.Class, i) {
				x.bundles[m.Class] = append(x.bundles[m.Class], b.at)
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
		out[i] = d.Bundles[n]
	}
	return out
}

// has reports whether pods of the class are among the first n members.
func (b *bundle) has(g *Class, n int) bool {
	return slices.ContainsFunc(b.members[:n], func(m Member) bool { return m.Class == g })
}

// join adds pods to a bundle, of which the finder may know already.
func (d *bundling) join(b *bundle, m Member) {
	x := &d.Found
	if b.at < min(x.known, len(d.Bundles)) && d.Bundles[b.at] == b &&
		!b.has(m.Class, len(b.members)) {
		x.bundles[m.Class] = append(x.bundles[m.Class], b.at)
	}
	b.members = append(b.members, m)
}
