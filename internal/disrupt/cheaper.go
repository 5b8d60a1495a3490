package disrupt

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// cheaper narrows a claim to what costs at most limit, whichever of it is had in the end.
type cheaper struct {
	claim   place.NewClaim
	limit   model.Price
	catalog model.Catalog
}

// narrow narrows the claim, and says what is in the way, "" when nothing is. spot says that all that
// leaves are spot machines, single that it is one machine, allowed that spot may replace spot.
func (c *cheaper) narrow(spot, single, allowed bool) string {
	b := &c.claim
	left := slices.DeleteFunc(
		slices.Clone(b.Options),
		func(o place.Option) bool { return o.Price > c.limit },
	)
	if spot &&
		slices.ContainsFunc(
			left,
			func(o place.Option) bool { return o.Key.CapacityType == model.Spot },
		) {
		if !allowed {
			return "spot machines are not replaced with spot machines (feature gate SpotToSpotConsolidation)"
		}
		if single {
			types := c.types(left)
			if len(types) < spotTypes {
				return fmt.Sprintf(
					"a spot machine is replaced with another only where %d cheaper instance types are "+
						"to be had, so that the next is not taken back as soon; there are %d",
					spotTypes,
					len(types),
				)
			}
			left = slices.DeleteFunc(left, func(o place.Option) bool {
				return !slices.Contains(types[:spotTypes], o.Key.Type)
			})
		}
	}
	// A claim asks for types, zones and capacity types, in any combination: no type may be dearer in one of them.
	for range len(left) {
		dear := c.dear(left)
		if dear == "" {
			break
		}
		left = slices.DeleteFunc(left, func(o place.Option) bool { return o.Key.Type == dear })
	}
	if len(left) == 0 {
		return "nothing that would hold its pods is cheaper for certain"
	}
	b.Options = left
	b.Requirements = slices.Clone(b.Requirements)
	for i := range b.Requirements {
		r := &b.Requirements[i]
		values := c.values(r.Key)
		if r.MinValues > 0 && len(values) < r.MinValues {
			return fmt.Sprintf(
				"of what is cheaper there are %d values of %s, and minValues asks for %d",
				len(values),
				r.Key,
				r.MinValues,
			)
		}
		switch r.Key {
		case model.LabelInstanceType, model.LabelZone, model.LabelCapacityType:
			r.Values = values
		}
	}
	return ""
}

// types lists the instance types of options, in their order.
func (c *cheaper) types(list []place.Option) (out []string) {
	for _, o := range list {
		if !slices.Contains(out, o.Key.Type) {
			out = append(out, o.Key.Type)
		}
	}
	return out
}

// dear names a type of which some combination that the claim would allow costs too much, "" when there is none.
func (c *cheaper) dear(list []place.Option) string {
	zones, kinds := map[string]bool{}, map[string]bool{}
	for _, o := range list {
		zones[o.Key.Zone], kinds[o.Key.CapacityType] = true, true
	}
	for _, name := range c.types(list) {
		t, _ := c.catalog.Type(name)
		for _, o := range t.Offerings {
			if o.Available && zones[o.Zone] && kinds[o.CapacityType] && o.Price > c.limit {
				return name
			}
		}
	}
	return ""
}

// values lists the values that the options show of a label, sorted.
func (c *cheaper) values(key string) []string {
	var out []string
	for _, o := range c.claim.Options {
		v := ""
		switch key {
		case model.LabelInstanceType:
			v = o.Key.Type
		case model.LabelZone:
			v = o.Key.Zone
		case model.LabelCapacityType:
			v = o.Key.CapacityType
		default:
			t, _ := c.catalog.Type(o.Key.Type)
			v = t.Labels[key]
		}
		if v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
