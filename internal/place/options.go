package place

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Options ranks the offerings that a claim may be launched with now: its requirements hold, its requests (daemons
// included) fit, and they are on sale. Best first: what the plan chose among those of one price, then by price, then zonal before regional, then
// name. Empty when none is left.
func Options(claim model.Claim, cat model.Catalog) []Option {
	out, _ := OptionsOrWhy(claim, cat)
	return out
}

// OptionsOrWhy is Options that also says, when there are none, which constraint took the last offering away. It is asked once per launch, and
// many machines of a plan are launched at the same time: as long as there are options, only the labels that the claim asks for are looked at,
// and nothing is built of the whole catalogue. O(offerings × requirements).
func OptionsOrWhy(claim model.Claim, cat model.Catalog) ([]Option, Refusal) {
	want := require.New(claim.Requirements)
	var found []*model.Offering
	asks := machineAsks(cat, want)
	for ti := range cat.Types {
		t := &cat.Types[ti]
		if !claim.Requests.FitsIn(t.Allocatable) {
			continue
		}
		for oi := range t.Offerings {
			if o := &t.Offerings[oi]; o.Available && allMet(asks, t, o) {
				found = append(found, o)
			}
		}
	}
	if len(found) == 0 {
		return nil, noOptions(claim, cat, want)
	}
	slices.SortFunc(found, byPreference)
	out := make([]Option, len(found))
	for i, o := range found {
		out[i] = Option{Key: o.Key(), Price: o.Price}
	}
	return firstOf(out, claim), Refusal{}
}

// ask is what is asked of one label of a machine.
type ask struct {
	key    string
	values require.Values
}

// machineAsks lists what is asked of labels that describe machines, the type first: it leaves the fewest.
func machineAsks(cat model.Catalog, want require.Set) []ask {
	var out []ask
	for _, k := range want.Keys() {
		if v, _ := want.Get(k); require.Cloud(k) || brought(cat, k) {
			out = append(out, ask{k, v})
		}
	}
	if i := slices.IndexFunc(out, func(a ask) bool { return a.key == model.LabelInstanceType }); i > 0 {
		out[0], out[i] = out[i], out[0]
	}
	return out
}

// brought reports whether some machine of the catalogue has the label. Labels that have other names, too, are all the cloud's: see require.Cloud.
func brought(cat model.Catalog, key string) bool {
	for i := range cat.Types {
		t := &cat.Types[i]
		if _, has := t.Labels[key]; has || len(t.Either[key]) > 0 {
			return true
		}
		for j := range t.Offerings {
			if _, has := t.Offerings[j].Labels[key]; has {
				return true
			}
		}
	}
	return false
}

func allMet(asks []ask, t *model.InstanceType, o *model.Offering) bool {
	for i := range asks {
		if !asks[i].met(t, o) {
			return false
		}
	}
	return true
}

// met reports whether an offering has, or may have, a value of the label that will do. It is offering index.match for one offering.
func (a *ask) met(t *model.InstanceType, o *model.Offering) bool {
	_, own := o.Labels[a.key]
	v, has := "", true
	switch a.key {
	case model.LabelInstanceType:
		v = o.Type
	case model.LabelZone:
		v = o.Zone
	case model.LabelCapacityType:
		v = o.CapacityType
	default:
		if has = false; !own {
			v, has = require.Normalise(t.Labels)[a.key]
		}
	}
	if has && a.values.Has(v) {
		return true
	}
	for k, v := range o.Labels {
		if require.Key(k) == a.key {
			if has = true; a.values.Has(v) {
				return true
			}
		}
	}
	for k, vs := range t.Either {
		if !own && require.Key(k) == a.key {
			if has = has || len(vs) > 0; slices.ContainsFunc(vs, a.values.Has) {
				return true
			}
		}
	}
	return !has && a.values.AllowsAbsent()
}

// noOptions says why no offering will do.
func noOptions(claim model.Claim, cat model.Catalog, want require.Set) Refusal {
	sh := newOfferingIndex(cat)
	r := Refusal{Pool: claim.Pool}
	matching := sh.filter(sh.all, want)
	fitting := bitset.New(len(sh.items))
	matching.Each(func(i int) {
		if claim.Requests.FitsIn(sh.items[i].t.Allocatable) {
			fitting.Add(i)
		}
	})
	names := newDims([]*podClass{{requests: claim.Requests, pods: []*model.Pod{{}}}}, nil)
	s := &nodePool{offerings: sh, names: names}
	for _, it := range sh.items {
		s.room = append(s.room, names.vec(it.t.Allocatable))
	}
	for _, x := range []Removed{{Why: model.WhyRequirements, Offerings: len(sh.items) - matching.Count()},
		{Why: model.WhyResources, Offerings: matching.Count() - fitting.Count()}, {Why: model.WhyUnavailable, Offerings: fitting.Count()}} {
		if x.Offerings > 0 {
			r.Removed = append(r.Removed, x)
		}
	}
	switch {
	case len(sh.items) == 0:
		r.Why, r.Detail = model.WhyNoOfferings, fmt.Sprintf("the cloud has nothing on offer for class %s (yet)", claim.Class)
	case matching.First() < 0:
		r.Why, r.Detail = model.WhyRequirements, sh.blame("the claim's", want)
	case fitting.First() < 0:
		r.Why, r.Detail = model.WhyResources, s.sizeText(matching, names.vec(claim.Requests))
	default:
		r.Why, r.Detail = model.WhyUnavailable, s.soldOutText(fitting)
	}
	return r
}
