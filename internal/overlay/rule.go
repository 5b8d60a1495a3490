package overlay

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// rule is a valid overlay, ready to be asked.
type rule struct {
	o      model.Overlay
	want   require.Set
	byPool bool // it asks for labels that only a pool gives
	priced bool
}

func compile(o model.Overlay) rule {
	r := rule{o: o, want: require.New(o.Requirements), priced: o.Price != "" || o.PriceAdjustment != ""}
	r.byPool = slices.ContainsFunc(r.want.Keys(), func(k string) bool { return !require.Cloud(k) })
	return r
}

// shared names what both set, "" when nothing.
func (r rule) shared(o rule) string {
	if r.priced && o.priced {
		return "price"
	}
	return r.sharedCapacity(o)
}

func (r rule) sharesCapacity(o rule) bool { return r.sharedCapacity(o) != "" }

func (r rule) sharedCapacity(o rule) string {
	for _, name := range slices.Sorted(maps.Keys(r.o.Capacity)) {
		if _, ok := o.o.Capacity[name]; ok {
			return name
		}
	}
	return ""
}

// price returns what an offering of the given price costs under the rule. Never less than nothing.
func (r rule) price(old model.Price) model.Price {
	if r.o.Price != "" {
		return dollars(r.o.Price)
	}
	if percent, ok := strings.CutSuffix(r.o.PriceAdjustment, "%"); ok {
		f, _ := strconv.ParseFloat(percent, 64)
		return max(0, model.Price(math.Round(float64(old)*(100+f)/100)))
	}
	return max(0, old+dollars(r.o.PriceAdjustment))
}

// dollars reads an amount that problems found to be right, to the nearest micro-dollar.
func dollars(s string) model.Price {
	f, _ := strconv.ParseFloat(s, 64)
	return model.Price(math.Round(f * 1e6))
}

// The notations of the published API.
var (
	amount     = regexp.MustCompile(`^\d+(\.\d+)?$`)
	adjustment = regexp.MustCompile(`^([+-]\d*\.?\d+|\+\d*\.?\d+%|-\d{1,2}(\.\d+)?%|-100%)$`)
)

// dearest bounds prices and adjustments, in dollars per hour, and percentages: no machine costs as much, and sums of
// thousands of such prices stay far from overflow.
const dearest = 1e6

// problems lists what is wrong with an overlay's own content, each with the path of its field.
func problems(o model.Overlay) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if o.Unreadable != "" {
		add("a value cannot be read: %s", o.Unreadable)
	}
	if o.Price != "" && o.PriceAdjustment != "" {
		add("spec: price and priceAdjustment exclude each other")
	}
	if o.Price != "" && (!amount.MatchString(o.Price) || tooMuch(o.Price)) {
		add("spec.price: %q is not an amount in dollars per hour, such as 1.25", o.Price)
	}
	if s := o.PriceAdjustment; s != "" && (!adjustment.MatchString(s) || tooMuch(strings.TrimSuffix(s, "%"))) {
		add("spec.priceAdjustment: %q is neither an amount with its sign, such as -0.05, nor a percentage from -100%% on, such as +10%%", s)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Capacity)) {
		switch name {
		case model.ResourceCPU, model.ResourceMemory, model.ResourceEphemeral, model.ResourcePods:
			add("spec.capacity[%s]: restricted; only extended resources may be added", name)
		}
		if o.Capacity[name] < 0 {
			add("spec.capacity[%s]: less than nothing", name)
		}
	}
	for i, r := range o.Requirements {
		if why := wrongRequirement(r); why != "" {
			add("spec.requirements[%d] (%s): %s", i, r.Key, why)
		}
	}
	if k := require.New(o.Requirements).Impossible(); k != "" && len(out) == 0 {
		add("spec.requirements: no node can satisfy what they say about %s", k)
	}
	return out
}

func tooMuch(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return err != nil || math.Abs(f) > dearest
}

func wrongRequirement(r model.Requirement) string {
	switch r.Op {
	case model.In, model.NotIn:
		if len(r.Values) == 0 {
			return fmt.Sprintf("operator %s needs values", r.Op)
		}
	case model.Exists, model.DoesNotExist:
		if len(r.Values) > 0 {
			return fmt.Sprintf("operator %s takes no values", r.Op)
		}
	case model.Gt, model.Lt, model.Gte, model.Lte:
		if len(r.Values) != 1 {
			return fmt.Sprintf("operator %s takes exactly one value", r.Op)
		}
		if n, err := strconv.ParseInt(r.Values[0], 10, 64); err != nil || n < 0 {
			return fmt.Sprintf("operator %s needs a non-negative integer, got %q", r.Op, r.Values[0])
		}
	default:
		return fmt.Sprintf("unknown operator %q", r.Op)
	}
	if r.Key == "" {
		return "it names no label"
	}
	return ""
}
