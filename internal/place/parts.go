package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// maxParts bounds how many parts pods are split into; the last one takes the rest.
const maxParts = 16

// Parts splits pods for which one plan was too much work, few first: pods that no pool can serve both of are in different parts, and so are those that look
// at other waiting pods and those that do not. Pods that are hard to plan for then keep nobody waiting but their like. O(kinds of pods × pools).
func Parts(w model.World, pods []model.Pod) [][]model.Pod {
	type kind struct {
		root int
		tied bool
	}
	root := make([]int, len(w.Pools)+1) // the last stands for pods that no pool can serve
	for i := range root {
		root[i] = i
	}
	top := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	first := map[string]int{}
	at := make([]int, len(pods))
	var t templater
	for i := range pods {
		p := &pods[i]
		text := string(t.of(p))
		n, known := first[text]
		if !known {
			n = len(w.Pools)
			for s := range w.Pools {
				if serves(&w.Pools[s], p) {
					n = min(n, s)
					root[top(s)] = top(n)
				}
			}
			first[text] = n
		}
		at[i] = n
	}
	byKind := map[kind][]model.Pod{}
	var kinds []kind
	for i, n := range at {
		k := kind{top(n), !Alone(pods[i])}
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], pods[i])
	}
	slices.SortStableFunc(kinds, func(a, b kind) int { return cmp.Compare(len(byKind[a]), len(byKind[b])) })
	var out [][]model.Pod
	for _, k := range kinds {
		if len(out) == maxParts {
			out[maxParts-1] = append(out[maxParts-1], byKind[k]...)
			continue
		}
		out = append(out, byKind[k])
	}
	return out
}

// serves reports whether the labels and taints of a pool's nodes may suit the pod.
func serves(pool *model.Pool, p *model.Pod) bool {
	if _, bad := model.Untolerated(pool.Taints, p.Tolerations); bad {
		return false
	}
	own := ownSet(*pool)
	for _, t := range selected(p) {
		if own.Conflict(t) == "" {
			return true
		}
	}
	return false
}
