package outage

import (
	"fmt"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Sickness is a condition that says that a node does not work.
type Sickness struct {
	Condition string // its type; "" = none
	Status    model.Status
	Since     time.Time
	Due       time.Time // from then on the node is replaced
}

// Upstream's provider for Azure has the same conditions and patience. PreemptionScheduled, which it
// has among them, is a Notice here: it has a deadline, and no share of healthy nodes can avert it.
const readyPatience = 10 * time.Minute

// RepairAgain is when a node is looked at again that is not repaired because too many are unhealthy.
const RepairAgain = 5 * time.Minute

// SicknessOf returns what ails the node, of several what is due first. O(conditions).
func SicknessOf(n *model.Node) (first Sickness, ok bool) {
	if n.Ready == model.False || n.Ready == model.Unknown {
		since := n.ReadySince
		if since.Before(n.Created) { // it has not said anything of itself yet
			since = n.Created
		}
		first, ok = Sickness{"Ready", n.Ready, since, since.Add(readyPatience)}, true
	}
	for _, c := range n.Conditions {
		sick := c.Type == model.NodeHealthy && c.Status == model.False
		if sick && (!ok || c.Since.Before(first.Due)) {
			first, ok = Sickness{c.Type, c.Status, c.Since, c.Since}, true
		}
	}
	return first, ok
}

// mostSick is the share, in per cent, of a pool's nodes that may be unhealthy for one of them to be
// repaired: beyond it something else is wrong, and new nodes would be unhealthy, too.
const mostSick = 20

// Wards counts nodes and the unhealthy ones among them.
type Wards struct {
	of  map[string]ward // by pool
	all ward
}

type ward struct{ nodes, sick int }

// Survey counts all nodes of ours that have come so far as to be initialized: those that are about to
// are not ready either. O(nodes).
func Survey(w *model.World) Wards {
	out := Wards{of: map[string]ward{}}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Labels[model.LabelInitialized] != "true" {
			continue
		}
		sick := 0
		_, ill := SicknessOf(n)
		if ill {
			sick = 1
		}
		pool := out.of[n.Labels[model.LabelPool]]
		out.of[n.Labels[model.LabelPool]] = ward{pool.nodes + 1, pool.sick + sick}
		out.all = ward{out.all.nodes + 1, out.all.sick + sick}
	}
	return out
}

// Full says why no node of the pool is repaired now, "" when they are. For nodes of no pool it is the
// whole cluster that counts.
func (w Wards) Full(pool string) string {
	in, where := w.of[pool], "NodePool "+pool
	if pool == "" {
		in, where = w.all, "the cluster"
	}
	most := (in.nodes*mostSick + 99) / 100
	if in.sick <= most {
		return ""
	}
	return fmt.Sprintf(
		"more than %d%% of the nodes of %s are unhealthy (%d of %d): no node is repaired",
		mostSick, where, in.sick, in.nodes)
}
