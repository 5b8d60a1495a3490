package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/drift"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/nomination"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// lifecycles asks lifecycle.Next for every claim and starts the steps that are due.
func (c *Controller) lifecycles(ctx context.Context) time.Duration {
	w := c.World.Snapshot()
	now := c.Now()
	nodes := map[string][]model.Node{}
	for _, n := range w.Nodes {
		if n.ProviderID != "" {
			nodes[n.ProviderID] = append(nodes[n.ProviderID], n)
		}
	}
	machines := machinesByClaim(w)
	var landings map[string]nomination.Landing
	next, _ := c.safely(&c.promises, opening, w, func() { landings = c.landings(w) })
	joined, want := make(map[string]bool, len(w.Claims)), wanted{}
	for i := range w.Claims {
		claim := w.Claims[i]
		v := lifecycle.View{
			Claim: claim, Instance: machines[claim.Name], ListedAt: c.World.SeenAt(cmp.Or(claim.ProviderID, c.Market.IDOf(claim.Name))),
			Pool: poolOf(w, claim.Pool), Class: classOf(w, claim.Class), Hold: landings[claim.Name].Hold, Now: now,
		}
		switch {
		case claim.ProviderID != "":
			v.Nodes = nodes[claim.ProviderID]
		case v.Instance != nil: // accepted, but we died before the claim could say so
			v.Nodes = nodes[v.Instance.ID]
		}
		v.Drift, v.Hashes = want.differs(c, &w, &v)
		v.NodeSeen = c.joined[claim.UID]
		joined[claim.UID] = v.NodeSeen || len(v.Nodes) > 0
		var step lifecycle.Step
		if wait, ok := c.safely(&c.claims, claim.Name, w, func() { step = lifecycle.Next(v) }); !ok {
			next = sooner(next, wait)
			continue
		}
		next = sooner(next, step.After)
		if step.Do == lifecycle.Wait && len(step.Conditions) == 0 {
			continue
		}
		wait := c.claims.start(ctx, claim.Name, func(ctx context.Context) error { return c.do(ctx, v, step, landings[claim.Name].Tell) })
		next = sooner(next, wait)
	}
	c.joined = joined
	return next
}

// wanted says what nodes of pools should be; each pool is looked at once.
type wanted map[string]drift.Wanted

// differs compares a claim that is initialized with what its pool and class ask for.
func (x wanted) differs(c *Controller, w *model.World, v *lifecycle.View) (drift.Finding, map[string]string) {
	if !v.Claim.Is(model.Initialized) || v.Claim.Deleting() || len(v.Nodes) == 0 || v.Pool == nil {
		return drift.Finding{}, nil
	}
	want, known := x[v.Pool.Name]
	if !known {
		want = drift.Want(v.Pool, classOf(*w, v.Pool.Class), w.Catalog(v.Pool.Name, v.Pool.Class), c.Settings.KubeletIdentity)
		x[v.Pool.Name] = want
	}
	return want.Of(&v.Claim, &v.Nodes[0]), want.Backfill(&v.Claim)
}

// noneLands reports whether nothing but pods changed, and no node is about to open for pods: of what is about pods, that is all that claims wait for.
func (c *Controller) noneLands(what world.About) bool {
	if what&^world.Pods != 0 {
		return false
	}
	w := c.World.Snapshot()
	return !slices.ContainsFunc(w.Claims, func(x model.Claim) bool { return !x.Deleting() && !x.Is(model.Registered) && x.ProviderID != "" })
}

// machinesByClaim maps claim names to the machine the cloud has for them. A machine bought for an earlier claim of the
// same name belongs to that one.
func machinesByClaim(w model.World) map[string]*model.Instance {
	uid := map[string]string{}
	for i := range w.Claims {
		uid[w.Claims[i].Name] = w.Claims[i].UID
	}
	out := map[string]*model.Instance{}
	for i := range w.Instances {
		m := &w.Instances[i]
		if id, ok := uid[m.Claim]; ok && (m.ClaimUID == "" || m.ClaimUID == id) {
			out[m.Claim] = m
		}
	}
	return out
}

func sooner(a, b time.Duration) time.Duration {
	if b <= 0 || (a > 0 && a < b) {
		return a
	}
	return b
}

