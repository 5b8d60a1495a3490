package control

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/drift"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/nomination"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// keeper asks lifecycle.Next for claims, and starts the steps that are due. Its memory is only about when to look, and which nodes were seen.
type keeper struct {
	*Controller
	// joined are the UIDs of claims of which a node was seen.
	joined map[string]bool
	// due says when claims are to be looked at again, although nothing changed.
	due map[string]time.Time
	// again is when all of them are, zero when they are not.
	again    time.Time
	machines machines
}

func (c *Controller) keeper() *keeper { return &keeper{Controller: c} }

// pass looks at all claims.
func (k *keeper) pass(ctx context.Context) time.Duration {
	w := k.World.Snapshot()
	joined := make(map[string]bool, len(w.Claims))
	k.due, k.again = map[string]time.Time{}, time.Time{}
	s := k.sight(w)
	for i := range w.Claims {
		c := &w.Claims[i]
		seen := k.step(ctx, s, c)
		joined[c.UID] = k.joined[c.UID] || seen
	}
	k.joined = joined
	return k.next(s.now)
}

// part looks at the claims of which is news for how long pods left their nodes alone, and at those that are due.
func (k *keeper) part(ctx context.Context, news world.News) time.Duration {
	w := k.World.Snapshot()
	s := k.sight(w)
	if !k.again.IsZero() && !k.again.After(s.now) {
		return k.pass(ctx)
	}
	names := news.Claims
	for name, at := range k.due {
		if at.After(s.now) {
			continue
		}
		if names == nil {
			names = map[string]bool{}
		}
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		delete(k.due, name)
		if c := w.Index.Claim(name); c != nil && k.step(ctx, s, c) {
			k.joined[c.UID] = true
		}
	}
	return k.next(s.now)
}

// next says when the first claim is due; 0 = none is.
func (k *keeper) next(now time.Time) (next time.Duration) {
	soon := func(at time.Time) {
		if !at.IsZero() {
			next = sooner(next, max(at.Sub(now), time.Nanosecond))
		}
	}
	soon(k.again)
	for _, at := range k.due {
		soon(at)
	}
	return next
}

// sight is a picture, and what claims are looked at with.
type sight struct {
	w        model.World
	now      time.Time
	nodes    map[string][]model.Node // by provider ID
	landings func() map[string]nomination.Landing
	wards    func() outage.Wards
	want     wanted
}

func (k *keeper) sight(w model.World) *sight {
	type key struct{}
	s := &sight{w: w, now: k.Now(), want: wanted{}}
	s.nodes = w.Index.Memo(key{}, func() any { return nodesByMachine(w.Nodes) }).(map[string][]model.Node)
	k.machines.update(w.Instances)
	s.landings = sync.OnceValue(func() (list map[string]nomination.Landing) {
		if wait, ok := k.safely(&k.promises, opening, w, func() { list = k.Controller.landings(w) }); !ok {
			k.again = s.now.Add(wait)
		}
		return list
	})
	s.wards = sync.OnceValue(func() outage.Wards { return outage.Survey(&s.w) })
	return s
}

// nodesByMachine are the nodes that there are of each machine, by provider ID: one, but for mistakes.
func nodesByMachine(nodes []model.Node) map[string][]model.Node {
	out := make(map[string][]model.Node, len(nodes))
	for i := range nodes {
		id := nodes[i].ProviderID
		if id == "" {
			continue
		}
		if list := out[id]; list == nil {
			out[id] = nodes[i : i+1 : i+1]
		} else {
			out[id] = append(list, nodes[i])
		}
	}
	return out
}

// step looks at one claim, and reports whether there is a node of it.
func (k *keeper) step(ctx context.Context, s *sight, c *model.Claim) (seen bool) {
	claim := *c
	v := lifecycle.View{
		Claim: claim, Instance: k.machines.claimed(c), ListedAt: k.World.SeenAt(cmp.Or(claim.ProviderID, k.Market.IDOf(claim.Name))),
		Pool: poolOf(s.w, claim.Pool), Class: classOf(s.w, claim.Class), Now: s.now,
	}
	var landing nomination.Landing
	if !claim.Is(model.Registered) { // others do not open any more
		landing = s.landings()[claim.Name]
	}
	v.Hold = landing.Hold
	switch {
	case claim.ProviderID != "":
		v.Nodes = s.nodes[claim.ProviderID]
	case v.Instance != nil: // accepted, but we died before the claim could say so
		v.Nodes = s.nodes[v.Instance.ID]
	}
	if k.Settings.NodeRepair && len(v.Nodes) > 0 {
		v.Sick, _ = outage.SicknessOf(&v.Nodes[0])
		v.RepairHeld = s.wards().Full(claim.Pool)
	}
	v.Drift, v.Hashes = s.want.differs(k.Controller, &s.w, &v)
	v.NodeSeen, seen = k.joined[claim.UID], len(v.Nodes) > 0
	again := func(d time.Duration) {
		if at, known := k.due[claim.Name]; d > 0 && (!known || s.now.Add(d).Before(at)) {
			k.due[claim.Name] = s.now.Add(d)
		}
	}
	var step lifecycle.Step
	if wait, ok := k.safely(&k.claims, claim.Name, s.w, func() { step = lifecycle.Next(v) }); !ok {
		again(wait)
		return seen
	}
	again(step.After)
	if step.Do == lifecycle.Wait && len(step.Conditions) == 0 {
		return seen
	}
	again(k.claims.step(ctx, claim.Name, once(step), func(ctx context.Context) error { return k.do(ctx, v, step, landing.Tell) }))
	return seen
}

