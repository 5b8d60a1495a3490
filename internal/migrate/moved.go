package migrate

import (
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Bill is how many machines there are, and what they cost.
type Bill struct {
	Machines int64       `json:"machines"`
	Price    model.Price `json:"-"`
	// Unpriced are the sizes whose price nobody knows, sorted.
	Unpriced []string `json:"unpriced,omitempty"`
}

// Leaves reports whether a node belongs to an agent pool that became a NodePool.
func (r Result) Leaves(n model.Node) bool {
	pool := PoolOf(n)
	return slices.ContainsFunc(r.Made, func(m Made) bool { return m.Name == pool })
}

// Moved is the world without the nodes that leave: their pods wait for a place, as they would if
// they were evicted. held are those that may not be moved now, because they say so; they are among
// those that wait. The world itself stays as it is. O(nodes + pods).
func (r Result) Moved(w model.World) (moved model.World, held []model.PodKey) {
	gone := map[string]bool{}
	for _, n := range w.Nodes {
		gone[n.Name] = r.Leaves(n)
	}
	moved = w
	moved.Index = nil
	moved.Nodes = slices.DeleteFunc(slices.Clone(w.Nodes), r.Leaves)
	moved.Attachments = slices.DeleteFunc(slices.Clone(w.Attachments),
		func(a model.Attachment) bool { return gone[a.Node] })
	moved.Pods = nil
	for _, p := range w.Pods {
		if p.Node != "" && gone[p.Node] {
			if !p.Reschedulable() {
				continue
			}
			if p.DoNotDisrupt != "" {
				held = append(held, p.Key())
			}
			p.Node, p.Nominated, p.Promised, p.Unschedulable = "", "", "", true
		}
		moved.Pods = append(moved.Pods, p)
	}
	return moved, held
}

// Bill is what the agent pools that became NodePools cost by the catalogue: the nodes that leave,
// or as many machines as Azure says when nobody knows nodes.
func (r Result) Bill(nodes []model.Node, c model.Catalog) Bill {
	var out Bill
	add := func(n int64, price model.Price, known bool, size string) {
		out.Machines += n
		out.Price += price * model.Price(n)
		if !known && n > 0 && !slices.Contains(out.Unpriced, size) {
			out.Unpriced = append(out.Unpriced, size)
			slices.Sort(out.Unpriced)
		}
	}
	for _, n := range nodes {
		if r.Leaves(n) {
			size := n.Labels[model.LabelInstanceType]
			spot := n.Labels["kubernetes.azure.com/scalesetpriority"] == model.Spot
			price, known := priceOf(c, size, spot, n.Labels[model.LabelZone])
			add(1, price, known, size)
		}
	}
	if len(nodes) > 0 {
		return out
	}
	for _, m := range r.Made {
		for _, s := range m.Sizes {
			price, known := priceOf(c, s.Name, m.Spot, "")
			add(s.Count, price, known, s.Name)
		}
	}
	return out
}

// priceOf is the price in the zone, or in the cheapest one when that does not sell it.
func priceOf(c model.Catalog, size string, spot bool, zone string) (model.Price, bool) {
	at := slices.IndexFunc(c.Types, func(t model.InstanceType) bool {
		return strings.EqualFold(t.Name, size)
	})
	if at < 0 {
		return 0, false
	}
	var best model.Price
	found := false
	for _, o := range c.Types[at].Offerings {
		if (o.CapacityType == model.Spot) != spot {
			continue
		}
		if o.Zone == zone {
			return o.Price, true
		}
		if !found || o.Price < best {
			best, found = o.Price, true
		}
	}
	return best, found
}
