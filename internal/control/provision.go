package control

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/nomination"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

// provisioner turns waiting pods into claims. Its memory is only about when to look, never about what was decided: a
// restart makes it look once more, and the claims that are there already take the pods.
type provisioner struct {
	*Controller
	window window
	seen   map[string]bool // UIDs of pods that were waiting at the last look, and whether kube-scheduler had looked at them
	last   time.Time       // when the last plan was made
	about  uint64          // fingerprint of what it was made from
	sieve  sieve
	// settling knows who lost the place that was bought for it, and may get another yet; again is when to plan again for these, zero when there are none.
	settling nomination.Settling
	again    time.Time
	// told says by the UID of a waiting pod which node or claim it was told of.
	told map[string]string
	// behind are pods that a plan for all was cut short for.
	behind behind
}

// How soon a plan is made again while pods wait: soon when what a plan is made from has changed (the machine that the last
// one counted on may have failed, what was sold out may be back), seldom when nothing has. A plan in which nothing
// changed buys nothing, so this is about work, not about harm.
const (
	replanChanged = time.Second
	replanSame    = 10 * time.Second
)

func (c *Controller) provisioner() *provisioner {
	return &provisioner{Controller: c, seen: map[string]bool{}, told: map[string]string{}}
}

func (p *provisioner) pass(ctx context.Context) time.Duration {
	now := p.Now()
	w := p.World.Snapshot()
	fresh, more := p.fresh(w)
	p.Observe.Waiting(len(p.seen))
	p.window.observe(now, fresh)
	wait, open := p.window.wait(now, p.Settings.BatchIdle, p.Settings.BatchMax, more)
	if !open && len(p.seen) == 0 {
		return 0
	}
	if open && wait > 0 {
		return wait
	}
	about := planInputs(w)
	if !open {
		every := replanSame
		if about != p.about {
			every = replanChanged
		}
		if len(p.behind.parts) > 0 {
			every = replanChanged
		}
		if !p.again.IsZero() {
			every = min(every, max(replanChanged, p.again.Sub(p.last)))
		}
		if wait = p.last.Add(every).Sub(now); wait > 0 {
			return wait
		}
	}
	p.window.close()
	p.last, p.about = now, about
	p.plan(ctx, w)
	return replanChanged
}

// planInputs is a fingerprint of what, beside the waiting pods, a plan is made from. It leaves out what changes with every
// heartbeat.
func planInputs(w model.World) uint64 {
	h := fnv.New64a()
	for i := range w.Pools {
		p := &w.Pools[i]
		fmt.Fprintln(h, p.Name, p.Generation, p.Ready(), p.Deleting, p.Annotations) // fmt sorts maps
	}
	type key struct{}
	fmt.Fprintln(h, w.Index.Memo(key{}, func() any { return machineInputs(w) }))
	for i := range w.Classes {
		fmt.Fprintln(h, w.Classes[i].Ref, w.Classes[i].Ready(), w.Catalogs[w.Classes[i].Ref].Epoch)
	}
	for i := range w.Daemons {
		fmt.Fprintln(h, w.Daemons[i].ObjectKey(), w.Daemons[i].Pod.Requests)
	}
	fmt.Fprintln(h, w.Index.Running())
	return h.Sum64()
}

// machineInputs is the part of planInputs that nodes and claims make.
func machineInputs(w model.World) uint64 {
	h := fnv.New64a()
	for i := range w.Claims {
		c := &w.Claims[i]
		fmt.Fprintln(h, c.Name, c.ProviderID, c.Deleting(), c.Is(model.Initialized))
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		fmt.Fprintln(h, n.Name, n.Taints, n.Cordoned, n.Deleting(), n.Ready, n.Allocatable)
	}
	return h.Sum64()
}

// fresh counts the waiting pods that this pass is the first to see, and forgets pods that no longer wait. more says that kube-scheduler has yet to look at
// pods that nobody can tell the fate of; then those that it looked at since the last pass count, too, and keep the window open.
func (p *provisioner) fresh(w model.World) (fresh int, more bool) {
	pods := place.Waiting(w)
	waiting := make(map[string]bool, len(pods))
	for i := range pods {
		waiting[pods[i].UID] = !pods[i].Unjudged()
	}
	for x := range w.Index.Unbound().All() {
		if x.Unjudged() {
			if _, waits := waiting[x.UID]; !waits {
				more = true
				break
			}
		}
	}
	for uid, judged := range waiting {
		was, seen := p.seen[uid]
		if !seen || more && judged && !was && p.window.seen > 0 {
			fresh++
		}
	}
	p.seen = waiting
	return fresh, more
}

