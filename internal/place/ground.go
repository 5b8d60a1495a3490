package place

import (
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// free returns what is free on each node, in the order of the nodes, len(d) amounts each; those of nodes without a slot mean nothing. The caller may
// change it. O(nodes) to copy, and a little more for nodes whose pods changed since it was asked last.
func (g *ground) free(w *model.World, d dims) []int64 {
	type key struct {
		*ground
		names string
	}
	return w.Index.PerNode(key{g, strings.Join(d, "\x00")}, len(d), func(i int, there model.NodePods, out []int64) {
		if m := g.slots[i]; m != nil {
			left := m.alloc.Sub(there.Used).Sub(floor(m.overhead.Sub(there.Daemons)))
			copy(out, d.machine(left, w.Nodes[i].AttachLimits))
		}
	})
}

// places are the nodes as spots, for some topology keys, and the domains that they are in.
type places struct {
	spots  []*spot
	values []map[string]int32
	names  [][]string
}

// places returns the nodes as spots under the keys. Nobody may change it. O(nodes × keys) once for the same nodes.
func (g *ground) places(w *model.World, keys []string) *places {
	type key struct {
		*ground
		keys string
	}
	return w.Index.Memo(key{g, strings.Join(keys, "\x00")}, func() any {
		t := newTopology(nil)
		for _, k := range keys {
			t.key(k)
		}
		flat := make([]spot, len(g.marks))
		p := &places{spots: make([]*spot, len(flat))}
		for i := range flat {
			flat[i].labels, flat[i].taints = g.marks[i].labels, g.marks[i].taints
			if s := g.slots[i]; s != nil { // one that is joining will show more
				flat[i].labels, flat[i].taints = s.labels, s.taints
			}
			t.place(&flat[i], i)
			p.spots[i] = &flat[i]
		}
		p.values, p.names = t.values, t.names
		return p
	}).(*places)
}
