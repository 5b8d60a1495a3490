package disrupt

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/drift"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// openAfter is after how many replacements in a row that did not come drift of a pool is paused.
	openAfter = 3
	// Until then the pool waits a little after each.
	driftBase = 2 * time.Minute
	// A pause lasts twice as long each time that the node that is tried fails again.
	openBase = 15 * time.Minute
	openTop  = 4 * time.Hour
	// forgotten is when a failure does not count any more.
	forgotten = 24 * time.Hour
)

// Brake is what failed replacements of drifted nodes do to their pool.
//
//	free ──replacement lost──▶ waits, then one node at a time ──three in a row──▶ paused ──time──▶ one node
//	  ▲                                   │                                         ▲                │
//	  └────────a replacement is initialized───────────────────────────────────────┼─ok─────────────┘
//	                                                                                └─lost, twice as long
type Brake struct {
	// Failures is how many replacements in a row did not come. With any only one node at a time leaves.
	Failures int
	// Last is when the last did not; until Until no drifted node of the pool begins to leave.
	Last, Until time.Time
}

// Open reports whether drift is paused by failures, or was and is only tried.
func (b Brake) Open() bool { return b.Failures >= openAfter }

// Brakes says what failed replacements do to pools, by name; those without are not in it. All of it
// is read from claims, so that a restart forgets nothing. O(claims).
func Brakes(w *model.World, now time.Time) map[string]Brake {
	came := map[string]time.Time{} // by pool: when a replacement was initialized last
	for i := range w.Claims {
		c := &w.Claims[i]
		x, ok := model.FindCondition(c.Conditions, model.Initialized)
		pool := c.Annotations[model.AnnotationReplacesDrifted]
		if pool != "" && ok && x.Status == model.True && x.Since.After(came[pool]) {
			came[pool] = x.Since
		}
	}
	out, rounds := map[string]Brake{}, map[string]int{}
	for i := range w.Claims {
		c := &w.Claims[i]
		n, at := failures(c)
		if n == 0 || c.Deleting() || !at.After(came[c.Pool]) || now.Sub(at) > forgotten {
			continue
		}
		b := out[c.Pool]
		b.Failures += n
		if at.After(b.Last) {
			b.Last = at
		}
		rounds[c.Pool] = max(rounds[c.Pool], n)
		out[c.Pool] = b
	}
	for pool, b := range out {
		b.Until = b.Last.Add(driftBase << min(b.Failures-1, openAfter))
		if b.Open() {
			again := min(rounds[pool]-1, b.Failures-openAfter, 10) // how often it was tried in vain
			b.Until = b.Last.Add(min(openBase<<again, openTop))
		}
		out[pool] = b
	}
	return out
}

// failures reads how many replacements of the claim in a row did not come, and when the last did not.
func failures(c *model.Claim) (int, time.Time) {
	count, when, _ := strings.Cut(c.Annotations[model.AnnotationDriftFailed], " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > 1000 {
		return 0, time.Time{}
	}
	at, err := time.Parse(time.RFC3339, when)
	if err != nil {
		return 0, time.Time{}
	}
	return n, at
}

// DriftFailed is what to write on a claim in annotation model.AnnotationDriftFailed when what was to
// replace it for drift did not come.
func DriftFailed(w *model.World, c *model.Claim, now time.Time) string {
	n, at := failures(c)
	b, counts := Brakes(w, now)[c.Pool]
	if !counts || at.After(b.Last) || now.Sub(at) > forgotten {
		n = 0 // replacements have come since
	}
	return strconv.Itoa(n+1) + " " + now.UTC().Format(time.RFC3339)
}

// rollout is how far a pool is with the replacement of its drifted nodes.
type rollout struct {
	brake Brake
	// moving are moves of drifted nodes that were begun, proven new nodes that have been healthy for
	// long enough, young the other new ones; soon is when the next of these is proven.
	moving, proven, young int
	soon                  time.Time
}

