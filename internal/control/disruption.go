package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// disruption asks disrupt.Decide which nodes may leave: it marks those chosen, deletes the claims of those that carry the
// mark and are still right, and takes the mark away from the others. The mark is in the cluster, so a restart carries on.
func (c *Controller) disruption(ctx context.Context) time.Duration {
	d, wait, ok := c.decideDisruption()
	if !ok {
		return wait
	}
	c.Observe.Kept(d.Kept)
	next := d.After
	for _, m := range d.Moves {
		for i, name := range m.Claims {
			node := m.Nodes[i]
			step := func(ctx context.Context) error {
				return ignore(c.Store.PatchNode(ctx, node, kube.NodePatch{AddTaints: []model.Taint{drain.Taint()}}), kube.NotFound)
			}
			if m.Marked {
				step = func(ctx context.Context) error { return c.leave(ctx, name, m) }
			}
			next = sooner(next, c.claims.start(ctx, name, step))
		}
	}
	for _, node := range d.Unmark {
		next = sooner(next, c.drains.start(ctx, node, func(ctx context.Context) error {
			return ignore(c.Store.PatchNode(ctx, node, kube.NodePatch{DropTaints: []string{model.TaintDisrupted}}), kube.NotFound)
		}))
	}
	return next
}

// leave deletes the claim of a marked node, after one more look: the mark is as old as the last pass.
func (c *Controller) leave(ctx context.Context, claim string, m disrupt.Move) error {
	d, wait, ok := c.decideDisruption()
	if !ok {
		return &later{after: wait, err: errors.New("whether the node may still leave is not known: what decides it panicked")}
	}
	still := slices.ContainsFunc(d.Moves, func(n disrupt.Move) bool { return n.Marked && slices.Contains(n.Claims, claim) })
	if !still {
		return nil
	}
	c.Mark(PointEmptyFound)
	c.Observe.Disrupted(claim, m)
	return ignore(c.Store.DeleteClaim(ctx, claim), kube.NotFound)
}

// decideDisruption reports false, and when to ask again, when there is no decision.
func (c *Controller) decideDisruption() (d disrupt.Decision, wait time.Duration, ok bool) {
	w := c.World.Snapshot()
	now, awaited := c.Now(), time.Duration(0)
	wait, ok = c.safely(&c.others, "disrupt/nodes", w, func() {
		d = disrupt.Decide(disrupt.Input{World: w, Now: now, Expected: func() (nodes map[string]bool) {
			nodes, awaited = c.awaited.with(now, w.Claims, place.Expected(w))
			return nodes
		}})
	})
	d.After = sooner(d.After, awaited)
	return d, wait, ok
}
