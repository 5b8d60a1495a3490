package topology

import (
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

// places are the nodes as spots, for some topology keys, and the domains that they are in.
type places struct {
	spots  []*Spot
	values []map[string]int32
	names  [][]string
}

// places returns the nodes as spots under the keys. Nobody may change it. O(nodes × keys) once for the same nodes.
func placesOf(g *problem.Ground, w *model.World, keys []string) *places {
	type key struct {
		*problem.Ground
		keys string
	}
	return w.Index.Memo(key{g, strings.Join(keys, "\x00")}, func() any {
		t := newTopology(nil)
		for _, k := range keys {
			t.Key(k)
		}
		flat := make([]Spot, len(g.Marks))
		p := &places{spots: make([]*Spot, len(flat))}
		for i := range flat {
			flat[i].Labels, flat[i].Taints = g.Marks[i].Labels, g.Marks[i].Taints
			if s := g.Slots[i]; s != nil { // one that is joining will show more
				flat[i].Labels, flat[i].Taints = s.Labels, s.Taints
			}
			t.Place(&flat[i], i)
			p.spots[i] = &flat[i]
		}
		p.values, p.names = t.values, t.Names
		return p
	}).(*places)
}
