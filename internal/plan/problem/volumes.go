package problem

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// Mount is a volume that several pods use. A machine attaches it once, however many of them it has.
type Mount struct {
	ID     string
	Column int // of vec
}

// mounts notes what the class's pods share with others. Pods of one class share the same volumes, since these tell classes apart.
func (g *PodClass) mounts(d dims, shared map[string]bool) {
	g.Lean = g.Size
	for _, v := range g.First().Volumes {
		at := slices.Index(d, AttachPrefix+v.Driver)
		if at < 0 || !shared[v.ID] {
			continue
		}
		if g.Shared == nil {
			g.Lean = g.Size.Clone()
		}
		g.Shared = append(g.Shared, Mount{v.ID, at})
		g.Lean[at]--
	}
}

// attachSize adds the pod's volumes to its size.
func (d dims) attachSize(size vec.Vec, p *model.Pod) {
	for _, v := range p.Volumes {
		if i := slices.Index(d, AttachPrefix+v.Driver); i >= 0 {
			size[i]++
		}
	}
}

// Holds returns how many more pods of the class fit on the existing node; at most most.
func (s *ExistingNode) Holds(g *PodClass, most int) int {
	if len(g.Shared) == 0 {
		return s.Free.Times(g.Size, most)
	}
	free := s.Free.Clone()
	for _, m := range g.Shared {
		if s.Volumes[m.ID] == 0 {
			free[m.Column]--
		}
	}
	return free.Times(g.Lean, most)
}
