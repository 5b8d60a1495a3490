package disrupt

import (
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/static"
	"github.com/karpenter-aks/karpenter/model"
)

// relieve replaces a node of a static pool with one of the pool's present template, whatever its pods ask
// for; or says why it stays. Until the old one goes the pool has one more than its replicas
// (Spares), which limits.nodes has to have room for. When the new one is there its pods must have a place,
// as with any move. O(claims + nodes), and once for a pool and decision place.Decide for one pod.
func (s *picture) relieve(x *candidate, why reason) reason {
	name := x.pool.Name
	b, keeps, detail := static.Another(s.World, *x.pool, s.rolling[name])
	if keeps != "" {
		return reason{why: keeps, detail: detail, after: budgetPoll}
	}
	s.rolling[name]++
	if s.ifs != nil {
		s.ifs.Close(x.node.Name)
	}
	s.begin(why, []*candidate{x}, place.Answer{}, []place.NewClaim{b})
	return reason{}
}

// Spares names the claims that were bought in place of others which are still there. O(claims).
func Spares(w model.World) map[string]bool {
	out := map[string]bool{}
	for i := range w.Claims {
		c := &w.Claims[i]
		r, _, ok := RecordOf(c)
		if !ok || c.Deleting() {
			continue
		}
		for _, name := range r.Replacements {
			out[name] = true
		}
	}
	return out
}
