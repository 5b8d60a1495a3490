package world

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// resolveBudgets lists the budgets with the pods each covers. Only namespaces in which something moved are looked at.
func (w *World) resolveBudgets(pods []model.Pod) []model.PDB {
	budgets := w.budgets.list()
	out := make([]model.PDB, 0, len(budgets))
	next := make(map[model.PodKey]model.PDB, len(budgets))
	for _, b := range budgets {
		key := model.PodKey{Namespace: b.Namespace, Name: b.Name}
		known, ok := w.resolved[key]
		if ok && !w.moved[b.Namespace] {
			b = known
		} else {
			b.Pods = covered(b, namespace(pods, b.Namespace))
		}
		next[key] = b
		out = append(out, b)
	}
	w.resolved = next
	clear(w.moved)
	return out
}

// namespace cuts the pods of one namespace out of a list sorted by namespace and name.
func namespace(pods []model.Pod, ns string) []model.Pod {
	from, _ := slices.BinarySearchFunc(pods, ns, func(p model.Pod, ns string) int { return cmp.Compare(p.Namespace, ns) })
	to := from
	for to < len(pods) && pods[to].Namespace == ns {
		to++
	}
	return pods[from:to]
}

// covered lists the keys of the pods that the budget's selector selects. No selector selects nothing; an empty one
// everything (policy/v1).
func covered(b model.PDB, pods []model.Pod) []model.PodKey {
	if !b.HasSel {
		return nil
	}
	selector := &model.Selector{Requirements: b.Selector}
	var out []model.PodKey
	for _, p := range pods {
		if selector.Matches(p.Labels) {
			out = append(out, p.Key())
		}
	}
	return out
}

// mount is a volume claim as used on one node.
type mount struct{ node, namespace, claim string }

// resolveAttachments says whose each attached volume is and which pods use it. O(pods + attachments), and only when there
// are any.
func (w *World) resolveAttachments(attachments []model.Attachment, pods []model.Pod) []model.Attachment {
	if len(attachments) == 0 {
		return attachments
	}
	users := map[mount][]model.PodKey{}
	for _, p := range pods {
		if p.Node == "" {
			continue
		}
		for _, c := range p.VolumeClaims {
			m := mount{p.Node, p.Namespace, c}
			users[m] = append(users[m], p.Key())
		}
	}
	out := slices.Clone(attachments)
	for i, a := range out {
		if v, ok := w.volumes.get(model.PersistentVolume{Name: a.Volume}); ok {
			a.ClaimNamespace, a.ClaimName = v.ClaimNamespace, v.ClaimName
		}
		if a.ClaimName != "" {
			a.Pods = users[mount{a.Node, a.ClaimNamespace, a.ClaimName}]
		}
		out[i] = a
	}
	return out
}
