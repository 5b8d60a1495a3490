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
	var out []model.PodKey
	for _, p := range pods {
		if selects(b.Selector, p.Labels) {
			out = append(out, p.Key())
		}
	}
	return out
}

// selects evaluates a label selector, whose only operators are In, NotIn, Exists and DoesNotExist. An operator that
// selectors do not have selects nothing.
func selects(selector []model.Requirement, labels map[string]string) bool {
	for _, r := range selector {
		v, has := labels[r.Key]
		ok := false
		switch r.Op {
		case model.In:
			ok = has && slices.Contains(r.Values, v)
		case model.NotIn:
			ok = !has || !slices.Contains(r.Values, v)
		case model.Exists:
			ok = has
		case model.DoesNotExist:
			ok = !has
		}
		if !ok {
			return false
		}
	}
	return true
}

// mount is a volume claim as used on one node.
type mount struct{ node, namespace, claim string }

// resolveAttachments says which pods use each attached volume. O(pods + attachments), and only when there are any.
func resolveAttachments(attachments []model.Attachment, pods []model.Pod) []model.Attachment {
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
		if a.ClaimName != "" {
			out[i].Pods = users[mount{a.Node, a.ClaimNamespace, a.ClaimName}]
		}
	}
	return out
}
