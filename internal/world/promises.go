package world

import (
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// withPromise tells our own nominations from those of kube-scheduler. A pod that is planned for some claim still waits, whatever node is
// nominated for it, and is planned for like any other: the node is its Promised one. (Plans change, and the nomination with
// them, but not in the same moment.) So is a node that is not there (any more), which keeps no room for anybody: the pod must not wait for it for ever.
func (w *World) withPromise(p model.Pod) model.Pod {
	if p.Promised != "" {
		p.Nominated, p.Promised = p.Promised, ""
	}
	if p.Nominated == "" {
		return p
	}
	if _, there := w.nodes.get(model.Node{Name: p.Nominated}); !there || w.listed[p.Key().String()] > 0 {
		p.Nominated, p.Promised = "", p.Nominated
	}
	return p
}

// promise remembers which pods are planned for the claim.
func (w *World) promise(old, c model.Claim, gone bool) {
	was, is := old.Annotations[place.AnnotationPods], c.Annotations[place.AnnotationPods]
	if gone {
		is = ""
	}
	if was == is {
		return
	}
	for list, n := range map[string]int{was: -1, is: 1} {
		for key := range strings.SplitSeq(list, ",") {
			if key == "" {
				continue
			}
			if w.listed[key] += n; w.listed[key] == 0 {
				delete(w.listed, key)
			}
			w.movedPods[key] = true
		}
	}
}

// settlePromises finishes anew the nominated pods whose plan, or whose nominated node, came or went. O(pods) when any did.
func (w *World) settlePromises() {
	if len(w.movedNodes)+len(w.movedPods) > 0 {
		w.pods.again(func(p model.Pod) bool {
			name := p.Nominated + p.Promised // one of them is empty
			return name != "" && (w.movedNodes[name] || w.movedPods[p.Key().String()])
		})
		clear(w.movedNodes)
		clear(w.movedPods)
	}
}
