package place

import "github.com/karpenter-aks/karpenter/model"

// offeringIndexes makes each offering index once. Pools of a class share one, but for those to which overlays show other prices or other
// capacity: these have their own.
type offeringIndexes struct {
	w       model.World
	byClass map[model.ClassRef]*offeringIndex
	byPool  map[string]*offeringIndex
}

func newShelves(w model.World) offeringIndexes {
	return offeringIndexes{w: w, byClass: map[model.ClassRef]*offeringIndex{}, byPool: map[string]*offeringIndex{}}
}

// of returns what the pool may be sold.
func (s offeringIndexes) of(pool string, class model.ClassRef) *offeringIndex {
	if c, own := s.w.PoolCatalogs[pool]; own && c.Class == class {
		if s.byPool[pool] == nil {
			s.byPool[pool] = newOfferingIndex(c)
		}
		return s.byPool[pool]
	}
	if s.byClass[class] == nil {
		s.byClass[class] = newOfferingIndex(s.w.Catalogs[class])
	}
	return s.byClass[class]
}