// do carries out one step for one claim. It may be repeated from the start after an error or a crash. The pods in tell are told of
// the node before it opens.
func (c *Controller) do(ctx context.Context, v lifecycle.View, step lifecycle.Step, tell []model.Pod) error {
	claim := v.Claim
	log := c.Log.WithValues("NodeClaim", claim.Name, "step", step.Do, "why", step.Why)
	log.V(1).Info("step")
	patch := kube.ClaimPatch{UID: claim.UID, Conditions: step.Conditions, DropConditions: step.Drop, Labels: step.ClaimLabels,
		Annotations: step.ClaimAnnotations}
	var err error
	switch step.Do {
	case lifecycle.AddFinalizer:
		patch.AddFinalizer = true
	case lifecycle.Launch:
		return c.launch(ctx, log, v)
	case lifecycle.Register, lifecycle.Initialize:
		if step.Do == lifecycle.Register {
			c.announce(ctx, step.Node.Name, tell)
		}
		if err = c.changeNode(ctx, claim, step.Node); err != nil {
			break
		}
		c.Observe.NodeStep(claim, step)
		if step.Do == lifecycle.Register {
			c.Mark(PointNodePatched)
			patch.NodeName = step.Node.Name
		} else {
			c.Mark(PointInitialized)
		}
	case lifecycle.Delete:
		c.Observe.ClaimDeleted(claim, step)
		err = ignore(c.Store.DeleteClaim(ctx, claim.Name), kube.NotFound)
	case lifecycle.DeleteNodes:
		for _, n := range v.Nodes {
			if err = ignore(c.Store.DeleteNode(ctx, n.Name), kube.NotFound); err != nil {
				break
			}
		}
	case lifecycle.Terminate:
		err = c.terminate(ctx, v)
	case lifecycle.Finish:
		c.Mark(PointBeforeFinish)
		if err = c.Store.DropToken(ctx, claim.UID); err != nil {
			break
		}
		patch.DropFinalizer = true
	}
	if err == nil {
		err = c.patchClaim(ctx, claim.Name, patch)
	}
	if err == nil && step.Do == lifecycle.Finish {
		c.Observe.ClaimFinished(claim, c.Now())
	}
	if err == nil && step.Do == lifecycle.Register {
		// The token has done its work; if this call is lost, the token expires.
		err = c.Store.DropToken(ctx, claim.UID)
	}
	if err != nil {
		log.Error(err, "step failed, will be tried again")
	}
	return err
}

func (c *Controller) patchClaim(ctx context.Context, name string, p kube.ClaimPatch) error {
	empty := len(p.Conditions)+len(p.DropConditions)+len(p.Labels)+len(p.Annotations) == 0 && p.NodeName == "" &&
		p.ProviderID == "" && p.ImageID == "" && p.Capacity == nil && p.LastPodEvent.IsZero() && !p.AddFinalizer && !p.DropFinalizer
	if empty {
		return nil
	}
	return c.kept("claim/"+name, "", model.Claim{Name: name, UID: p.UID}, c.Store.PatchClaim(ctx, name, p))
}

func ignore(err error, code kube.Code) error {
	if kube.CodeOf(err) == code {
		return nil
	}
	return err
}

func (c *Controller) changeNode(ctx context.Context, claim model.Claim, n lifecycle.NodeChange) error {
	p := kube.NodePatch{UID: n.UID, Labels: n.Labels, Annotations: n.Annotations, AddTaints: n.AddTaints, DropTaints: n.DropTaints,
		AddFinalizer: n.AddFinalizer}
	if n.OwnClaim {
		p.OwnerClaim, p.OwnerUID = claim.Name, claim.UID
	}
	return c.Store.PatchNode(ctx, n.Name, p)
}

