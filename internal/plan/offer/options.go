package offer

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Options ranks the offerings that a claim may be launched with now: its requirements hold, its requests (daemons
// included) fit, and they are on sale. Best first: what the plan chose among those of one price, then by price, then zonal before regional, then
// name. Empty when none is left. It is asked once per launch, and many machines of a plan are launched at the same time: only the labels that
// the claim asks for are looked at, and nothing is built of the whole catalogue. O(offerings × requirements).
func Options(claim model.Claim, cat model.Catalog) []answer.Option {
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
	slices.SortFunc(found, offerings.ByPreference)
	var out []answer.Option
	for _, o := range found {
		out = append(out, answer.Option{Key: o.Key(), Price: o.Price})
	}
	return firstOf(out, claim)
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
	isType := func(a ask) bool { return a.key == model.LabelInstanceType }
	if i := slices.IndexFunc(out, isType); i > 0 {
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
