package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

// maxParts bounds how many parts pods are split into; the last one takes the rest.
const maxParts = 16

// Parts splits pods for which one plan was too much work, few first: pods that no pool can serve both of are in different parts, and so are those that look
// at other waiting pods, or have to share a machine with such, and those that do not. Pods that are hard to plan for then keep nobody waiting but their like.
// O(kinds of pods × (pools + kinds that look for others)).
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
	number := map[string]int{}
	var each []*model.Pod // the first of each kind
	var first []int       // per kind: the first pool that serves it
	at := make([]int, len(pods))
	var t alike.Templater
	for i := range pods {
		p := &pods[i]
		text := string(t.Of(p))
		n, known := number[text]
		if !known {
			n = len(first)
			number[text] = n
			first, each = append(first, len(w.Pools)), append(each, p)
			for s := range w.Pools {
				if serves(&w.Pools[s], p) {
					first[n] = min(first[n], s)
					root[top(s)] = top(first[n])
				}
			}
		}
		at[i] = n
	}
	with := mates(w, each)
	tied := map[int]bool{} // of those that belong together
	for i, p := range each {
		tied[with[i]] = tied[with[i]] || !Alone(*p)
	}
	byKind := map[kind][]model.Pod{}
	var kinds []kind
	for i, n := range at {
		k := kind{top(first[n]), tied[with[n]]}
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

// Halves splits pods in two, with half of their kinds in each. Pods that have to be on the machine of others stay with them, and pods that are all alike to
// scheduling, or belong together so, stay one list. O(pods + kinds × kinds that look for others).
func Halves(w model.World, pods []model.Pod) [][]model.Pod {
	at := map[string]int{}
	var kinds []*model.Pod
	of := make([]int, len(pods))
	classes := alike.NewClasser(w.Indexed().Index, pointers(pods))
	for i := range pods {
		p := &pods[i]
		text := string(classes.AppendTraits(alike.AppendAmounts(nil, p), p))
		n, known := at[text]
		if !known {
			n = len(kinds)
			at[text], kinds = n, append(kinds, p)
		}
		of[i] = n
	}
	root := mates(w, kinds)
	roots := slices.Compact(slices.Sorted(slices.Values(root)))
	if len(roots) < 2 {
		return [][]model.Pod{pods}
	}
	out := make([][]model.Pod, 2)
	for i, n := range of {
		half := 0
		if root[n] >= roots[len(roots)/2] {
			half = 1
		}
		out[half] = append(out[half], pods[i])
	}
	return out
}

// mates returns, for each of the pods, the first of those that it belongs together with since some have to be on the machine of others.
func mates(w model.World, pods []*model.Pod) []int {
	root := make([]int, len(pods))
	for i := range root {
		root[i] = i
	}
	t := alike.NewNamespaces(&w)
	for i, p := range pods {
		for _, x := range p.PodAffinity {
			for k, o := range pods {
				if x.Key != model.LabelHostname || root[k] == root[i] || !t.Picks(alike.PodSelectorOf(x), o.Namespace, o.Labels) {
					continue
				}
				from, to := max(root[i], root[k]), min(root[i], root[k])
				for n, r := range root {
					if r == from {
						root[n] = to
					}
				}
			}
		}
	}
	return root
}

// serves reports whether the labels and taints of a pool's nodes may suit the pod.
func serves(pool *model.Pool, p *model.Pod) bool {
	if _, bad := model.Untolerated(pool.Taints, p.Tolerations); bad {
		return false
	}
	own := problem.OwnSet(*pool)
	for _, t := range alike.Selected(p) {
		if own.Conflict(t) == "" {
			return true
		}
	}
	return false
}
