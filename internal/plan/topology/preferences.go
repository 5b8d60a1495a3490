package topology

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// preference is one preference of a class, as the rule that it would be if it were required. Exactly one of the pointers is set, or picky.
type preference struct {
	Weight int32
	Node   *require.Set
	Spread *SpreadRule
	Avoid  *Term
	Toward *Term
	Picky  bool
}

// Weights of preferences that have none.
const (
	heavy = 100
	light = 50 // of taints that only discourage
)

// preferencesOf interns what the class preferences, heaviest first.
func (d *builder) preferencesOf(g *Class, p *model.Pod, soft func(c model.Spread) SpreadRule) {
	t := d.Topo
	for _, c := range p.Spread {
		if !c.Hard {
			r := soft(c)
			g.Preferences = append(g.Preferences, preference{Weight: heavy, Spread: &r})
		}
	}
	for _, x := range p.Prefers {
		w := preference{Weight: x.Weight}
		switch {
		case x.Pod == nil:
			s := require.New(x.Node)
			w.Node = &s
		case x.Anti:
			w.Avoid = t.Refused(*x.Pod)
			w.Avoid.used = true
		default:
			picker := []alike.PodSelector{alike.PodSelectorOf(*x.Pod)}
			w.Toward = t.Intern(t.Key(x.Pod.Key), picker, "near")
			w.Toward.used, w.Toward.Near = true, true
		}
		g.Preferences = append(g.Preferences, w)
	}
	g.Preferences = append(g.Preferences, preference{Weight: light, Picky: true})
	slices.SortStableFunc(g.Preferences, func(a, b preference) int {
		return cmp.Compare(b.Weight, a.Weight)
	})
}
