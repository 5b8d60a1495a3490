package alike

import (
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

// kube-scheduler looks at pods one by one, and writes down each that it found no node for: fifty a second with its default rate of requests, fewer
// when the API server is busy. Machines join faster than it gets through a few thousand pods. A plan for those that it got to is a
// plan for a part of what is coming, and the next one buys beside it. So once one pod of a template was found to fit nowhere, the others of that template
// are planned for, too: nothing that kube-scheduler looks at tells them apart. They come after everything that is there and on its way, as all pods do, so that
// nothing is bought for one that kube-scheduler will find a node for.

// siblings says which unjudged pods are planned for: those of the template of a pod that waits, and those that a claim was made for already. The latter
// hold their place, also when no pod of their template waits any more. O(unbound pods), and when there
// are unjudged ones O(planned pods) beside.
func siblings(w *model.World) func(p *model.Pod) bool {
	n := 0
	for p := range w.Index.Unbound().All() {
		if p.Unjudged() {
			n++
		}
	}
	if n == 0 {
		return func(*model.Pod) bool { return false }
	}
	t := Templater{}
	waits := map[string]bool{}
	for p := range w.Index.Unbound().All() {
		if p.Provisionable() && !p.Virtual && len(p.Labels) > 0 {
			waits[string(t.Of(p))] = true
		}
	}
	planned := planned.All(w, planned.Staying)
	return func(p *model.Pod) bool {
		return p.Unjudged() && (planned[p.Key()] || waits[string(t.Of(p))])
	}
}

// Templater writes what pods of one template have in common.
type Templater struct{ buf []byte }

// Of returns the text of the pod's template; it is good until the next call. Labels belong to it: all pods of a ReplicaSet or a Job have the same, and a
// pod without any has no template.
func (t *Templater) Of(p *model.Pod) []byte {
	b := text(t.buf[:0], p.Namespace)
	for _, k := range slices.Sorted(maps.Keys(p.Labels)) {
		b = text(text(b, k), p.Labels[k])
	}
	b = AppendAmounts(append(b, '|'), p)
	t.buf = (&Classer{labels: []string{}}).AppendTraits(b, p)
	return t.buf
}