// once names a step whose effect shows in the cluster, so that it is not repeated before; "" for one that is tried until it is done.
func once(s lifecycle.Step) string {
	switch s.Do {
	case lifecycle.AddFinalizer, lifecycle.Register, lifecycle.Initialize, lifecycle.Delete, lifecycle.DeleteNodes:
		return string(s.Do) + " " + string(s.Why)
	}
	return ""
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

// landing leaves pods out of what changed, unless some node is about to open for them: nothing else of pods is what claims wait for.
func (c *Controller) landing(what world.About) world.About {
	const pods = world.Pods | world.Unbound
	if what&pods == 0 {
		return what
	}
	type key struct{}
	w := c.World.Last() // had claims changed since, they would be among what changed
	if w.Index.Memo(key{}, func() any {
		return slices.ContainsFunc(w.Claims, func(x model.Claim) bool { return !x.Deleting() && !x.Is(model.Registered) && x.ProviderID != "" })
	}).(bool) {
		return what
	}
	return what &^ pods
}

// machines finds what the cloud has for claims. It is made anew when the cloud's list is another one.
type machines struct {
	listed []model.Instance
	of     map[string][]*model.Instance // by claim name
}

func (m *machines) update(list []model.Instance) {
	if m.of != nil && len(list) == len(m.listed) && (len(list) == 0 || &list[0] == &m.listed[0]) {
		return
	}
	m.listed, m.of = list, make(map[string][]*model.Instance, len(list))
	for i := range list {
		m.of[list[i].Claim] = append(m.of[list[i].Claim], &list[i])
	}
}

// claimed is the machine of a claim, nil when there is none. One that was bought for an earlier claim of the same name belongs to that one.
func (m *machines) claimed(c *model.Claim) (found *model.Instance) {
	for _, x := range m.of[c.Name] {
		if x.ClaimUID == "" || x.ClaimUID == c.UID {
			found = x
		}
	}
	return found
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
		// By when it has to be gone stands there before it goes: the drain reads it.
		early := kube.ClaimPatch{UID: claim.UID, Annotations: step.ClaimAnnotations}
		if err = c.patchClaim(ctx, claim.Name, early); err != nil {
			break
		}
		patch.Annotations = nil
		c.Mark(PointDeletionDue)
		c.learn(v, step)
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
	if err == nil && step.Why == model.WhyUnregisteredMissing {
		c.Observe.Untainted(claim, step.Message)
	}
	if err == nil {
		c.joins.note(v, step)
	}
	if x, ok := model.FindCondition(step.Conditions, model.ConsistentStateFound); err == nil && ok {
		c.Observe.Shape(claim, x)
	}
	if end := step.ClaimAnnotations[model.AnnotationTerminationTime]; err == nil && end != "" {
		c.Observe.GraceEnds(claim, end)
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

// learn tells the market of a spot machine that was taken back: the next one of its kind may be, too.
func (c *Controller) learn(v lifecycle.View, step lifecycle.Step) {
	k := v.Claim.Offering()
	taken := step.Why == model.WhyInterrupted || step.Why == model.WhyInstanceGone
	if taken && k.CapacityType == model.Spot {
		c.Market.TakenBack(k, c.Now())
	}
	if step.Why == model.WhyUnhealthy {
		c.Observe.Unhealthy(v.Claim, v.Sick)
	}
	for i := range v.Nodes {
		n, ok := outage.NoticeOf(&v.Nodes[i])
		if ok && step.Why == model.WhyInterrupted {
			c.Observe.Interrupted(v.Claim, v.Nodes[i].Name, n, c.Now())
		}
	}
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
	raw, err := c.offerings(ctx, *v.Class, now)
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
	c.Observe.Called(observe.CallCreate, c.Now().Sub(now), err)
	c.Observe.Launched(claim, machine, attempts, err)
	if len(attempts) > 1 || err != nil {
		// What was learnt about sold-out offerings must reach the planner before it plans for these pods again.
		if fresh, err := c.offerings(ctx, *v.Class, c.Now()); err == nil {
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
	if cloud.CodeOf(cause) != cloud.Throttled || c.throttledAnew() {
		c.Log.Error(cause, "could not launch, will be tried again", "NodeClaim", claim.Name)
	}
	return &later{after: retryAfter(cause), err: cause}
}

// throttledEvery is how often the log says that the cloud asks to wait with launches. It asks so of hundreds at a time, and each NodeClaim has a condition
// that says it.
const throttledEvery = time.Minute

func (c *Controller) throttledAnew() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	anew := now.Sub(c.throttled) >= throttledEvery
	if anew {
		c.throttled = now
	}
	return anew
}

func (c *Controller) terminate(ctx context.Context, v lifecycle.View) error {
	id := v.Claim.ProviderID
	if v.Instance != nil {
		id = v.Instance.ID
	}
	asked := c.Now()
	err := c.Market.Terminate(ctx, id)
	c.Observe.Called(observe.CallDelete, c.Now().Sub(asked), err)
	if cloud.CodeOf(err) == cloud.NotFound {
		err = nil
	}
	if err != nil {
		return &later{after: retryAfter(err), err: err}
	}
	c.Mark(PointTerminated)
	return nil
}
