package place

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Barren says why a pool can never buy anything of a catalogue, sold out or not: its own requirements leave no offering, or, where minValues
// are a must, too few values of a label. Why is "" when they leave enough, and when the catalogue is empty: then nothing is known. The pools
// are all of the catalogue's class; one refusal for each, in their order. O(pools × keys² × offerings) at worst, in sets of bits.
func Barren(cat model.Catalog, pools []model.Pool, choice MinValues) []Refusal {
	out := make([]Refusal, len(pools))
	sh := newOfferingIndex(cat)
	if len(sh.items) == 0 {
		return out
	}
	for i, p := range pools {
		out[i] = newNodePool(sh, p).barren(choice)
	}
	return out
}

// barren is the refusal of a pool that can buy nothing of its offering index, ever; with Why "" when it can.
func (s *nodePool) barren(choice MinValues) Refusal {
	out := Refusal{Pool: s.pool.Name}
	what := ""
	if s.base.First() < 0 {
		out.Why, out.Detail = model.WhyRequirements, s.offerings.blame("the pool's", s.own)
	} else if choice != BestEffort {
		if what, out.Detail = s.uniform(); what != "" {
			out.Why = model.WhyMinValues
		}
	}
	if out.Why != "" {
		out.Removed = []Removed{{Why: out.Why, What: what, Offerings: len(s.offerings.items)}}
	}
	return out
}

// uniform names the first label of which all offerings that the pool's requirements leave have fewer values than its minValues ask for, and
// says who leaves so few: the catalogue, or as few of the requirements as do.
func (s *nodePool) uniform() (key, text string) {
	if key, _ = s.lack(s.base); key == "" {
		return "", ""
	}
	var least, n int
	few := func(q require.Set) bool {
		t := s.variety()
		s.offerings.filter(s.offerings.all, q).Each(t.add)
		x := t.keys[slices.IndexFunc(t.keys, func(x numbered) bool { return x.key == key })]
		if x.n >= x.least {
			return false
		}
		least, n = x.least, x.n
		return true
	}
	guilty := slices.DeleteFunc(slices.Clone(s.own.Keys()), func(k string) bool { return !s.offerings.machine(k) })
	few(s.own)
	for _, k := range slices.Clone(guilty) {
		less := slices.DeleteFunc(slices.Clone(guilty), func(x string) bool { return x == k })
		if few(s.own.Only(func(k string) bool { return slices.Contains(less, k) })) {
			guilty = less
		}
	}
	text = fmt.Sprintf("label %s: the pool wants at least %d distinct values to choose from, ", key, least)
	if len(guilty) == 0 {
		return key, text + fmt.Sprintf("all offerings have %d%s", n, s.offerings.offered(key))
	}
	var named []string
	for _, k := range guilty {
		named = append(named, requirement(s.own, k))
	}
	return key, text + fmt.Sprintf("%s of all offerings leaves %d", strings.Join(named, " and "), n)
}
