package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/model"
)

// Nodes that expire are replaced before, in the last tenth of their life, or so much earlier that all
// nodes of their pool can go one budget after the other, at one budget in ten minutes; never in the
// first half of their life. By force they go at the end of it, whatever their pods ask for
// (lifecycle).
const (
	expireAheadShare = 10
	budgetRound      = 10 * time.Minute
)

// end is when the claim expires; false when it never does.
func (x *candidate) end() (time.Time, bool) {
	if x.claim.ExpireAfter == nil {
		return time.Time{}, false
	}
	return x.claim.Created.Add(*x.claim.ExpireAfter), true
}

// expires reports whether the node's life is so near its end that it is to be replaced.
func (s *picture) expires(x *candidate) bool {
	begin, ok := s.lastPart(x)
	return ok && !begin.After(s.Now)
}

// lastPart is from when on the node is to be replaced because of its age; false when never.
func (s *picture) lastPart(x *candidate) (begin time.Time, ok bool) {
	end, ok := x.end()
	if !ok || x.pool == nil || x.leaves() {
		return time.Time{}, false
	}
	life := *x.claim.ExpireAfter
	ahead := life / expireAheadShare
	total := s.budgets.pool(x.pool.Name).total
	allowed := s.budgets.most(x.pool, budget.Expired)
	if allowed > 0 {
		ahead = max(ahead, time.Duration((total+allowed-1)/allowed)*budgetRound)
	}
	return end.Add(-min(ahead, life/2)), true
}

// expiring decides about nodes that are soon too old, oldest first, and returns the others. Budgets,
// disruption budgets of pods and do-not-disrupt hold until they are.
func (s *picture) expiring(list []*candidate) (others []*candidate) {
	var old []*candidate
	for _, x := range s.candidates {
		begin, ok := s.lastPart(x)
		left := begin.Sub(s.Now)
		if ok && left > 0 && (s.out.Ages == 0 || left < s.out.Ages) {
			s.out.Ages = left
		}
	}
	for _, x := range list {
		if !s.expires(x) {
			others = append(others, x)
			continue
		}
		held := s.paused(x, budget.Expired)
		if held.why == "" {
			old = append(old, x)
			continue
		}
		x.keeps = held
		others = append(others, x)
	}
	slices.SortFunc(old, func(a, b *candidate) int {
		first, _ := a.end()
		second, _ := b.end()
		return cmp.Or(first.Compare(second), cmp.Compare(a.claim.Name, b.claim.Name))
	})
	for _, x := range old {
		end, _ := x.end()
		r := s.movable(x)
		if r.why == "" {
			r = s.pods(x)
		}
		if r.why == "" {
			r = s.within(x, budget.Expired)
		}
		if r.why == "" {
			r = s.replace(x, reason{why: model.WhyExpired, detail: fmt.Sprintf(
				"it expires at %s", end.UTC().Format(time.RFC3339))})
		}
		if r.why != "" {
			s.keep(x, r)
		}
	}
	return others
}