// launch buys the machine of a claim: the best offering that may still be had, the next best when it is sold out.
func (c *Controller) launch(ctx context.Context, log interface{ Info(string, ...any) }, v lifecycle.View) error {
	claim, now := v.Claim, c.Now()
	raw, err := c.Market.Offerings(ctx, *v.Class, now)
	if err != nil {
		return c.launchFailed(ctx, claim, err)
	}
	cat := c.World.Seen(raw, claim.Pool)
	order := market.Request{Order: cloud.Order{Claim: claim.Name, ClaimUID: claim.UID, Pool: claim.Pool, Class: *v.Class,
		Taints: lifecycle.NodeTaints(claim)}}
	options, refusal := place.OptionsOrWhy(claim, cat)
	options = offer.Turned(options, claim)
	if len(options) == 0 {
		return c.launchFailed(ctx, claim, cloud.Errorf(cloud.NoCapacity, "no offering is left: %s: %s", refusal.Why, refusal.Detail))
	}
	for _, o := range options {
		t, ok := cat.Type(o.Key.Type)
		if !ok {
			continue
		}
		off, _ := offeringOf(t, o.Key)
		order.Options = append(order.Options, market.Option{Type: t, Offering: off, Labels: lifecycle.NodeLabels(claim, t, off)})
	}
	if order.Order.Cluster, err = c.Store.Cluster(ctx); err != nil {
		return fmt.Errorf("launch %s: ask the cluster what a machine must know: %w", claim.Name, err)
	}
	// No launch begins later than LaunchTimeout after the claim, so that every attempt asks for the same.
	until := claim.Created.Add(lifecycle.LaunchTimeout + lifecycle.RegistrationTimeout)
	if order.Order.Token, err = c.Store.Token(ctx, kube.TokenRequest{Claim: claim.Name, ClaimUID: claim.UID, Until: until}); err != nil {
		return fmt.Errorf("launch %s: make its bootstrap token: %w", claim.Name, err)
	}
	c.Mark(PointTokenMade)
	machine, attempts, err := c.Market.Launch(ctx, order, now)
	c.Observe.Launched(claim, machine, attempts, err)
	if len(attempts) > 1 || err != nil {
		// What was learnt about sold-out offerings must reach the planner before it plans for these pods again.
		if fresh, err := c.Market.Offerings(ctx, *v.Class, c.Now()); err == nil {
			c.World.SetCatalog(fresh)
		}
	}
	if err != nil {
		return c.launchFailed(ctx, claim, err)
	}
	c.Mark(PointAccepted)
	if err = c.recordLaunch(ctx, claim, cat, machine, overlaid(raw, cat, machine.Offering)); err != nil {
		return err
	}
	c.Mark(PointRecorded)
	log.Info("launched", "instance", machine.Name, "offering", machine.Offering.String(), "tried", len(attempts))
	return nil
}

func offeringOf(t model.InstanceType, key model.OfferingKey) (model.Offering, bool) {
	for _, o := range t.Offerings {
		if o.Key() == key {
			return o, true
		}
	}
	return model.Offering{}, false
}

func (c *Controller) recordLaunch(ctx context.Context, claim model.Claim, cat model.Catalog, m model.Instance, notes map[string]string) error {
	p := kube.ClaimPatch{UID: claim.UID, ProviderID: m.ID, ImageID: m.ImageID, Conditions: lifecycle.LaunchAccepted(claim, c.Now()), Annotations: notes}
	if t, ok := cat.Type(m.Offering.Type); ok {
		off, _ := offeringOf(t, m.Offering)
		p.Labels = lifecycle.NodeLabels(claim, t, off)
		p.Capacity, p.Allocatable = &t.Capacity, &t.Allocatable
	}
	return c.patchClaim(ctx, claim.Name, p)
}

// launchFailed records why nothing was bought. When nothing is to be had the claim is deleted at once, so that its pods
// are planned anew with what is left; any other failure is tried again until the launch timeout.
func (c *Controller) launchFailed(ctx context.Context, claim model.Claim, cause error) error {
	verdict := lifecycle.LaunchRefused(claim, cloud.CodeOf(cause) == cloud.NoCapacity || cloud.CodeOf(cause) == cloud.Quota, cause.Error(), c.Now())
	if err := c.patchClaim(ctx, claim.Name, kube.ClaimPatch{UID: claim.UID, Conditions: verdict.Conditions}); err != nil {
		return err
	}
	if verdict.Do == lifecycle.Delete {
		c.Observe.ClaimDeleted(claim, verdict)
		return ignore(c.Store.DeleteClaim(ctx, claim.Name), kube.NotFound)
	}
	cause = fmt.Errorf("launch %s: %w", claim.Name, cause)
	c.Log.Error(cause, "could not launch, will be tried again", "NodeClaim", claim.Name)
	return &later{after: retryAfter(cause), err: cause}
}

func (c *Controller) terminate(ctx context.Context, v lifecycle.View) error {
	id := v.Claim.ProviderID
	if v.Instance != nil {
		id = v.Instance.ID
	}
	err := c.Market.Terminate(ctx, id)
	if cloud.CodeOf(err) == cloud.NotFound {
		err = nil
	}
	if err != nil {
		return &later{after: retryAfter(err), err: err}
	}
	c.Mark(PointTerminated)
	return nil
}
