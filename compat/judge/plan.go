package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/model"
)

// Choose picks one of n options of the i-th machine; First takes what the cloud would be asked for first.
type Choose func(i, n int) int

// First chooses the first option.
func First(int, int) int { return 0 }

// Plan turns a plan into a question: each purchase becomes a machine, bought as choose says; each claim that pods are
// expected on becomes one, too. Machines are as they will be once ready: startup taints gone, all labels there. Pods of nodes that are leaving
// are evicted if the plan speaks of them.
func Plan(w model.World, p place.Plan, choose Choose) (Question, error) {
	q := Question{World: Evicted(w, spoken(p)), Orders: 20, Seed: 1}
	for i, b := range p.NewClaims {
		m, err := purchased(w, b, fmt.Sprintf("buy-%03d", i), choose(i, len(b.Options)))
		if err != nil {
			return Question{}, err
		}
		q.Machines = append(q.Machines, m)
		for _, k := range b.Pods {
			q.Placements = append(q.Placements, Placement{k, m.Name})
		}
	}
	there := map[string]bool{}
	for _, f := range p.Existing {
		name := f.Node
		if f.Claim != "" {
			name = "claim-" + f.Claim
			if !there[name] {
				there[name] = true
				m, err := claimed(w, f.Claim, name, choose)
				if err != nil {
					return Question{}, err
				}
				q.Machines = append(q.Machines, m)
			}
		}
		q.Placements = append(q.Placements, Placement{f.Pod, name})
	}
	return q, nil
}

// spoken reports which pods the plan places or leaves over.
func spoken(p place.Plan) func(model.PodKey) bool {
	all := map[model.PodKey]bool{}
	for _, b := range p.NewClaims {
		for _, k := range b.Pods {
			all[k] = true
		}
	}
	for _, f := range p.Existing {
		all[f.Pod] = true
	}
	for _, l := range p.Unscheduled {
		all[l.Pod] = true
	}
	return func(k model.PodKey) bool { return all[k] }
}

func purchased(w model.World, b place.NewClaim, name string, option int) (model.Node, error) {
	pool, ok := find(w.Pools, b.Pool)
	if !ok {
		return model.Node{}, fmt.Errorf("purchase for pool %s: no such pool", b.Pool)
	}
	class, ok := find(w.Classes, model.Class{Ref: b.Class}.ObjectKey())
	if !ok {
		return model.Node{}, fmt.Errorf("purchase of class %s: no such class", b.Class)
	}
	key := b.Options[option].Key
	t, ok := w.Catalog(b.Pool, b.Class).Type(key.Type)
	if !ok {
		return model.Node{}, fmt.Errorf("purchase of %s: no such type", key)
	}
	at := slices.IndexFunc(t.Offerings, func(o model.Offering) bool { return o.Key() == key })
	if at < 0 {
		return model.Node{}, fmt.Errorf("purchase of %s: no such offering", key)
	}
	return Machine(offer.Claim(b, pool, class, name), t, t.Offerings[at], name), nil
}

// Claimed returns the machine that a claim in flight becomes, under the given name: the first offering that it may be.
func Claimed(w model.World, claim, name string) (model.Node, error) {
	return claimed(w, claim, name, First)
}

// claimed returns the machine that a claim in flight becomes: one of the offerings that it may still be.
func claimed(w model.World, claim, name string, choose Choose) (model.Node, error) {
	c, ok := find(w.Claims, claim)
	if !ok {
		return model.Node{}, fmt.Errorf("pods on claim %s: no such claim", claim)
	}
	var nodes []model.Node
	for _, t := range w.Catalog(c.Pool, c.Class).Types {
		for _, o := range t.Offerings {
			n := Machine(c, t, o, name)
			if c.Requests.FitsIn(t.Allocatable) && agrees(n.Labels, c) {
				nodes = append(nodes, n)
			}
		}
	}
	if len(nodes) == 0 {
		return model.Node{}, fmt.Errorf("pods on claim %s: nothing on sale can be it", claim)
	}
	return nodes[choose(len(w.Claims), len(nodes))], nil
}

// agrees reports whether a machine with the labels satisfies the claim's requirements and carries its labels.
func agrees(labels map[string]string, c model.Claim) bool {
	for k, v := range c.Labels {
		if labels[k] != v {
			return false
		}
	}
	return !slices.ContainsFunc(c.Requirements, func(r model.Requirement) bool { return !r.Matches(labels) })
}

// Machine returns the ready node that a claim becomes when it is bought as the offering. A label for which the buyer may
// choose gets the first value that the claim allows.
func Machine(c model.Claim, t model.InstanceType, o model.Offering, name string) model.Node {
	labels := Labels(c.Labels, t.Labels, o.Labels, map[string]string{model.LabelZone: o.Zone, model.LabelCapacityType: o.CapacityType,
		model.LabelInstanceType: t.Name, model.LabelHostname: name, model.LabelRegistered: "true", model.LabelInitialized: "true"})
	for k, values := range t.Either {
		for _, v := range values {
			fits := !slices.ContainsFunc(c.Requirements, func(r model.Requirement) bool { return r.Key == k && !r.Matches(map[string]string{k: v}) })
			if labels[k] == "" && fits {
				labels[k] = v
			}
		}
	}
	return model.Node{Name: name, UID: "uid-" + name, ProviderID: "test:///" + name, Labels: labels, Taints: c.Taints,
		Capacity: t.Capacity, Allocatable: t.Allocatable, Ready: model.True, AttachLimits: t.AttachLimits}
}

func find[T model.Object](list []T, key string) (T, bool) {
	for _, x := range list {
		if x.ObjectKey() == key {
			return x, true
		}
	}
	var none T
	return none, false
}

// Text writes the rejections, one per line.
func (a Answer) Text() string {
	var b strings.Builder
	for _, r := range a.Rejected {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}
