package place

import (
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/model"
)

// vacate has nodes that are about to be gone count for no spread over machines: those that leave and all of whose pods are among those to place. For
// kube-scheduler such a node is an empty domain until it is gone (nodeTaintsPolicy Ignore), so that others fit nowhere meanwhile. A machine that is
// bought for them would come later than that, and be emptied in turn. Nodes that pods keep from leaving count as ever: that may take long.
func (d *decision) vacate() {
	leaving := alike.Leavers(&d.World)
	for _, name := range slices.Sorted(maps.Keys(leaving)) {
		spot, ok := d.Topo.SpotOf[name]
		if ok && leaving[name] && vacated(d.World.Index.On(name), d.Placing) {
			d.Gone = append(d.Gone, spot)
		}
	}
	for _, g := range d.Classes {
		for _, r := range g.Spread {
			if r.Term.Key == topology.Host {
				d.Journal.Lift(r.Term, d.Gone)
			}
		}
	}
}

// vacated reports whether all pods of a node that need another place are among those to place.
func vacated(on model.NodePods, placing map[model.PodKey]bool) bool {
	for _, p := range on.Pods {
		if p.Reschedulable() && !placing[p.Key()] {
			return false
		}
	}
	return true
}
