package explain

import (
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

func conflictText(s *problem.NodePool, k string, t require.Set) string {
	want, _ := t.Get(k)
	have, defined := s.Own.Get(k)
	switch {
	case k == model.LabelHostname:
		return fmt.Sprintf("label %s: a new node's name is not known yet, pod wants %s", k, want)
	case defined:
		return fmt.Sprintf("label %s: pool allows %s, pod wants %s", k, have, want)
	}
	return fmt.Sprintf("label %s: pool does not define it, pod wants %s", k, want)
}

// machineText names the first label that alone leaves no offering, or says that the combination does.
func machineText(s *problem.NodePool, t require.Set) string {
	for _, k := range t.Keys() {
		if !s.Offerings.Machine(k) {
			continue
		}
		want, _ := t.Get(k)
		have, defined := s.Own.Get(k)
		if s.Base.And(s.Offerings.Match(k, want.And(have))).First() < 0 {
			if defined {
				return fmt.Sprintf("label %s: pool allows %s, pod wants %s, which no offering has",
					k, have, want)
			}
			return fmt.Sprintf("label %s: no offering of the pool has what the pod wants: %s", k,
				want)
		}
	}
	return fmt.Sprintf("no offering of the pool has all that the pod wants: %s", t)
}

// sizeText names the resource of which even the roomiest offering has too little.
func sizeText(s *problem.NodePool, from bitset.Set, size vec.Vec) string {
	most := make(vec.Vec, len(size))
	from.Each(func(i int) {
		for j, v := range s.Room[i] {
			most[j] = max(most[j], v)
		}
	})
	for j, n := range s.Names {
		if size[j] > most[j] {
			if driver, ok := strings.CutPrefix(n, problem.AttachPrefix); ok {
				return fmt.Sprintf(
					"attaches %d volumes of %s but no offering can attach more than %d",
					size[j],
					driver,
					most[j],
				)
			}
			q := model.FormatQuantities(n, size[j], max(0, most[j]))
			return fmt.Sprintf("needs %s %s but the largest offering leaves %s beside its daemons",
				n, q[0], q[1])
		}
	}
	return fmt.Sprintf(
		"needs %s, and no single offering has that much of everything beside its daemons",
		s.Names.Resources(size),
	)
}

// maxNamed bounds how many offerings a text names.
const maxNamed = 3

func soldOutText(s *problem.NodePool, from bitset.Set) string {
	var names []string
	from.Each(func(i int) {
		if len(names) < maxNamed {
			name := s.Offerings.Items[i].Offering.Key().String()
			if why := s.Offerings.Items[i].Offering.Unavailable; why != "" {
				name += ": " + why
			}
			names = append(names, name)
		}
	})
	if n := from.Count() - len(names); n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return "everything that would fit is unavailable for now: " + strings.Join(names, "; ")
}

// limitText says which limit stands in the way of the smallest machine that would fit.
func limitText(s *problem.NodePool, from bitset.Set) string {
	if len(s.Limits) == 0 {
		return ""
	}
	for j, n := range s.Limits {
		least := int64(problem.Unlimited)
		from.Each(func(i int) { least = min(least, s.Cost[i][j]) })
		if least > s.Left[j] && problem.IsSupply(n) {
			return "of " + strings.TrimPrefix(n,
				problem.SupplyPrefix) + " the cloud keeps no more, or others hold them already"
		}
		if least > s.Left[j] {
			limit := s.Pool.Limits[n]
			q := model.FormatQuantities(n, limit, limit-s.Left[j], least)
			return fmt.Sprintf(
				"limits.%s %s: %s in use or planned, the smallest machine that fits adds %s",
				n,
				q[0],
				q[1],
				q[2],
			)
		}
	}
	return "the pool's limits together leave no machine that fits"
}

// unreached names the first volume of the class's pods that alone leaves nothing of the offerings, beside these alternatives of their own;
// "its volumes" when it takes more than one. Pods of one class are alike in where their volumes can be reached, and may have each its own.
func unreached(
	s *problem.NodePool,
	from bitset.Set,
	g *problem.PodClass,
	own []require.Set,
) (who string, terms []model.Term) {
	for _, v := range g.First().Volumes {
		if v.Terms == nil {
			continue
		}
		var with []require.Set
		for _, o := range own {
			for _, t := range v.Terms {
				with = append(with, o.And(require.New(t)))
			}
		}
		if s.Suiting(from, with).First() < 0 {
			if len(g.Pods) > 1 {
				return "a volume such as " + v.String(), v.Terms
			}
			return v.String(), v.Terms
		}
	}
	return "its volumes", nil
}
