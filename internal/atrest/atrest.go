// Package atrest answers: how much less could a cluster cost at the very most, and what keeps it there?
//
// Judge compares what the nodes of NodePools cost with a price that no machines for their pods can be
// below, and divides the difference by why each node stays. It neither decides which nodes leave
// (disrupt) nor looks for cheaper plans (place): part of the difference cannot be had at all.
package atrest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/model"
)

// Report is a cluster as it stands.
type Report struct {
	// Price is what the nodes of NodePools cost for an hour. Unknown of them have no price, because
	// the cloud does not list them; neither they nor their pods count.
	Price   model.Price
	Unknown int
	// Bound is what any machines cost at least that hold the pods of these nodes: new ones of what is on
	// sale, or some of those that are there. Room on nodes of no NodePool is not counted on.
	Bound model.Price
	// Gap is Price less Bound by why nodes stay, largest first, then by reason.
	Gap []Share
}

// Share is the part of the gap that is on the nodes that stay for one reason.
type Share struct {
	Why   model.Why
	Nodes int
	Price model.Price
}

// Rooms are rounded up to these before machines are told apart, so that there are few.
const (
	coreGrain = 100
	byteGrain = 256 << 20
)

// Judge judges the picture, of which kept says why its nodes stay. The effort is that of bound.Best. A
// node's part of the gap is its price less what its pods are worth in the certificate, and what rounding
// leaves is put on one of the reasons. O(pods + kinds of pods × offerings + effort).
func Judge(w model.World, kept []disrupt.Kept, effort int) Report {
	w = w.Indexed()
	why := make(map[string]model.Why, len(kept))
	for _, k := range kept {
		why[k.Claim] = k.Why
	}
	c := census{kinds: map[string]int{}}
	var out Report
	var list []*node
	priceOf := disrupt.Prices(&w)
	for i := range w.Claims {
		x := &w.Claims[i]
		n := w.Index.NodeBy(x.ProviderID)
		if n == nil {
			continue // nothing runs there yet
		}
		price := priceOf(x)
		if price == 0 {
			out.Unknown++
			continue
		}
		there := w.Index.On(n.Name)
		out.Price += price
		list = append(list, &node{why[x.Name], price, c.count(there.Pods)})
		c.standing = append(c.standing, bound.Standing{
			Name: n.Name, Room: coarse(n.Allocatable.Sub(there.Daemons)), Price: price})
	}
	p, of := bound.FromDemand(w, c.demands, c.standing)
	cert := bound.Best(p, effort)
	worth := func(n *node) (sum float64) {
		for _, kind := range slices.Sorted(maps.Keys(n.pods)) {
			if of[kind] >= 0 {
				sum += cert.Of(of[kind]) * float64(n.pods[kind])
			}
		}
		return sum
	}
	out.Bound = min(cert.Value, out.Price)
	out.Gap = shares(list, worth, out.Price-out.Bound)
	return out
}

// node is a node with its pods, as numbers of each kind.
type node struct {
	why   model.Why
	price model.Price
	pods  map[int]int64
}

// shares divides the gap.
func shares(list []*node, worth func(*node) float64, gap model.Price) (out []Share) {
	nodes, parts := map[model.Why]int{}, map[model.Why]float64{}
	for _, n := range list {
		nodes[n.why]++
		parts[n.why] += float64(n.price) - worth(n)
	}
	for _, w := range slices.Sorted(maps.Keys(nodes)) {
		s := Share{w, nodes[w], model.Price(math.Round(parts[w]))}
		out = append(out, s)
		gap -= s.Price
	}
	if len(out) > 0 {
		out[0].Price += gap
	}
	slices.SortStableFunc(out, func(a, b Share) int { return cmp.Compare(b.Price, a.Price) })
	return out
}

// census counts pods that are alike in what they ask of a machine. What they ask of other pods, and
// their volumes, are left out, which only lowers the bound.
type census struct {
	kinds    map[string]int
	demands  []bound.Demand
	standing []bound.Standing
}

// count counts those that need a place, and returns how many of each kind there are.
func (c *census) count(pods []*model.Pod) map[int]int64 {
	out := map[int]int64{}
	for _, p := range pods {
		if !p.Reschedulable() {
			continue
		}
		r := &p.Requests
		key := fmt.Sprintf("%d %d %d %d", r.CPU, r.Memory, r.Ephemeral, r.Pods)
		if len(r.Extended)+len(p.NodeSelector)+len(p.Affinity)+len(p.Tolerations) > 0 {
			key += fmt.Sprint(r.Extended, p.NodeSelector, p.Affinity, p.Tolerations)
		}
		k, known := c.kinds[key]
		if !known {
			k = len(c.demands)
			c.kinds[key] = k
			c.demands = append(c.demands, bound.Demand{Pod: &model.Pod{
				Namespace: p.Namespace, Name: p.Name, Requests: p.Requests,
				NodeSelector: p.NodeSelector, Affinity: p.Affinity, Tolerations: p.Tolerations}})
		}
		c.demands[k].Count++
		out[k]++
	}
	return out
}

// coarse rounds up.
func coarse(r model.Resources) model.Resources {
	r.CPU = (r.CPU + coreGrain - 1) / coreGrain * coreGrain
	r.Memory = (r.Memory + byteGrain - 1) / byteGrain * byteGrain
	return r
}
