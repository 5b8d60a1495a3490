package world

import (
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
	_, there := w.nodes.get(model.Node{Name: p.Nominated})
	if !there || strings.Contains(","+w.planned[p.Nominated]+",", ","+p.Key().String()+",") {
		p.Nominated, p.Promised = "", p.Nominated
	}
	return p
}

// promise remembers what was planned for the claim's node.
func (w *World) promise(old, c model.Claim, gone bool) {
	if old.NodeName != "" && (gone || old.NodeName != c.NodeName) {
		delete(w.planned, old.NodeName)
		w.movedNodes[old.NodeName] = true
	}
	if !gone && c.NodeName != "" && w.planned[c.NodeName] != c.Annotations[place.AnnotationPods] {
		w.planned[c.NodeName] = c.Annotations[place.AnnotationPods]
		w.movedNodes[c.NodeName] = true
	}
}

// settlePromises finishes anew the pods whose nominated node got or lost its plan. O(pods) when any did.
func (w *World) settlePromises() {
	if len(w.movedNodes) > 0 {
		w.pods.again(func(p model.Pod) bool { return w.movedNodes[p.Nominated] || w.movedNodes[p.Promised] })
		clear(w.movedNodes)
	}
}
