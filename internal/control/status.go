package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/ready"
	"github.com/karpenter-aks/karpenter/model"
)

// classEvery is how often a class that is right is inspected again: images and subnets change behind our back.
const classEvery = 5 * time.Minute

// classRetry is how often one that is not right is.
const classRetry = 15 * time.Second

// classes keeps the status of every class, and its finalizer, up to date.
func (c *Controller) classes(ctx context.Context) time.Duration {
	w := c.World.Snapshot()
	var next time.Duration
	for i := range w.Classes {
		class := w.Classes[i]
		users := claimsOf(w, class.Ref)
		// UID, generation and pin are part of the key: an edit, or a new class of an old name, is looked at at once, not when the
		// old status would be due. So is one that is to go when its last claim is gone.
		held := class.Deleting && len(users) > 0
		key := fmt.Sprintf("class/%s/%s/%d/%t/%t/%s", class.Ref, class.UID, class.Generation, class.Deleting, held, class.Annotations[model.AnnotationPinImages])
		next = sooner(next, c.others.start(ctx, key, func(ctx context.Context) error {
			if class.Deleting {
				return c.releaseClass(ctx, class, users)
			}
			return c.inspectClass(ctx, class)
		}))
	}
	return next
}

func claimsOf(w model.World, ref model.ClassRef) []string {
	var out []string
	for i := range w.Claims {
		if w.Claims[i].Class == ref {
			out = append(out, w.Claims[i].Name)
		}
	}
	return out
}

func (c *Controller) releaseClass(ctx context.Context, class model.Class, users []string) error {
	if !slices.Contains(class.Finalizers, model.ClassFinalizer) {
		return nil
	}
	if len(users) > 0 {
		c.Observe.ClassWaits(class, users)
		return &later{after: classRetry, err: fmt.Errorf("%s: %d claims still use it", class.Ref, len(users))}
	}
	return c.kept("class/"+class.Ref.String(), "", class, c.Store.PatchClass(ctx, class.Ref, kube.ClassPatch{DropFinalizer: true}))
}

func (c *Controller) inspectClass(ctx context.Context, class model.Class) error {
	if class.Unreadable != "" {
		p := kube.ClassPatch{Conditions: model.Changed(class.Conditions, ready.Class(class, []model.Condition{unreadable(class)}), c.Now())}
		if len(p.Conditions) > 0 {
			return c.putClass(ctx, class, p)
		}
		return &later{after: classRetry, err: errFresh}
	}
	cluster, err := c.Store.Cluster(ctx)
	if err != nil {
		return err
	}
	asked := c.Now()
	report, err := c.Market.Inspect(ctx, class, cluster.Version)
	c.Observe.Called(observe.CallInspect, c.Now().Sub(asked), err)
	if model.IsFalse(report.Conditions, model.ImagesReady) {
		c.Observe.NoImages(class)
	}
	if err != nil {
		c.Log.Error(err, "could not ask the cloud about a class; its status stays as it is", "class", class.Ref.String())
		report = unreachable(class, err)
	}
	window, unreadable, err := c.window(ctx)
	if err != nil {
		return err
	}
	stay, why := ready.Window(window, unreadable, c.Now())
	for i := range report.Conditions {
		if x := &report.Conditions[i]; x.Type == model.ImagesReady && x.Status == model.True {
			x.Message = why
		}
	}
	p := kube.ClassPatch{
		Conditions:        model.Changed(class.Conditions, ready.Class(class, report.Conditions), c.Now()),
		AddFinalizer:      !slices.Contains(class.Finalizers, model.ClassFinalizer),
		Images:            ready.Images(class, report.Images, report.KubernetesVersion, stay),
		KubernetesVersion: report.KubernetesVersion,
		Annotations:       ready.ClassAnnotations(class),
	}
	if slices.EqualFunc(p.Images, class.Images, sameImage) {
		p.Images = nil
	}
	if p.KubernetesVersion == class.KubernetesVersion {
		p.KubernetesVersion = ""
	}
	if len(p.Conditions)+len(p.Images)+len(p.Annotations) > 0 || p.AddFinalizer || p.KubernetesVersion != "" {
		if err := c.putClass(ctx, class, p); err != nil {
			return err
		}
	}
	after := classEvery
	if left := window.Opens.Sub(c.Now()); left > 0 {
		after = min(after, left)
	}
	for _, x := range report.Conditions {
		if x.Status != model.True {
			after = classRetry
		}
	}
	return &later{after: after, err: errFresh}
}

// window asks for the maintenance window that AKS announces. Where we may not read it, it is as if there were none.
func (c *Controller) window(ctx context.Context) (w model.MaintenanceWindow, unreadable string, err error) {
	w, err = c.Store.MaintenanceWindow(ctx)
	switch kube.CodeOf(err) {
	case kube.Invalid:
		return w, err.Error(), nil
	case kube.Denied:
		c.Log.Error(err, "node images are taken as they come, whatever maintenance window AKS announces")
		return w, "", nil
	}
	return w, "", err
}