// longPlan: people are told of a plan that takes longer.
const longPlan = 10 * time.Second

func (p *provisioner) plan(ctx context.Context, w model.World) {
	began := p.Now()
	plan := p.timed(w, began)
	real := told(plan)
	p.Observe.Planned(real, p.Now(), p.Now().Sub(began))
	p.Mark(PointPlanned)
	p.buy(ctx, w, plan)
	p.move(ctx, w, plan)
	p.tell(w, real)
	p.Observe.Leftovers(w.Index, real.Unscheduled)
}

// timed makes a plan, and tells of one that takes long while it is being made.
func (p *provisioner) timed(w model.World, began time.Time) place.Plan {
	defer p.Observe.Planning(began)()
	defer time.AfterFunc(longPlan, func() { p.Observe.PlanTakesLong(w.Pools, len(place.Waiting(w)), longPlan) }).Stop()
	return p.settled(w)
}

// sound audits a plan, and says so to whoever may mend it when it is not.
func (c *Controller) sound(in place.Input, plan place.Plan) bool {
	findings := audit.Check(in.World, plan)
	if len(findings) > 0 {
		c.refuse(in, plan, findings)
	}
	return len(findings) == 0
}

func (c *Controller) refuse(in place.Input, plan place.Plan, findings []audit.Finding) {
	c.Observe.PlanRefused(plan, findings)
	c.Refused(evidence.Case{World: in.World, Preferences: in.Preferences, MinValues: in.MinValues, Plan: plan, Findings: findings, At: c.Now(), Version: c.Version})
}

// writers bounds how many claims of a plan are written at the same time. The machines of one plan should come together: those that
// come first are filled with what waits for the others.
const writers = 16

// order is a claim to write, and the purchase it stands for.
type order struct {
	claim    model.Claim
	purchase place.NewClaim
	// awaited has the mirror learn of the claim by the watch alone, behind what was written before it.
	awaited bool
}

// replans bounds how often a plan is made anew without those who may get the place yet that was bought for them.
const replans = 3

// settled makes a plan that buys nothing for pods which may get the place yet that was bought for them.
func (p *provisioner) settled(w model.World) place.Plan {
	pods, of := p.behind.next(w) // nil = all that wait
	p.again = time.Time{}
	for range replans {
		plan := p.decide(w, pods, of.effort)
		var buying []model.PodKey
		for _, b := range plan.NewClaims {
			buying = append(buying, b.Pods...)
		}
		wait, next := p.settling.Look(w, buying, p.Now())
		if len(wait) == 0 {
			p.cut(w, of, &plan)
			return plan
		}
		p.again = p.Now().Add(next)
		p.Log.V(1).Info("pods lost the place that was bought for them, and may get another one yet", "pods", len(wait), "for", next.String())
		pods = slices.DeleteFunc(orWaiting(w, pods), func(x model.Pod) bool { return wait[x.Key()] })
		if len(pods) == 0 {
			break
		}
	}
	p.behind.back(of)
	return place.Plan{}
}

// cut sees to the pods that a plan, for all or for a part, left because it was cut short.
func (p *provisioner) cut(w model.World, of part, plan *place.Plan) {
	if of.pods != nil {
		p.behind.again(w, of, plan)
	} else if plan.BudgetExceeded {
		p.Observe.PlanCut(w.Pools, p.behind.split(w, *plan), len(plan.Unscheduled))
	}
}

// buy writes the claims of a plan. A claim whose name exists is one that an
// earlier pass, or an earlier process, wrote for the same pods.
func (p *provisioner) buy(ctx context.Context, w model.World, plan place.Plan) {
	if len(plan.NewClaims) == 0 {
		return
	}
	var g errgroup.Group
	g.SetLimit(writers)
	for _, o := range orders(w, plan) {
		g.Go(p.shielded("provision", func() error { p.write(ctx, o, w.Index); return nil }))
	}
	_ = g.Wait() // each step has told what went wrong
}

