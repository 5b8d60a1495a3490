package problem

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Barren says why a pool can never buy anything of a catalogue, sold out or not: its own requirements leave no offering, or, where minValues
// are a must, too few values of a label. Why is "" when they leave enough, and when the catalogue is empty: then nothing is known. The pools
// are all of the catalogue's class; one refusal for each, in their order. O(pools × keys² × offerings) at worst, in sets of bits.
func Barren(cat model.Catalog, pools []model.Pool, choice MinValues) []answer.Refusal {
	out := make([]answer.Refusal, len(pools))
	sh := offerings.New(cat)
	if len(sh.Items) == 0 {
		return out
	}
	for i, p := range pools {
		out[i] = newNodePool(sh, p).barren(choice)
	}
	return out
}

// barren is the refusal of a pool that can buy nothing of its offering index, ever; with Why "" when it can.
func (s *NodePool) barren(choice MinValues) answer.Refusal {
	out := answer.Refusal{Pool: s.Pool.Name}
	what := ""
	if s.Base.First() < 0 {
		out.Why, out.Detail = model.WhyRequirements, s.Offerings.Blame("the pool's", s.Own)
	} else if choice != BestEffort {
		if what, out.Detail = s.uniform(); what != "" {
			out.Why = model.WhyMinValues
		}
	}
	if out.Why != "" {
		out.Removed = []answer.Removed{
			{Why: out.Why, What: what, Offerings: len(s.Offerings.Items)},
		}
	}
	return out
}

// uniform names the first label of which all offerings that the pool's requirements leave have fewer values than its minValues ask for, and
// says who leaves so few: the catalogue, or as few of the requirements as do.
func (s *NodePool) uniform() (key, text string) {
	if key, _ = s.Lack(s.Base); key == "" {
		return "", ""
	}
	var least, n int
	few := func(q require.Set) bool {
		t := s.Variety()
		s.Offerings.Filter(s.Offerings.All, q).Each(t.Add)
		x := t.Keys[slices.IndexFunc(t.Keys, func(x numbered) bool { return x.Key == key })]
		if x.N >= x.least {
			return false
		}
		least, n = x.least, x.N
		return true
	}
	guilty := slices.DeleteFunc(slices.Clone(s.Own.Keys()), func(k string) bool {
		return !s.Offerings.Machine(k)
	})
	few(s.Own)
	for _, k := range slices.Clone(guilty) {
		less := slices.DeleteFunc(slices.Clone(guilty), func(x string) bool { return x == k })
		if few(s.Own.Only(func(k string) bool { return slices.Contains(less, k) })) {
			guilty = less
		}
	}
	text = fmt.Sprintf("label %s: the pool wants at least %d distinct values to choose from, ", key,
		least)
	if len(guilty) == 0 {
		return key, text + fmt.Sprintf("all offerings have %d%s", n, s.Offerings.Offered(key))
	}
	var named []string
	for _, k := range guilty {
		named = append(named, offerings.Requirement(s.Own, k))
	}
	return key, text + fmt.Sprintf("%s of all offerings leaves %d", strings.Join(named, " and "), n)
}