// putClass writes a class' status, unless the very same was not kept a while ago.
func (c *Controller) putClass(ctx context.Context, class model.Class, p kube.ClassPatch) error {
	bare := p
	bare.Conditions = nil
	key, what := "class/"+class.Ref.String(), digest(p.Conditions, bare)
	if c.pruned.rest(key, what, c.Now()) > 0 {
		return nil
	}
	return c.kept(key, what, class, c.Store.PatchClass(ctx, class.Ref, p))
}

// unreachable keeps what is known about a class that was ready; one never inspected is Unknown, with the reason.
func unreachable(class model.Class, err error) cloud.Report {
	r := cloud.Report{Images: class.Images, KubernetesVersion: class.KubernetesVersion}
	for _, x := range class.Conditions {
		if x.Type != model.Ready && x.ObservedGeneration == class.Generation {
			r.Conditions = append(r.Conditions, x)
		}
	}
	if len(r.Conditions) == 0 {
		r.Conditions = []model.Condition{{Type: model.ValidationSucceeded, Status: model.Unknown, Reason: "CloudUnreachable", Message: err.Error()}}
	}
	return r
}

func sameImage(a, b model.Image) bool {
	return a.ID == b.ID && len(a.Requirements) == len(b.Requirements)
}

// pools keeps the status of every pool up to date: what its nodes add up to, whether it may buy, its drift hash.
func (c *Controller) pools(ctx context.Context) time.Duration {
	w := c.World.Snapshot()
	barren := c.barren.of(w, c.Settings.MinValues)
	brakes := disrupt.Brakes(&w, c.Now())
	c.Observe.Paused(&w, brakes)
	c.joins.keep(w.Pools)
	var next time.Duration
	for i := range w.Pools {
		pool := w.Pools[i]
		if pool.Deleting {
			next = sooner(next, c.emptyPool(ctx, w, pool))
			continue
		}
		class := classOf(w, pool.Class)
		sum, nodes := ready.Usage(w, pool.Name)
		want := append(ready.Pool(pool, class, barren[pool.Name]), ready.Features(pool, w.Unserved)...)
		want = append(want, ready.Disruption(pool)...)
		want = append(want, ready.Paused(pool, w.PauseOf(&pool), brakeText(brakes[pool.Name]))...)
		joined, anew := c.joins.condition(pool, class, c.Now())
		want = append(want, joined)
		p := kube.PoolPatch{Conditions: model.Changed(pool.Conditions, want, c.Now()), Annotations: ready.PoolAnnotations(pool)}
		if nodes != pool.StatusNodes {
			p.Nodes = &nodes
		}
		if !ready.SameUsage(sum, pool.StatusResources) {
			p.Resources = &sum
		}
		c.Observe.PoolSeen(pool)
		if len(p.Conditions)+len(p.Annotations) == 0 && p.Nodes == nil && p.Resources == nil && !anew {
			continue
		}
		if class != nil {
			p.ClassGeneration = class.Generation
		}
		bare := p
		bare.Conditions = nil
		next = sooner(next, c.put(ctx, "pool/"+pool.Name, pool, p.Conditions, bare, func(ctx context.Context) error {
			if model.IsFalse(p.Conditions, model.InstanceTypesFound) {
				c.Observe.Barren(pool, barren[pool.Name])
			}
			if x, ok := model.FindCondition(p.Conditions, model.NodeClassReady); ok && x.Status == model.False && (class == nil || class.Deleting) {
				c.Observe.NoClass(pool, x.Message)
			}
			if held, ok := model.FindCondition(p.Conditions, model.Paused); ok {
				c.Observe.PauseChanged(pool, held)
			}
			return c.Store.PatchPool(ctx, pool.Name, p)
		}))
	}
	return next
}

// brakeText says that drift is paused by failures, "" when it is not. It is the same until another fails or one succeeds.
func brakeText(b disrupt.Brake) string {
	if !b.Open() {
		return ""
	}
	return fmt.Sprintf("drift: %d replacements in a row did not come, the last at %s; one node is tried after %s, the others follow when its replacement is initialized",
		b.Failures, b.Last.UTC().Format(time.RFC3339), b.Until.UTC().Format(time.RFC3339))
}

// emptyPool sends a deleted pool's claims away; with the default background deletion the cluster does it as well, but a
// pool deleted with its dependents orphaned must not leave machines running that no rule covers any more.
func (c *Controller) emptyPool(ctx context.Context, w model.World, pool model.Pool) time.Duration {
	var next time.Duration
	for i := range w.Claims {
		claim := w.Claims[i]
		if claim.Pool != pool.Name || claim.Deleting() {
			continue
		}
		next = sooner(next, c.claims.start(ctx, claim.Name, func(ctx context.Context) error {
			return ignore(c.Store.DeleteClaim(ctx, claim.Name), kube.NotFound)
		}))
	}
	return next
}