// orders names the claims of a plan. A name that the picture shows belongs to a claim that could not take these pods (it is on its way
// out): this is another attempt. One that only the cluster knows was written for the same pods by whoever planned before us.
func orders(w model.World, plan place.Plan) []order {
	taken := make(map[string]bool, len(w.Claims))
	for i := range w.Claims {
		taken[w.Claims[i].Name] = true
	}
	var out []order
	for i, b := range plan.NewClaims {
		pool, class, ok := poolAndClass(w, b.Pool)
		if !ok {
			continue
		}
		out = append(out, order{claim: offer.Claim(b, pool, class, offer.FreeName(b, i, taken)), purchase: b})
	}
	return out
}

// create writes a claim that was decided on, unless whoever decided the same before us has done so. The mirror has it before the watch does, or the
// next plan would buy once more.
func (c *Controller) create(ctx context.Context, o order, say func(model.Claim, place.NewClaim), done Point) error {
	made, err := c.Store.CreateClaim(ctx, o.claim)
	if kube.CodeOf(err) == kube.Exists {
		c.Log.Info("the claim exists already", "NodeClaim", o.claim.Name)
		return nil
	}
	if err != nil {
		c.Log.Error(err, "could not write a claim; will try again", "NodeClaim", o.claim.Name, "NodePool", o.purchase.Pool)
		return err
	}
	if !o.awaited {
		c.World.AssumeClaim(made)
	}
	say(made, o.purchase)
	c.Mark(done)
	return nil
}

// write writes one claim and tells its pods.
func (p *provisioner) write(ctx context.Context, o order, pods *model.Index) {
	if err := p.create(ctx, o, p.Observe.ClaimCreated, PointClaimCreated); err != nil {
		return
	}
	for _, key := range o.purchase.Pods {
		if pod := pods.Pod(key); pod != nil && !pod.Virtual {
			p.Observe.Nominated(*pod, "nodeclaim/"+o.claim.Name)
		}
	}
}

// tell tells waiting pods that room is there for them, or on its way, when that is news. Those that a claim is bought for now are told when it is written.
func (p *provisioner) tell(w model.World, plan place.Plan) {
	maps.DeleteFunc(p.told, func(uid string, _ string) bool {
		_, waits := p.seen[uid]
		return !waits
	})
	for _, b := range plan.NewClaims {
		for _, key := range b.Pods {
			pod := w.Index.Pod(key)
			if pod != nil {
				p.told[pod.UID] = b.Pool
			}
		}
	}
	for _, f := range plan.Existing {
		pod := w.Index.Pod(f.Pod)
		if pod == nil || pod.Virtual || !pod.Provisionable() {
			continue
		}
		target := "node/" + f.Node
		if f.Claim != "" {
			target = "nodeclaim/" + f.Claim
		}
		before, knows := p.told[pod.UID]
		if before != target && !(knows && f.Claim == "") { // that a claim became a node is no news
			p.told[pod.UID] = target
			p.Observe.Nominated(*pod, target)
		}
	}
}

// move writes down where pods go that were planned for somewhere else. Lost halfway, the next plan finds the same moves, or better ones.
func (p *provisioner) move(ctx context.Context, w model.World, plan place.Plan) {
	moves := place.Moves(w, plan)
	var g errgroup.Group
	g.SetLimit(writers)
	for i := range w.Claims {
		c := &w.Claims[i]
		list, ok := moves[c.Name]
		if !ok {
			continue
		}
		g.Go(p.shielded("provision", func() error {
			patch := kube.ClaimPatch{UID: c.UID, Annotations: map[string]string{planned.Annotation: list}}
			if err := p.patchClaim(ctx, c.Name, patch); err != nil {
				p.Log.Error(err, "could not write down which pods go to a claim now; will plan again", "NodeClaim", c.Name)
			}
			return nil
		}))
	}
	_ = g.Wait() // each step has told what went wrong
}

func poolAndClass(w model.World, name string) (model.Pool, model.Class, bool) {
	pool := poolOf(w, name)
	if pool == nil {
		return model.Pool{}, model.Class{}, false
	}
	class := classOf(w, pool.Class)
	if class == nil {
		return model.Pool{}, model.Class{}, false
	}
	return *pool, *class, true
}

func classOf(w model.World, ref model.ClassRef) *model.Class {
	for i := range w.Classes {
		if w.Classes[i].Ref == ref {
			return &w.Classes[i]
		}
	}
	return nil
}

func poolOf(w model.World, name string) *model.Pool {
	for i := range w.Pools {
		if w.Pools[i].Name == name {
			return &w.Pools[i]
		}
	}
	return nil
}
