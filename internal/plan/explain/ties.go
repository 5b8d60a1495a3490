package explain

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/model"
)

// tieText says which tie to other pods keeps one more pod of the class from machines that the pool could sell.
func (d Explainer) tieText(s *problem.NodePool, g *topology.Class) (model.Why, string) {
	for i, r := range g.Spread {
		k := d.Topo.Keys[r.Term.Key]
		if r.Term.Key == topology.Host {
			continue
		}
		if len(g.Among[i]) == 0 {
			return model.WhyTopologySpread, fmt.Sprintf(
				"spread over %s: no machine of the pool has the label",
				d.lacked(s, r.Term.Elig, k),
			)
		}
		low := d.Low(g, i, topology.There)
		for _, dom := range g.Among[i] {
			if r.Term.Matched.At(dom) == low && (low > 0 || r.Term.Matched.Total > 0) {
				return model.WhyTopologySpread, fmt.Sprintf(
					"spread over %s: %s has the fewest, %d, and takes no more; "+
						"elsewhere the skew would be more than %d",
					k,
					d.Topo.Names[r.Term.Key][dom],
					low,
					r.Skew,
				)
			}
		}
	}
	unused := func(x *topology.Term) bool { return x.Matched.Total == 0 }
	switch {
	case len(g.Joint) > 0 && !slices.ContainsFunc(g.Joint, unused) &&
		len(g.Near.Terms)+len(g.Anti)+len(g.Spread) == 0:
		return model.WhyVolumes, d.jointText(g.Joint[0])
	case len(g.Near.Terms) > 0 && !g.Present():
		return model.WhyPodAffinity, "no pod that it wants to be near is anywhere"
	case len(g.Near.Terms) > 0:
		return model.WhyPodAffinity, "it cannot be near the pods that it wants to be near"
	case len(g.Anti) > 0:
		return model.WhyPodAffinity, fmt.Sprintf(
			"a pod that it refuses is in every domain of %s that can be had",
			d.Topo.Keys[g.Anti[0].Key],
		)
	case len(g.Spread) > 0:
		return model.WhyTopologySpread, fmt.Sprintf("spread over %s leaves no place",
			d.Topo.Keys[g.Spread[0].Term.Key])
	}
	return model.WhyPodAffinity, "a pod that refuses it is in every domain that can be had"
}

// jointText says what a volume that others use keeps one more pod from.
func (d Explainer) jointText(x *topology.Term) string {
	what := "machine"
	switch {
	case x.OnePod:
		return x.Said + " lets one pod use it at a time (ReadWriteOncePod), " +
			"and another one does or will"
	case x.Key != topology.Host:
		what = d.Topo.Keys[x.Key]
	}
	return fmt.Sprintf(
		"%s is yet to be made, and will be reached from one %s only: "+
			"that of other pods that use it, where this one has no place",
		x.Said,
		what,
	)
}

// lacked names the first label of a spread's that no machine of the pool has; or is when each has a machine, but none has all.
func (d Explainer) lacked(s *problem.NodePool, e *topology.Eligible, or string) string {
	for _, k := range e.Keys {
		if name := d.Topo.Keys[k]; k != topology.Host && s.Offerings.Keys[name] == nil {
			if v, defined := s.Own.Get(name); !defined || !v.HasValues() {
				return name
			}
		}
	}
	return or
}
