package offer

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/unbeaten"
	"github.com/karpenter-aks/karpenter/internal/require"
)

// choice is what packing may buy, with the offering it stands for: the cheapest of those that look alike from the pods' side.
type choice struct {
	portfolio.Choice // its free is the flavour of the open labels; see flavours
	item             int
	// company are the offerings that together meet minValues and all hold what fits into room; nil without minValues.
	company []int
}

// newChoices lists what the pools of one tier can sell to the node constraints, without anything
// that another choice beats. What comparing them costs is work of the plan; where none is left,
// choices that others beat stay. O(offerings × node constraints + kinds²).
func (d *Purchasing) newChoices(
	tier []*problem.NodePool,
	groups []*problem.NodeConstraint,
) []choice {
	var all []choice
	for _, s := range tier {
		for fi, f := range flavours(s.ID, groups) {
			like := choice{}
			like.Seller, like.Free = s.ID, fi
			if kinds := (seller{s}).kinds(like, f, groups); all == nil {
				all = kinds
			} else {
				all = append(all, kinds...)
			}
		}
	}
	byPrice := func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.Seller, b.Seller),
			cmp.Compare(a.Free, b.Free), cmp.Compare(a.item, b.item))
	}
	if !slices.IsSortedFunc(all, byPrice) { // those of one pool and flavour are
		slices.SortFunc(all, byPrice)
	}
	for i := len(all) - 1; i >= 0; i-- {
		all[i].Price += toll(all[i].Price, all[0].Price)
	}
	option := func(i int) *unbeaten.Option { return &all[i].Option }
	kept, took := unbeaten.Of(len(all), option, max(0, d.Allowed-d.Work))
	d.Toil(took)
	for to, i := range kept {
		all[to] = all[i]
	}
	return all[:len(kept)]
}

// tollShare: so many times what a plan may cost more for the sake of fewer machines is its price.
const tollShare = 10_000

// toll is what packing adds to a machine's price for being one more: next to nothing, so that of plans that cost the same but for some millionths
// the one with fewer machines wins. Large machines bear more, for what two of half the size save grows with their price; but
// less than in proportion, or two would never bear more than one. Least is the price of the cheapest machine on sale.
func toll(price, least int64) int64 {
	return int64(math.Sqrt(float64(price)*float64(least))) / tollShare
}

// flavours lists the distinct ways in which groups narrow labels that nodes of the pool may have either way. The
// first is "not at all".
func flavours(id int, groups []*problem.NodeConstraint) []require.Set {
	out, seen := []require.Set{{}}, map[string]bool{require.Set{}.String(): true}
	for _, g := range groups {
		l := g.Allowed[id]
		if l == nil || l.OK.First() < 0 || len(l.Free.Keys()) == 0 {
			continue
		}
		text := l.Free.String()
		if !seen[text] {
			seen[text] = true
			out = append(out, l.Free)
		}
	}
	return out
}

// lookBack is how many offerings of about the same price are asked whether they are the same to pods.
const lookBack = 4

// kinds lists what one pool can sell to the node constraints that agree with a flavour.
func (s seller) kinds(like choice, flavour require.Set, groups []*problem.NodeConstraint) []choice {
	n, words := len(s.Offerings.Items), (len(groups)+63)/64
	masks, flat := make([]bitset.Set, n), make(bitset.Set, n*words)
	some := 0
	for gi, g := range groups {
		l := g.Allowed[like.Seller]
		if l == nil || l.OK.First() < 0 || !l.Free.Contains(flavour) {
			continue
		}
		ok := s.Affordable(l)
		s.Setup += 1 + n/problem.ComparedAsOne
		for i := ok.First(); i >= 0; i = ok.Next(i + 1) {
			if masks[i] == nil {
				masks[i] = flat[i*words : (i+1)*words : (i+1)*words]
				some++
			}
			masks[i].Add(gi)
		}
	}
	if len(s.Choosy) > 0 {
		return s.inCompany(like, masks)
	}
	out := make([]choice, 0, some)
	for i, m := range masks {
		if m == nil {
			continue
		}
		c := like
		c.item, c.Price = i, int64(s.Offerings.Items[i].Offering.Price)
		c.Room, c.Cost, c.Takes = s.Room[i], s.Cost[i], m
		alike := func(o choice) bool {
			return slices.Equal(o.Takes, c.Takes) && slices.Equal(o.Room, c.Room) &&
				slices.Equal(o.Cost, c.Cost)
		}
		if !slices.ContainsFunc(out[max(0, len(out)-lookBack):], alike) {
			out = append(out, c)
		}
	}
	return out
}
