package disrupt

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/model"
)

// Room is how many nodes of a pool may leave, and why no more.
type Room struct {
	Pool string
	// Nodes are the pool's nodes that budgets count, Leaving those of them that leave or are not
	// ready.
	Nodes, Leaving int
	// Left is how many more may begin to leave, by the reason as users write it.
	Left map[string]int
}

// Rooms says of every pool what its disruption budgets leave now, by name. O(claims).
func Rooms(w model.World, now time.Time) []Room {
	s := survey(Input{World: w, Now: now})
	var out []Room
	for _, p := range s.World.Pools {
		n := s.budgets.pool(p.Name)
		r := Room{Pool: p.Name, Nodes: n.total, Leaving: n.leaving, Left: map[string]int{}}
		for _, reason := range []string{budget.Empty, budget.Drifted, budget.Expired, budget.Underutilized} {
			r.Left[reason] = s.budgets.left(p, reason)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Room) int { return cmp.Compare(a.Pool, b.Pool) })
	return out
}