// rollout returns that of the node's pool. All are made at once when the first is asked for.
func (s *picture) rollout(x *candidate) *rollout {
	if s.rollouts == nil {
		s.rollouts = map[string]*rollout{}
		brakes := Brakes(&s.World, s.Now)
		first := map[string]time.Time{} // when the first node that is there drifted
		for _, y := range s.candidates {
			c, ok := model.FindCondition(y.claim.Conditions, model.Drifted)
			if y.pool == nil || !ok || c.Status != model.True {
				continue
			}
			at, known := first[y.pool.Name]
			if !known || c.Since.Before(at) {
				first[y.pool.Name] = c.Since
			}
		}
		want := map[string]drift.Wanted{}
		for _, y := range s.candidates {
			if y.pool == nil {
				continue
			}
			p := y.pool.Name
			r := s.rollouts[p]
			if r == nil {
				r = &rollout{brake: brakes[p]}
				s.rollouts[p] = r
				want[p] = s.wanted(y.pool)
			}
			at, drifts := first[p]
			switch {
			case y.moves && y.record.Why == model.WhyDrifted && !y.leaves():
				r.moving++
			case drifts && y.claim.Created.After(at) && want[p].Of(y.claim, y.node).Reason == "":
				s.prove(r, y)
			}
		}
	}
	return s.rollouts[x.pool.Name]
}

// wanted is what nodes of the pool should be.
func (s *picture) wanted(p *model.Pool) drift.Wanted {
	var class *model.Class
	for i := range s.World.Classes {
		if s.World.Classes[i].Ref == p.Class {
			class = &s.World.Classes[i]
		}
	}
	return drift.Want(p, class, s.World.Catalog(p.Name, p.Class), s.KubeletIdentity)
}

// prove counts a new node: one that came after the pool's nodes began to drift, and is what is asked for.
func (s *picture) prove(r *rollout, x *candidate) {
	if x.leaves() || x.marked() || x.node.Name == "" || !x.claim.Is(model.Initialized) ||
		x.claim.Is(model.Drifted) {
		return
	}
	init, _ := model.FindCondition(x.claim.Conditions, model.Initialized)
	since := init.Since
	if x.node.ReadySince.After(since) {
		since = x.node.ReadySince
	}
	end := since.Add(s.pauseOf(x).Rollout.Soak)
	switch {
	case x.node.Ready != model.True:
		r.young++
	case end.After(s.Now):
		r.young++
		if r.soon.IsZero() || end.Before(r.soon) {
			r.soon = end
		}
	default:
		r.proven++
	}
}

// tooYoung says that the node is not old enough to be replaced for drift.
func (s *picture) tooYoung(x *candidate) reason {
	least := s.pauseOf(x).Rollout.MinAge
	left := x.claim.Created.Add(least).Sub(s.Now)
	if least <= 0 || left <= 0 {
		return reason{}
	}
	return reason{model.WhyTooYoung, fmt.Sprintf(
		"NodePool %s replaces drifted nodes that are %s old", x.pool.Name, least), left}
}

// turns is how many drifted nodes of the node's pool may begin to leave now, budgets aside.
func (s *picture) turns(x *candidate) int {
	r := s.rollout(x)
	if s.inTurn(x).why != "" {
		return 0
	}
	first := budget.Count(s.pauseOf(x).Rollout.Canary, s.budgets.pool(x.pool.Name).total)
	switch {
	case r.brake.Failures > 0:
		return 1
	case r.proven < first:
		return first - r.proven - r.young - r.moving
	}
	return budget.Unlimited
}

// inTurn says why a drifted node has to wait for others of its pool.
func (s *picture) inTurn(x *candidate) reason {
	r := s.rollout(x)
	b := r.brake
	switch {
	case b.Until.After(s.Now):
		return reason{model.WhyHeldBack, fmt.Sprintf(
			"%s of drifted nodes of NodePool %s in a row did not come",
			model.Count(b.Failures, "replacement"), x.pool.Name), b.Until.Sub(s.Now)}
	case b.Failures > 0 && r.moving > 0:
		return reason{why: model.WhyHeldBack, detail: "after replacements that did not come drifted nodes of NodePool " +
			x.pool.Name + " leave one at a time, until one has come"}
	}
	rules := s.pauseOf(x).Rollout
	first := budget.Count(rules.Canary, s.budgets.pool(x.pool.Name).total)
	if r.proven >= first || r.proven+r.young+r.moving < first {
		return reason{}
	}
	var after time.Duration
	if !r.soon.IsZero() {
		after = r.soon.Sub(s.Now)
	}
	return reason{model.WhyCanary, fmt.Sprintf(
		"%d new nodes of NodePool %s have been healthy for %s, and %d are to be before others are replaced",
		r.proven, x.pool.Name, rules.Soak, first), after}
}
