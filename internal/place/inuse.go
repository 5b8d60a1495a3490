package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

// InUse is how much of a limit of the pool what is there and on its way takes, as decisions count it, in thousandths of a core, bytes or
// pieces: 0 when the pool may buy nothing, or has no such limit. O(nodes + claims + offerings).
func InUse(w model.World, pool, limit string) int64 {
	d := problem.Problem{World: w}
	d.Build(nil)
	for _, s := range d.Pools {
		i := slices.Index(s.Limits, limit)
		if s.Pool.Name == pool && i >= 0 {
			return s.Pool.Limits[limit] - s.Left[i]
		}
	}
	return 0
}
