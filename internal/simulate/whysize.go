package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// size is another size than a claim has: what it would be bought as, or why it would not do.
type size struct {
	name  string
	price model.Price
	best  place.Option // of what is to be had; zero when it would not do
	why   place.Refusal
}

// String says what a size that would not do costs, and why it would not.
func (x size) String() string {
	return fmt.Sprintf("%s, %s: %s: %s", x.name, x.price, x.why.Why, x.why.Detail)
}

// sizes asks, of every other size that is sold, whether the claim could have been it: by what it asked for but the sizes themselves, of
// which the pool alone has a say. The price of one that would not do is that of its cheapest offering of the same capacity type; sizes that
// have none are left out. Sorted by price. O(offerings × requirements).
func (a Answer) sizes(c *model.Claim, is model.OfferingKey, requests model.Resources) (out []size) {
	asks := *c
	asks.Requirements, asks.Requests = nil, requests
	bySize := func(r model.Requirement) bool { return r.Key == model.LabelInstanceType }
	for _, r := range c.Requirements {
		if !bySize(r) {
			asks.Requirements = append(asks.Requirements, r)
		}
	}
	for _, r := range a.pool(c.Pool).Requirements {
		if bySize(r) {
			asks.Requirements = append(asks.Requirements, r)
		}
	}
	cat := a.World.Catalog(c.Pool, c.Class)
	for _, t := range cat.Types {
		if t.Name == is.Type {
			continue
		}
		x := size{name: t.Name}
		one := model.Catalog{Class: cat.Class, Epoch: cat.Epoch, Types: []model.InstanceType{t}}
		options, why := place.OptionsOrWhy(asks, one)
		if x.why = why; len(options) > 0 {
			x.best, x.price = options[0], options[0].Price
			out = append(out, x)
			continue
		}
		for _, o := range t.Offerings {
			if o.CapacityType == is.CapacityType && (x.price == 0 || o.Price < x.price) {
				x.price = o.Price
			}
		}
		if x.price > 0 {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(x, y size) int {
		return cmp.Or(cmp.Compare(x.price, y.price), strings.Compare(x.name, y.name))
	})
	return out
}

// sizesOf are the sizes for what the claim asked for, what that is, and whose words it is. Of a claim that does not say, what is on its
// node counts.
func (a Answer) sizesOf(w model.World, c *model.Claim) (_ []size, requests model.Resources, whose string) {
	requests, whose = c.Requests, "it asked for"
	if n := w.Index.NodeBy(c.ProviderID); requests.IsZero() && n != nil {
		requests, whose = w.Index.On(n.Name).Used, "what is on it asks for"
	}
	return a.sizes(c, c.Offering(), requests), requests, whose
}

// whySize says which sizes beside the one that it is would do for what the claim asked for, and why the cheaper ones would not.
func (a Answer) whySize(line func(word, format string, args ...any), w model.World, c *model.Claim, price model.Price) {
	others, requests, whose := a.sizesOf(w, c)
	if len(others) == 0 {
		return
	}
	var cheaper, dearer, small []size
	for _, x := range others {
		does := x.best.Key.Type != ""
		switch {
		case does && x.price < price:
			cheaper = append(cheaper, x)
		case does:
			dearer = append(dearer, x)
		case x.price < price:
			small = append(small, x)
		}
	}
	line("size", "%s %s: %s of %d would do beside it", whose, requests, model.Count(len(cheaper)+len(dearer), "other size"), len(others))
	if len(dearer) > 0 {
		x := dearer[0]
		line("", "the next dearer: %s, %s", x.best.Key, x.price)
	}
	if n := len(small); n > 0 {
		told := small[n-1]
		line("", "the next cheaper would not do: %s", told)
		for _, x := range slices.Backward(small) {
			if x.why.Why == model.WhyResources && x.name != told.name {
				line("", "nor the next smaller: %s", x)
				break
			}
		}
		line("", "%s would not: %s", model.Count(n, "cheaper size"), causes(small))
	}
	if len(cheaper) > 0 {
		line("", "%s would do and cost less today, such as %s, %s: sold out or dearer when it was bought, or its pods asked for more",
			model.Count(len(cheaper), "size"), cheaper[0].best.Key, cheaper[0].price)
	}
}

// causes counts why sizes would not do, the most frequent first.
func causes(list []size) string {
	n := map[model.Why]int{}
	for _, x := range list {
		n[x.why.Why]++
	}
	var parts []string
	for _, w := range slices.SortedFunc(maps.Keys(n), func(x, y model.Why) int { return cmp.Or(cmp.Compare(n[y], n[x]), cmp.Compare(x, y)) }) {
		parts = append(parts, fmt.Sprintf("%s %d", w, n[w]))
	}
	return strings.Join(parts, ", ")
}
