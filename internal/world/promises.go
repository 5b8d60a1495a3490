package world

import (
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// withPromise tells our own nominations from those of kube-scheduler. A pod whose nominated node is that of a claim which
// planned the pod still waits, and is planned for like any other: the node is its Promised one. So is a node that is not there (any more),
// which keeps no room for anybody: the pod must not wait for it for ever.
func (w *World) withPromise(p model.Pod) model.Pod {
	if p.Promised != "" {
		p.Nominated, p.Promised = p.Promised, ""
	}
	if p.Nominated == "" {
		return p
	}
	n, there := w.nodes.get(model.Node{Name: p.Nominated})
	if !there || w.plans(w.planned[nodePlan+p.Nominated], p) || n.ProviderID != "" && w.plans(w.planned[n.ProviderID], p) {
		p.Nominated, p.Promised = "", p.Nominated
	}
	return p
}

// nodePlan stands before the names of nodes among the keys of plans; the others are provider ids.
const nodePlan = "node/"

func (w *World) plans(list string, p model.Pod) bool {
	return list != "" && strings.Contains(","+list+",", ","+p.Key().String()+",")
}

// promise remembers what was planned for the claim: by its machine, so that pods may be told before the node is registered, and by its node.
func (w *World) promise(old, c model.Claim, gone bool) {
	keys := func(c model.Claim) (out []string) {
		if c.NodeName != "" {
			out = append(out, nodePlan+c.NodeName)
		}
		if c.ProviderID != "" {
			out = append(out, c.ProviderID)
		}
		return out
	}
	var now []string
	if !gone {
		now = keys(c)
	}
	for _, k := range keys(old) {
		if !slices.Contains(now, k) {
			delete(w.planned, k)
			w.movedNodes[k] = true
		}
	}
	for _, k := range now {
		if w.planned[k] != c.Annotations[place.AnnotationPods] {
			w.planned[k] = c.Annotations[place.AnnotationPods]
			w.movedNodes[k] = true
		}
	}
}

// settlePromises finishes anew the pods whose nominated node got or lost its plan. O(pods) when any did.
func (w *World) settlePromises() {
	if len(w.movedNodes) > 0 {
		moved := func(name string) bool {
			if name == "" {
				return false
			}
			n, _ := w.nodes.get(model.Node{Name: name})
			return w.movedNodes[nodePlan+name] || n.ProviderID != "" && w.movedNodes[n.ProviderID]
		}
		w.pods.again(func(p model.Pod) bool { return moved(p.Nominated) || moved(p.Promised) })
		clear(w.movedNodes)
	}
}
