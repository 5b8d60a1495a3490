package offerings

import "github.com/karpenter-aks/karpenter/model"

// Indexes makes each offering index once. Pools of a class share one, but for those to which overlays show other prices or other
// capacity: these have their own.
type Indexes struct {
	w       model.World
	byClass map[model.ClassRef]*Index
	byPool  map[string]*Index
}

// NewIndexes has made none yet.
func NewIndexes(w model.World) Indexes {
	return Indexes{w: w, byClass: map[model.ClassRef]*Index{}, byPool: map[string]*Index{}}
}

// Of returns what the pool may be sold.
func (s Indexes) Of(pool string, class model.ClassRef) *Index {
	if c, own := s.w.PoolCatalogs[pool]; own && c.Class == class {
		if s.byPool[pool] == nil {
			s.byPool[pool] = New(c)
		}
		return s.byPool[pool]
	}
	if s.byClass[class] == nil {
		s.byClass[class] = New(s.w.Catalogs[class])
	}
	return s.byClass[class]
}
