package offer

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// steady reports whether any offerings that each hold the pods can be options of one claim: no daemons take different amounts on them, and none
// is scarce.
func (s seller) steady() bool { return s.Light && len(s.Bounded) == 0 }

// sight is the offerings that were looked at for a claim, in order of preference.
type sight struct {
	pool            *problem.NodePool
	most, n         int
	first           model.Price
	wide            width
	types, families []int32
}

// sated looks at one more offering, and reports whether narrow would pick none that come after it.
func (x *sight) sated(i int) bool {
	it := &x.pool.Offerings.Items[i]
	if x.n++; x.n == 1 {
		x.first, x.wide = it.Offering.Price, widthOf(it.Offering.CapacityType)
	}
	if len(x.types) < x.wide.types && !slices.Contains(x.types, it.TypeNo) {
		x.types = append(x.types, it.TypeNo)
	}
	if len(x.families) < x.wide.families && !slices.Contains(x.families, it.FamilyNo) {
		x.families = append(x.families, it.FamilyNo)
	}
	if x.wide.ceiling != noCeiling && it.Offering.Price*100 > x.first*x.wide.ceiling {
		return true
	}
	return x.n >= x.wide.options &&
		(x.n >= inBand(x.most) || it.Offering.Price*100 > x.first*x.wide.band) &&
		len(x.types) == x.wide.types &&
		len(x.families) >= min(x.wide.families, x.pool.Offerings.Families)
}

// inBand is how many options the cheap band may fill, of most.
func inBand(most int) int { return most - most/varietyPart }

// holds reports whether offering i has room for the pods and for daemons that take over.
func (s seller) holds(i int, need, over vec.Vec) bool {
	for r, v := range s.Room[i] {
		if v+s.Taken[i][r] < need[r]+over[r] {
			return false
		}
	}
	return true
}

// narrow keeps the cheap band, then what minValues asks for, then what variety asks for.
func (s seller) narrow(all []int, most int) []int {
	first := s.Offerings.Items[all[0]].Offering
	wide := widthOf(first.CapacityType)
	picked := bitset.New(len(s.Offerings.Items))
	types, families := make([]int32, 0, most), make([]int32, 0, most)
	out := make([]int, 0, most)
	var t *problem.Variety
	if len(s.Wanted) > 0 {
		t = s.Variety()
	}
	pick := func(i int) {
		it := &s.Offerings.Items[i]
		picked.Add(i)
		if t != nil {
			t.Add(i)
		}
		if !slices.Contains(types, it.TypeNo) {
			types = append(types, it.TypeNo)
		}
		if !slices.Contains(families, it.FamilyNo) {
			families = append(families, it.FamilyNo)
		}
		out = append(out, i)
	}
	for _, i := range all {
		if len(out) >= inBand(most) ||
			s.Offerings.Items[i].Offering.Price*100 > first.Price*wide.band {
			break
		}
		pick(i)
	}
	if len(out) == 0 {
		pick(all[0])
	}
	for _, i := range all {
		if t == nil || len(out) >= most {
			break
		}
		if !picked.Has(i) && t.Brings(i) {
			pick(i)
		}
	}
	for _, i := range all {
		it := &s.Offerings.Items[i]
		if wide.ceiling != noCeiling && it.Offering.Price*100 > first.Price*wide.ceiling {
			break
		}
		if !picked.Has(i) && len(out) < most &&
			(len(out) < wide.options ||
				len(types) < wide.types && !slices.Contains(types, it.TypeNo) ||
				len(families) < wide.families && !slices.Contains(families, it.FamilyNo)) {
			pick(i)
		}
	}
	slices.Sort(out)
	return out
}

// seller is a pool that turns bins into claims.
type seller struct{ *problem.NodePool }
