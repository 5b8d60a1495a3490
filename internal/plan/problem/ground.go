package problem

import (
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// free returns what is free on each node, in the order of the nodes, len(d) amounts each; those of nodes without a slot mean nothing. The caller may
// change it. O(nodes) to copy, and a little more for nodes whose pods changed since it was asked last.
func (g *Ground) free(w *model.World, d dims) []int64 {
	type key struct {
		*Ground
		names string
	}
	return w.Index.PerNode(
		key{g, strings.Join(d, "\x00")},
		len(d),
		func(i int, there model.NodePods, out []int64) {
			if m := g.Slots[i]; m != nil {
				left := m.alloc.Sub(there.Used).Sub(floor(m.overhead.Sub(there.Daemons)))
				copy(out, d.machine(left, w.Nodes[i].AttachLimits))
			}
		},
	)
}
