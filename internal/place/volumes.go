package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// mount is a volume that several pods use. A machine attaches it once, however many of them it has.
type mount struct {
	id     string
	column int // of vec
}

// mounts notes what the group's pods share with others. Pods of one group share the same volumes, since these tell classes apart.
func (g *podClass) mounts(d dims, shared map[string]bool) {
	g.lean = g.size
	for _, v := range g.first().Volumes {
		at := slices.Index(d, attachPrefix+v.Driver)
		if at < 0 || !shared[v.ID] {
			continue
		}
		if g.shared == nil {
			g.lean = g.size.Clone()
		}
		g.shared = append(g.shared, mount{v.ID, at})
		g.lean[at]--
	}
}

// attachSize adds the pod's volumes to its size.
func (d dims) attachSize(size vec.Vec, p *model.Pod) {
	for _, v := range p.Volumes {
		if i := slices.Index(d, attachPrefix+v.Driver); i >= 0 {
			size[i]++
		}
	}
}

// holds returns how many more pods of the group fit on the existing node; at most most.
func (s *existingNode) holds(g *podClass, most int) int {
	if len(g.shared) == 0 {
		return s.free.Times(g.size, most)
	}
	free := s.free.Clone()
	for _, m := range g.shared {
		if s.volumes[m.id] == 0 {
			free[m.column]--
		}
	}
	return free.Times(g.lean, most)
}
