package place

import "github.com/karpenter-aks/karpenter/model"

// shelves makes each shelf once. Pools of a class share one, but for those to which overlays show other prices or other
// capacity: these have their own.
type shelves struct {
	w       model.World
	byClass map[model.ClassRef]*shelf
	byPool  map[string]*shelf
}

func newShelves(w model.World) shelves {
	return shelves{w: w, byClass: map[model.ClassRef]*shelf{}, byPool: map[string]*shelf{}}
}

// of returns what the pool may be sold.
func (s shelves) of(pool string, class model.ClassRef) *shelf {
	if c, own := s.w.PoolCatalogs[pool]; own && c.Class == class {
		if s.byPool[pool] == nil {
			s.byPool[pool] = newShelf(c)
		}
		return s.byPool[pool]
	}
	if s.byClass[class] == nil {
		s.byClass[class] = newShelf(s.w.Catalogs[class])
	}
	return s.byClass[class]
}
