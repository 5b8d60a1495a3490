package problem

import (
	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// mover is a pod that runs on a node which is marked to leave, and that an existing node was bought for. It does not wait yet; its room is
// held all the same, or others would take it before the node may leave.
type mover struct {
	Slot int32
	From string // the node
	Size vec.Vec
}

// movers lists them and takes their room. Pods of nodes that are leaving already wait, and ask for their place themselves. The world has an index.
func movers(w *model.World, slots []*ExistingNode, names dims) []mover {
	marked := Marked(w)
	if len(marked) == 0 {
		return nil
	}
	var out []mover
	for i, s := range slots {
		for _, k := range s.Planned {
			p := w.Index.Pod(k)
			if p == nil || !marked[p.Node] || p.Node == s.Node || !p.Reschedulable() {
				continue
			}
			a := mover{int32(i), p.Node, names.Vec(p.Requests)}
			s.Free.Take(a.Size, 1)
			out = append(out, a)
		}
	}
	return out
}

// Marked names the nodes that are chosen to leave but do not yet, once for the same nodes and
// claims. Nobody may change it.
func Marked(w *model.World) map[string]bool {
	type key struct{}
	return w.Index.Memo(key{}, func() any {
		marked := map[string]bool{}
		leaving := alike.Leavers(w)
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if n.HasTaint(model.TaintDisrupted) && !leaving[n.Name] {
				marked[n.Name] = true
			}
		}
		return marked
	}).(map[string]bool)
}
