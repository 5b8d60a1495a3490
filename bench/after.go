package bench

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// Sparse is a cluster of which only a share of the pods is left, and of which every node may leave.
func Sparse(nodes, pods int, topology bool, share float64, seed uint64) model.World {
	w := workload.Cluster(nodes, pods, topology, seed)
	r := rand.New(rand.NewPCG(seed, 7))
	w.Pods = slices.DeleteFunc(w.Pods, func(model.Pod) bool { return r.Float64() >= share })
	zero := time.Duration(0)
	for i := range w.Pools {
		w.Pools[i].Policy, w.Pools[i].ConsolidateAfter = model.WhenEmptyOrUnderutilized, &zero
	}
	for i := range w.Claims {
		w.Claims[i].Conditions = initialized()
	}
	return w
}

func initialized() (out []model.Condition) {
	for _, typ := range []string{model.Launched, model.Registered, model.Initialized, model.Consolidatable} {
		out = append(out, model.Condition{Type: typ, Status: model.True, Since: workload.Epoch()})
	}
	return out
}

// Change is what moves change in a cluster when they are over.
type Change struct {
	Nodes  []string // that are gone
	Claims []string // that are gone
	At     map[model.PodKey]string
	Bought []Bought
}

// Bought is a machine that was bought as the given offering, with its pods.
type Bought struct {
	Claim place.NewClaim
	Key   model.OfferingKey
	Name  string
}

// Moves is what the moves of a decision change: what is bought is had as its first option says.
func Moves(d disrupt.Decision) Change {
	c := Change{At: map[model.PodKey]string{}}
	for _, m := range d.Moves {
		c.Nodes, c.Claims = append(c.Nodes, m.Nodes...), append(c.Claims, m.Claims...)
		for _, f := range m.Fits {
			c.At[f.Pod] = f.Node
		}
		for i, b := range m.Buy {
			c.Bought = append(c.Bought, Bought{b, b.Options[0].Key, m.Record.Replacements[i]})
		}
	}
	return c
}

// After is the world when a change is over.
func After(w model.World, c Change) model.World {
	gone, at := map[string]bool{}, maps.Clone(c.At)
	w.Index = nil
	for _, name := range slices.Concat(c.Nodes, c.Claims) {
		gone[name] = true
	}
	for _, b := range c.Bought {
		n, claim := joined(w, b)
		w.Nodes, w.Claims = append(slices.Clip(w.Nodes), n), append(slices.Clip(w.Claims), claim)
		for _, k := range b.Claim.Pods {
			at[k] = n.Name
		}
	}
	w.Nodes = slices.DeleteFunc(slices.Clone(w.Nodes), func(n model.Node) bool { return gone[n.Name] })
	w.Claims = slices.DeleteFunc(slices.Clone(w.Claims), func(c model.Claim) bool { return gone[c.Name] })
	w.Pods = slices.Clone(w.Pods)
	for i := range w.Pods {
		p := &w.Pods[i]
		if to, ok := at[p.Key()]; ok {
			p.Node = to
		}
	}
	slices.SortFunc(w.Nodes, func(a, b model.Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.Claims, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
	return w
}

// joined is the node and the claim of a machine that was bought.
func joined(w model.World, b Bought) (model.Node, model.Claim) {
	pool := w.Pools[slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == b.Claim.Pool })]
	key := b.Key
	t, _ := w.Catalog(pool.Name, pool.Class).Type(key.Type)
	n := model.Node{Name: "node-" + b.Name, ProviderID: "id-" + b.Name, Capacity: t.Capacity, Allocatable: t.Allocatable, Ready: model.True,
		Taints: pool.Taints, AttachLimits: t.AttachLimits, Labels: map[string]string{}}
	maps.Copy(n.Labels, pool.Labels)
	maps.Copy(n.Labels, t.Labels)
	maps.Copy(n.Labels, map[string]string{model.LabelHostname: n.Name, model.LabelPool: pool.Name, model.LabelZone: key.Zone,
		model.LabelInstanceType: key.Type, model.LabelCapacityType: key.CapacityType, model.LabelRegistered: "true", model.LabelInitialized: "true",
		"karpenter.azure.com/aksnodeclass": pool.Class.Name})
	c := offer.Claim(b.Claim, pool, w.Classes[0], b.Name)
	c.Annotations, c.NodeName, c.ProviderID, c.Capacity, c.Allocatable = nil, n.Name, n.ProviderID, n.Capacity, n.Allocatable
	maps.Copy(c.Labels, n.Labels)
	c.Conditions = initialized()
	return n, c
}

// Cost is what the claims of a cluster cost.
func Cost(w model.World) model.Price {
	var sum model.Price
	for i := range w.Claims {
		sum += PriceOf(w, &w.Claims[i])
	}
	return sum
}

// PriceOf is what one of them costs, 0 when its size is not sold any more.
func PriceOf(w model.World, c *model.Claim) model.Price {
	t, _ := w.Catalog(c.Pool, c.Class).Type(c.Labels[model.LabelInstanceType])
	for _, o := range t.Offerings {
		if o.Zone == c.Labels[model.LabelZone] && o.CapacityType == c.Labels[model.LabelCapacityType] {
			return o.Price
		}
	}
	return 0
}
