package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// plain reports whether any offerings that each hold the pods can be options of one claim: no daemons take different amounts on them, none
// is scarce, and no number of distinct values is asked for.
func (s *seller) plain() bool { return s.light && len(s.bounded) == 0 && len(s.wanted) == 0 }

// sight is the offerings that were looked at for a claim, in order of preference.
type sight struct {
	s               *seller
	most, n         int
	first           model.Price
	wide            width
	types, families []int32
}

// sated looks at one more offering, and reports whether narrow would pick none that come after it.
func (x *sight) sated(i int) bool {
	it := &x.s.shelf.items[i]
	if x.n++; x.n == 1 {
		x.first, x.wide = it.o.Price, widthOf(it.o.CapacityType)
	}
	if len(x.types) < x.wide.types && !slices.Contains(x.types, it.typ) {
		x.types = append(x.types, it.typ)
	}
	if len(x.families) < x.wide.families && !slices.Contains(x.families, it.family) {
		x.families = append(x.families, it.family)
	}
	if x.wide.ceiling != noCeiling && it.o.Price*100 > x.first*x.wide.ceiling {
		return true
	}
	return x.n >= x.wide.options && (x.n >= inBand(x.most) || it.o.Price*100 > x.first*x.wide.band) &&
		len(x.types) == x.wide.types && len(x.families) >= min(x.wide.families, x.s.shelf.families)
}
