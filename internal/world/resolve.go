package world

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// manyEdits is how many pods of a namespace may change until its budgets are resolved from all of its pods: that is cheaper then.
const manyEdits = 64

// resolveBudgets lists the budgets with the pods each covers. O(budgets) when pods or budgets changed, and O(budgets of its namespace) for each pod.
func (w *World) resolveBudgets(edits []model.Edit[model.Pod]) []model.PDB {
	changed := w.budgets.settle()
	if len(changed) == 0 && (len(edits) == 0 || len(w.covering) == 0) {
		return w.covering
	}
	moved := map[string][]model.Edit[model.Pod]{}
	for _, e := range edits {
		if e.Old == nil || e.New == nil || !maps.Equal(e.Old.Labels, e.New.Labels) {
			moved[e.Row().Namespace] = append(moved[e.Row().Namespace], e)
		}
	}
	if len(changed)+len(moved) == 0 {
		return w.covering
	}
	known := make(map[string]*model.PDB, len(w.covering))
	for i := range w.covering {
		known[w.covering[i].ObjectKey()] = &w.covering[i]
	}
	for _, e := range changed {
		delete(known, e.Row().ObjectKey())
	}
	out := make([]model.PDB, 0, w.budgets.rows.Len())
	for b := range w.budgets.rows.All() {
		now, old := *b, known[b.ObjectKey()]
		switch edits := moved[b.Namespace]; {
		case old == nil || len(edits) > manyEdits:
			now.Pods = w.covered(b)
		default:
			now.Pods = recovered(b, old.Pods, edits)
		}
		out = append(out, now)
	}
	w.covering = out
	return out
}

// selectorOf is nil when the budget covers nobody: no selector selects nothing, an empty one everything (policy/v1).
func selectorOf(b *model.PDB) *model.Selector {
	if !b.HasSel {
		return nil
	}
	return &model.Selector{Requirements: b.Selector}
}

// covered lists the keys of the pods that the budget's selector selects.
func (w *World) covered(b *model.PDB) []model.PodKey {
	selector := selectorOf(b)
	if selector == nil {
		return nil
	}
	var out []model.PodKey
	for p := range w.pods.rows.From(func(p *model.Pod) int { return cmp.Compare(p.Namespace, b.Namespace) }) {
		if p.Namespace != b.Namespace {
			break
		}
		if selector.Matches(p.Labels) {
			out = append(out, p.Key())
		}
	}
	return out
}

// recovered is covered, when it was keys before the edits. The keys are not changed.
func recovered(b *model.PDB, keys []model.PodKey, edits []model.Edit[model.Pod]) []model.PodKey {
	selector, own := selectorOf(b), false
	for _, e := range edits {
		was, is := e.Old != nil && selector.Matches(e.Old.Labels), e.New != nil && selector.Matches(e.New.Labels)
		if was == is {
			continue
		}
		if !own {
			keys, own = slices.Clone(keys), true
		}
		at, _ := slices.BinarySearchFunc(keys, e.Row().Key(), func(a, b model.PodKey) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		if was {
			keys = slices.Delete(keys, at, at+1)
		} else {
			keys = slices.Insert(keys, at, e.Row().Key())
		}
	}
	return keys
}

// resolveAttachments says whose each attached volume is and which pods use it. Looked at again are those on nodes where pods with claims
// changed, and all when an attachment or a volume did.
func (w *World) resolveAttachments(edits []model.Edit[model.Pod], volumes bool) []model.Attachment {
	all := len(w.attachments.settle()) > 0 || volumes
	nodes := map[string]bool{}
	for _, e := range edits {
		for _, p := range []*model.Pod{e.Old, e.New} {
			if p != nil && p.Node != "" && len(p.VolumeClaims) > 0 {
				nodes[p.Node] = true
			}
		}
	}
	if !all && (len(nodes) == 0 || len(w.attached) == 0) {
		return w.attached
	}
	out := slices.Clone(w.attached)
	if all {
		out = slices.Clone(w.attachments.list())
	}
	for i := range out {
		a := &out[i]
		if !all && !nodes[a.Node] {
			continue
		}
		if v, ok := w.volumes.get(model.PersistentVolume{Name: a.Volume}); ok {
			a.ClaimNamespace, a.ClaimName = v.ClaimNamespace, v.ClaimName
		}
		a.Pods = nil
		for _, p := range w.index.On(a.Node).Pods {
			if a.ClaimName != "" && p.Namespace == a.ClaimNamespace && slices.Contains(p.VolumeClaims, a.ClaimName) {
				a.Pods = append(a.Pods, p.Key())
			}
		}
	}
	w.attached = out
	return out
}
