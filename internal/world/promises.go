package world

import (
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

// withPromise tells our own nominations from those of kube-scheduler. A pod that is planned for some claim still waits, whatever node is
// nominated for it, and is planned for like any other: the node is its Promised one. (Plans change, and the nomination with
// them, but not in the same moment.) So is a node that is not there (any more), which keeps no room for anybody: the pod must not wait for it for ever.
func (w *World) withPromise(p *model.Pod) {
	if p.Promised != "" {
		p.Nominated, p.Promised = p.Promised, ""
	}
	if p.Nominated == "" {
		return
	}
	if _, there := w.nodes.get(model.Node{Name: p.Nominated}); !there || w.listed[p.Key().String()] > 0 {
		p.Nominated, p.Promised = "", p.Nominated
	}
}

// promise remembers which pods are planned for the claim.
func (w *World) promise(old, c model.Claim, gone bool) {
	was, is := old.Annotations[planned.Annotation], c.Annotations[planned.Annotation]
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

// settlePromises finishes anew the nominated pods whose plan, or whose nominated node, came or went. O(such pods).
func (w *World) settlePromises() {
	for node := range w.movedNodes {
		w.finish(w.nominated[node])
	}
	for key := range w.movedPods {
		if ns, name, ok := strings.Cut(key, "/"); ok {
			w.pods.again(model.Pod{Namespace: ns, Name: name})
		}
	}
	clear(w.movedNodes)
	clear(w.movedPods)
}

// finish finishes the pods anew.
func (w *World) finish(pods map[model.PodKey]bool) {
	for key := range pods {
		w.pods.again(model.Pod{Namespace: key.Namespace, Name: key.Name})
	}
}
