package control

import (
	"context"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// draining asks drain.Next for every managed node that someone deleted, and does what it says: taint, evict, wait, and
// at last let the node go. The machine itself is the claim's business (keeper).
func (c *Controller) draining(ctx context.Context) time.Duration {
	w := c.World.Snapshot()
	var next time.Duration
	for i := range w.Nodes {
		if n := &w.Nodes[i]; !n.Deleting() || !hasFinalizer(n.Finalizers) {
			continue
		}
		n := w.Nodes[i]
		v := drain.Look(w, n, c.Now())
		v.InstanceGone = c.instanceGone(w, n)
		var step drain.Step
		if wait, ok := c.safely(&c.drains, n.Name, w, func() { step = drain.Next(v) }); !ok {
			next = sooner(next, wait)
			continue
		}
		next = sooner(next, step.After)
		if !step.Prepare && len(step.Remove) == 0 && !(step.Drained && step.Detached) && len(c.drainConditions(v, step)) == 0 {
			c.Observe.Draining(n, step)
			continue
		}
		next = sooner(next, c.drains.start(ctx, n.Name, func(ctx context.Context) error { return c.drainStep(ctx, v, step) }))
	}
	return next
}

// drainers leaves pods out of what changed unless somebody deleted a node.
func (c *Controller) drainers(what world.About) world.About {
	if what&world.Pods == 0 {
		return what
	}
	type key struct{}
	w := c.World.Last() // had nodes changed since, they would be among what changed
	if w.Index.Memo(key{}, func() any { return slices.ContainsFunc(w.Nodes, model.Node.Deleting) }).(bool) {
		return what
	}
	return what &^ world.Pods
}

// instanceGone reports whether the cloud no longer knows the node's machine: a list or a look younger than the node's
// deletion does not show it.
func (c *Controller) instanceGone(w model.World, n model.Node) bool {
	if !c.World.SeenAt(n.ProviderID).After(n.DeletedAt) {
		return false
	}
	for i := range w.Instances {
		if w.Instances[i].ID == n.ProviderID {
			return false
		}
	}
	return true
}

func (c *Controller) drainConditions(v drain.View, s drain.Step) []model.Condition {
	if v.Claim == nil {
		return nil
	}
	return model.Changed(v.Claim.Conditions, drain.Conditions(v, s), v.Now)
}

func (c *Controller) drainStep(ctx context.Context, v drain.View, s drain.Step) error {
	n := v.Node
	if s.Prepare {
		if err := c.Store.PatchNode(ctx, n.Name, kube.NodePatch{UID: n.UID, AddTaints: []model.Taint{drain.Taint()},
			Labels: map[string]string{model.LabelExcludeLB: "karpenter"}}); err != nil {
			return ignore(err, kube.NotFound)
		}
		c.Mark(PointNodeTainted)
		return nil
	}
	if conds := c.drainConditions(v, s); len(conds) > 0 {
		if err := c.patchClaim(ctx, v.Claim.Name, kube.ClaimPatch{UID: v.Claim.UID, Conditions: conds}); err != nil {
			return err
		}
	}
	if v.Claim == nil && s.Drained || model.IsTrue(c.drainConditions(v, s), model.Drained) {
		c.Observe.NodeDrained(n)
	}
	for _, r := range s.Remove {
		err := c.Store.RemovePod(ctx, kube.Removal{Pod: r.Pod, UID: r.UID, Force: r.Force, GraceSeconds: r.GraceSeconds})
		c.Observe.PodRemoved(n, r, err)
		switch kube.CodeOf(err) {
		case "", kube.NotFound, kube.Conflict:
			c.Mark(PointPodRemoved)
		case kube.Blocked:
			// A budget forbids it now; the other pods of the group may still go.
		default:
			return err
		}
	}
	if s.Drained && s.Detached {
		err := ignore(c.Store.PatchNode(ctx, n.Name, kube.NodePatch{UID: n.UID, DropFinalizer: true}), kube.NotFound)
		if err == nil {
			c.Observe.NodeReleased(n, c.Now())
		}
		return err
	}
	return nil
}

func hasFinalizer(list []string) bool {
	for _, f := range list {
		if f == model.Finalizer {
			return true
		}
	}
	return false
}
