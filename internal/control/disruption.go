package control

import (
	"context"
	"maps"
	"time"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/kube"
)

// disruption asks disrupt.Decide which nodes may leave, and deletes their claims. The picture is taken anew right before
// each deletion, because a pod may have been bound since.
func (c *Controller) disruption(ctx context.Context) time.Duration {
	d := c.decideDisruption()
	c.Observe.Kept(d.Kept)
	next := d.After
	for _, m := range d.Moves {
		for _, name := range m.Claims {
			wait := c.claims.start(ctx, name, func(ctx context.Context) error {
				if !stillMoves(c.decideDisruption(), name) {
					return nil
				}
				c.Mark(PointEmptyFound)
				c.Observe.Disrupted(name, m)
				return ignore(c.Store.DeleteClaim(ctx, name), kube.NotFound)
			})
			next = sooner(next, wait)
		}
	}
	return next
}

func (c *Controller) decideDisruption() disrupt.Decision {
	c.mu.Lock()
	nominated := maps.Clone(c.nominated)
	c.mu.Unlock()
	return disrupt.Decide(disrupt.Input{World: c.World.Snapshot(), Now: c.Now(), Nominated: nominated})
}

func stillMoves(d disrupt.Decision, claim string) bool {
	for _, m := range d.Moves {
		for _, name := range m.Claims {
			if name == claim {
				return true
			}
		}
	}
	return false
}
