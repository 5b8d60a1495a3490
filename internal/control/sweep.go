package control

import (
	"context"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/observe"
)

// sweepEvery is how often orphans are looked for on the cloud's side beyond its list of machines.
const sweepEvery = 2 * time.Minute

// sweep takes away what belongs to nobody: machines without a claim, nodes without a machine or a claim, and what older
// versions or failed deletions left behind at the cloud. Tokens of lost claims expire by themselves.
func (c *Controller) sweep(ctx context.Context) time.Duration {
	w := c.World.Snapshot()
	next := sweepEvery
	orphans := lifecycle.Orphans(w, c.World.ListedAt(), c.Now(), c.Settings.OrphanAge)
	for _, m := range orphans.Machines {
		next = sooner(next, c.others.start(ctx, "machine/"+m.Name, func(ctx context.Context) error {
			c.Observe.Orphan("instance", m.Name)
			if err := c.Market.Terminate(ctx, m.ID); err != nil && cloud.CodeOf(err) != cloud.NotFound {
				return &later{after: retryAfter(err), err: err}
			}
			return nil
		}))
	}
	for _, n := range orphans.Nodes {
		next = sooner(next, c.others.start(ctx, "node/"+n.Name, func(ctx context.Context) error {
			c.Observe.Orphan("node", n.Name)
			if n.Deleting() {
				return ignore(c.Store.PatchNode(ctx, n.Name, kube.NodePatch{UID: n.UID, DropFinalizer: true}), kube.NotFound)
			}
			return ignore(c.Store.DeleteNode(ctx, n.Name), kube.NotFound)
		}))
	}
	return sooner(next, c.others.start(ctx, "sweep", c.sweepRest))
}

func (c *Controller) sweepRest(ctx context.Context) error {
	if c.Sweeper == nil {
		return &later{after: sweepEvery, err: errFresh}
	}
	asked := c.Now()
	strays, err := c.Sweeper.Strays(ctx)
	c.Observe.Called(observe.CallStrays, c.Now().Sub(asked), err)
	if err != nil {
		return &later{after: max(retryAfter(err), sweepEvery), err: err}
	}
	for _, s := range c.ripe(strays) {
		c.Observe.Orphan(s.Kind, s.ID)
		if err := c.Sweeper.RemoveStray(ctx, s); err != nil && cloud.CodeOf(err) != cloud.NotFound {
			return &later{after: max(retryAfter(err), sweepEvery), err: err}
		}
	}
	return &later{after: sweepEvery, err: errFresh}
}

// ripe returns the strays that have been there for as long as orphans must be. A cloud's index may lag, so that what
// looks like a stray belongs to a machine that is being made: one look is not believed. What is remembered is lost on
// restart, which only delays the sweeping.
func (c *Controller) ripe(strays []cloud.Stray) []cloud.Stray {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	first := make(map[string]time.Time, len(strays))
	var out []cloud.Stray
	for _, s := range strays {
		since, known := c.strays[s.ID]
		if !known {
			since = now
		}
		first[s.ID] = since
		if now.Sub(since) >= c.Settings.OrphanAge {
			out = append(out, s)
		}
	}
	c.strays = first
	return out
}
