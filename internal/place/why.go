package place

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// tieText says which tie to other pods keeps one more pod of the group from machines that the pool could sell.
func (d explainer) tieText(s *nodePool, g *tiedClass) (model.Why, string) {
	for i, r := range g.spread {
		k := d.topo.keys[r.term.key]
		if r.term.key == host {
			continue
		}
		if len(g.among[i]) == 0 {
			return model.WhyTopologySpread, fmt.Sprintf("spread over %s: no machine of the pool has the label", d.lacked(s, r.term.elig, k))
		}
		low := d.low(g, i)
		for _, dom := range g.among[i] {
			if r.term.matched.at(dom) == low && (low > 0 || r.term.matched.total > 0) {
				return model.WhyTopologySpread, fmt.Sprintf("spread over %s: %s has the fewest, %d, and takes no more; elsewhere the skew would be more than %d",
					k, d.topo.names[r.term.key][dom], low, r.skew)
			}
		}
	}
	switch {
	case len(g.joint) > 0 && !slices.ContainsFunc(g.joint, func(x *term) bool { return x.matched.total == 0 }) && len(g.near.terms)+len(g.anti)+len(g.spread) == 0:
		return model.WhyVolumes, d.jointText(g.joint[0])
	case len(g.near.terms) > 0 && !d.present(g):
		return model.WhyPodAffinity, "no pod that it wants to be near is anywhere"
	case len(g.near.terms) > 0:
		return model.WhyPodAffinity, "it cannot be near the pods that it wants to be near"
	case len(g.anti) > 0:
		return model.WhyPodAffinity, fmt.Sprintf("a pod that it refuses is in every domain of %s that can be had", d.topo.keys[g.anti[0].key])
	case len(g.spread) > 0:
		return model.WhyTopologySpread, fmt.Sprintf("spread over %s leaves no place", d.topo.keys[g.spread[0].term.key])
	}
	return model.WhyPodAffinity, "a pod that refuses it is in every domain that can be had"
}

// jointText says what a volume that others use keeps one more pod from.
func (d explainer) jointText(x *term) string {
	what := "machine"
	switch {
	case x.onePod:
		return x.said + " lets one pod use it at a time (ReadWriteOncePod), and another one does or will"
	case x.key != host:
		what = d.topo.keys[x.key]
	}
	return fmt.Sprintf("%s is yet to be made, and will be reached from one %s only: that of other pods that use it, where this one has no place", x.said, what)
}

// lacked names the first label of a spread's that no machine of the pool has; or is when each has a machine, but none has all.
func (d explainer) lacked(s *nodePool, e *eligible, or string) string {
	for _, k := range e.keys {
		if name := d.topo.keys[k]; k != host && s.offerings.keys[name] == nil {
			if v, defined := s.own.Get(name); !defined || !v.HasValues() {
				return name
			}
		}
	}
	return or
}
