package main

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/model"
)

// inFlight is what a world looks like while a plan for it lands: its machines are bought, a half of them has joined, and
// of these a half of the pods is bound; every fourth pod has gone, and another of its template waits in its stead, or
// was bound in the place of one that waits still.
func inFlight(w model.World, seed uint64) model.World {
	r := rand.New(rand.NewPCG(seed, 0x666c69676874))
	plan := place.Decide(place.Input{World: w})
	pods := map[model.PodKey]*model.Pod{}
	w.Pods, w.Nodes, w.Claims = slices.Clone(w.Pods), slices.Clone(w.Nodes), slices.Clone(w.Claims)
	for i := range w.Pods {
		p := &w.Pods[i]
		pods[p.Key()] = p
	}
	for i, b := range plan.NewClaims {
		c := bought(w, b, offer.ClaimName(b, i, 0))
		n := joined(&c)
		ready := r.IntN(2) == 0
		if ready {
			c.NodeName = n.Name
			w.Nodes = append(w.Nodes, n)
		}
		w.Claims = append(w.Claims, c)
		for _, k := range b.Pods {
			p := pods[k]
			if r.IntN(4) == 0 { // another pod of the template
				p.Name += "-again"
				p.UID += "-again"
			}
			if ready && r.IntN(2) == 0 {
				p.Node, p.Unschedulable, p.PodReady = n.Name, false, true
			}
		}
	}
	slices.SortFunc(w.Pods, func(a, b model.Pod) int { return strings.Compare(a.Key().String(), b.Key().String()) })
	slices.SortFunc(w.Nodes, func(a, b model.Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.Claims, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
	return w
}

// bought is the claim of a purchase, launched as its first option.
func bought(w model.World, b place.NewClaim, name string) model.Claim {
	pool := w.Pools[slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })]
	class := w.Classes[slices.IndexFunc(w.Classes, func(c model.Class) bool { return c.Ref == b.Class })]
	c := offer.Claim(b, pool, class, name)
	key := b.Options[0].Key
	types := w.Catalogs[b.Class].Types
	t := types[slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == key.Type })]
	o := t.Offerings[slices.IndexFunc(t.Offerings, func(o model.Offering) bool { return o.Key() == key })]
	c.UID, c.ProviderID = "uid-"+name, "test:///"+name
	c.Labels = maps.Clone(c.Labels)
	maps.Copy(c.Labels, t.Labels)
	maps.Copy(c.Labels, o.Labels)
	c.Capacity, c.Allocatable = t.Capacity, t.Allocatable
	c.Conditions = []model.Condition{{Type: model.Launched, Status: model.True}}
	return c
}

// joined is the claim's node, which is ready.
func joined(c *model.Claim) model.Node {
	n := model.Node{Name: "node-" + c.Name, UID: "uid-node-" + c.Name, ProviderID: c.ProviderID, Ready: model.True,
		Labels: maps.Clone(c.Labels), Taints: c.Taints, Capacity: c.Capacity, Allocatable: c.Allocatable}
	maps.Copy(n.Labels, map[string]string{model.LabelHostname: n.Name, model.LabelRegistered: "true", model.LabelInitialized: "true"})
	for _, t := range []string{model.Registered, model.Initialized} {
		c.Conditions = append(c.Conditions, model.Condition{Type: t, Status: model.True})
	}
	return n
}
