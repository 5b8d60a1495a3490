package place

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
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
		out[i] = sh.seller(p).barren(choice)
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

// blame names the requirements of a set that leave no offering: one that does so alone, else two that do so together, else as few as do.
func (s *offeringIndex) blame(whose string, q require.Set) string {
	if k := q.Impossible(); k != "" {
		return fmt.Sprintf("%s requirements on label %s exclude each other", whose, k)
	}
	keys := slices.DeleteFunc(slices.Clone(q.Keys()), func(k string) bool { return !s.machine(k) })
	match := make([]bitset.Set, len(keys))
	for i, k := range keys {
		v, _ := q.Get(k)
		if match[i] = s.match(k, v); match[i].First() < 0 {
			return fmt.Sprintf("%s requirement %s excludes every offering%s", whose, requirement(q, k), s.offered(k))
		}
	}
	for i := range keys {
		for j := range i {
			if match[i].And(match[j]).First() < 0 {
				return fmt.Sprintf("%s requirements %s and %s exclude every offering together", whose, requirement(q, keys[j]), requirement(q, keys[i]))
			}
		}
	}
	// Whatever can be left out, and nothing is left all the same, is not to blame.
	guilty := slices.Clone(keys)
	for _, k := range keys {
		less := slices.DeleteFunc(slices.Clone(guilty), func(x string) bool { return x == k })
		if s.filter(s.all, q.Only(func(x string) bool { return slices.Contains(less, x) })).First() < 0 {
			guilty = less
		}
	}
	return fmt.Sprintf("%s requirements exclude every offering together: %s", whose, q.Only(func(k string) bool { return slices.Contains(guilty, k) }))
}

// saidValues bounds how many values of a requirement, or of what is on offer, are named.
const saidValues = 6

func requirement(q require.Set, key string) string {
	v, _ := q.Get(key)
	if list, listed := v.Listed(); listed && len(list) > saidValues {
		return fmt.Sprintf("%s In [%s and %d more]", key, strings.Join(list[:saidValues], " "), len(list)-saidValues)
	}
	return q.Only(func(k string) bool { return k == key }).String()
}

// offered says which values of a label machines have, where they are few.
func (s *offeringIndex) offered(key string) string {
	c := s.keys[key]
	if c == nil || len(c.values) == 0 || len(c.values) > saidValues {
		return ""
	}
	return fmt.Sprintf("; on offer: %s", strings.Join(c.values, ", "))
}

// parties says who of a pod's asks what of a label.
func parties(p *model.Pod, key string) string {
	var out []string
	add := func(who string, q require.Set) {
		if _, asked := q.Get(key); asked {
			out = append(out, who+" "+requirement(q, key))
		}
	}
	add("its node selector", require.Labels(p.NodeSelector))
	for _, t := range p.Affinity {
		add("its node affinity", require.New(t))
	}
	for _, v := range p.Volumes {
		for _, t := range v.Terms {
			add("its volume (such as "+v.String()+")", require.New(t)) // of pods that are alike in this, each may have its own
		}
	}
	if most := len(out); most > saidValues {
		out = append(out[:saidValues:saidValues], fmt.Sprintf("%d more", most-saidValues))
	}
	return strings.Join(out, ", ")
}

// unreached names the first volume of the group's pods that alone leaves nothing of the offerings, beside these alternatives of their own;
// "its volumes" when it takes more than one. Pods of one group are alike in where their volumes can be reached, and may have each its own.
func (s *nodePool) unreached(from bitset.Set, g *podClass, own []require.Set) (who string, terms []model.Term) {
	for _, v := range g.first().Volumes {
		if v.Terms == nil {
			continue
		}
		var with []require.Set
		for _, o := range own {
			for _, t := range v.Terms {
				with = append(with, o.And(require.New(t)))
			}
		}
		if s.suiting(from, with).First() < 0 {
			if len(g.pods) > 1 {
				return "a volume such as " + v.String(), v.Terms
			}
			return v.String(), v.Terms
		}
	}
	return "its volumes", nil
}
