package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// preference is one preference of a group, as the rule that it would be if it were required. Exactly one of the pointers is set, or picky.
type preference struct {
	weight int32
	node   *require.Set
	spread *spreadRule
	avoid  *term
	toward *term
	picky  bool
}

// Weights of preferences that have none.
const (
	heavy = 100
	light = 50 // of taints that only discourage
)

// preferencesOf interns what the group preferences, heaviest first.
func (d *builder) preferencesOf(g *tiedClass, p *model.Pod, soft func(c model.Spread) spreadRule) {
	t := d.topo
	for _, c := range p.Spread {
		if !c.Hard {
			r := soft(c)
			g.preferences = append(g.preferences, preference{weight: heavy, spread: &r})
		}
	}
	for _, x := range p.Prefers {
		w := preference{weight: x.Weight}
		switch {
		case x.Pod == nil:
			s := require.New(x.Node)
			w.node = &s
		case x.Anti:
			w.avoid = t.intern(t.key(x.Pod.Key), []podSelector{podSelectorOf(*x.Pod)}, "pods")
			w.avoid.used = true
		default:
			w.toward = t.intern(t.key(x.Pod.Key), []podSelector{podSelectorOf(*x.Pod)}, "near")
			w.toward.used, w.toward.near = true, true
		}
		g.preferences = append(g.preferences, w)
	}
	g.preferences = append(g.preferences, preference{weight: light, picky: true})
	slices.SortStableFunc(g.preferences, func(a, b preference) int { return cmp.Compare(b.weight, a.weight) })
}
