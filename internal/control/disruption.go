package control

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// judgeEvery is how often nodes with pods are looked at, at most: it costs about a plan for all pods.
	judgeEvery = 10 * time.Second
	// judgeAgain is when they are looked at although nothing that matters changed: prices and budgets do.
	judgeAgain = 5 * time.Minute
	// emptyEvery is how often is looked whether nodes may leave, at most, when nothing changed but pods.
	emptyEvery = time.Second
	// A move that failed is not begun again at once.
	heldBase = 5 * time.Minute
	heldTop  = time.Hour
)

// disruptor asks disrupt.Decide which nodes may leave, and carries its moves out: of empty nodes it marks those chosen, deletes the claims
// of those that carry the mark and are still right, and takes the mark away from the others. Moves of nodes with pods it writes down first. All of this is
// in the cluster, so a restart carries on. Its memory is only about when to look.
type disruptor struct {
	*Controller
	last  time.Time // when nodes with pods were looked at
	ages  time.Time // when the first node comes near its end; zero = unknown
	about uint64    // fingerprint of what they were judged by; 0 = look again
	// weighed is when the cluster was last held against the least that it could cost.
	weighed time.Time
}

func (c *Controller) disruptor() *disruptor { return &disruptor{Controller: c} }

func (c *disruptor) pass(ctx context.Context) time.Duration {
	w := c.World.Snapshot()
	now := c.Now()
	about := planInputs(w)
	sweep, due := c.due(about)
	d, wait, ok := c.decideDisruption(w, sweep)
	if !ok {
		return wait
	}
	if sweep {
		c.last, c.about, due = now, about, judgeEvery
		c.ages = time.Time{}
		if d.Ages > 0 {
			c.ages = now.Add(d.Ages)
		}
	}
	if len(d.Moves)+len(d.Undo) > 0 {
		c.about = 0 // what stays is judged anew when this is over
	}
	c.Observe.Kept(d.Kept, now)
	c.Observe.Replacing(replacing(&w, d.Kept), now)
	if sweep {
		c.Observe.Observed(&w, d.Observed)
		c.Observe.Asking(w.Index, d.Asking, now)
		c.weigh(w, d)
	}
	next := sooner(d.After, due)
	for _, m := range d.Moves {
		next = sooner(next, c.carryOut(ctx, m))
	}
	for _, u := range d.Undo {
		next = sooner(next, c.moves.start(ctx, u.Claims[0], func(ctx context.Context) error { return c.undo(ctx, u) }))
	}
	for _, node := range d.Unmark {
		next = sooner(next, c.drains.start(ctx, node, func(ctx context.Context) error { return c.unmark(ctx, node) }))
	}
	return next
}

// empties leaves pods out of what changed when all nodes have some that need a place, and none is marked: to other nodes pods make a difference only when
// all of them are looked at. O(nodes) when pods changed.
func (c *Controller) empties(what world.About) world.About {
	const pods = world.Pods | world.Unbound | world.Quiet
	if what&pods == 0 {
		return what
	}
	type key struct{}
	w := c.World.Snapshot()
	ours := w.Index.Memo(key{}, func() any {
		list := []string{}
		for i := range w.Claims {
			n := w.Index.NodeBy(w.Claims[i].ProviderID)
			switch {
			case n == nil:
			case n.HasTaint(model.TaintDisrupted):
				return []string(nil) // one that may have to stay after all
			default:
				list = append(list, n.Name)
			}
		}
		return list
	}).([]string)
	if ours == nil || slices.ContainsFunc(ours, func(name string) bool { return w.Index.On(name).Tenants == 0 }) {
		return what
	}
	return what &^ pods
}

// replacing are the claims that nodes wait for, as the moves say that these leave by.
func replacing(w *model.World, kept []disrupt.Kept) (out []string) {
	for _, k := range kept {
		x := w.Index.Claim(k.Claim)
		if k.Why != model.WhyReplacing || x == nil {
			continue
		}
		r, _, _ := disrupt.RecordOf(x)
		for _, name := range r.Replacements {
			next := w.Index.Claim(name)
			if next != nil && !next.Is(model.Initialized) {
				out = append(out, name)
			}
		}
	}
	return out
}

// due reports whether nodes with pods are to be looked at now, or else when.
func (c *disruptor) due(about uint64) (bool, time.Duration) {
	every := judgeEvery
	if about == c.about {
		every = judgeAgain
	}
	at := c.last.Add(every)
	if !c.ages.IsZero() && c.ages.Before(at) {
		at = c.ages
		if at.Before(c.last.Add(judgeEvery)) {
			at = c.last.Add(judgeEvery)
		}
	}
	wait := at.Sub(c.Now())
	return wait <= 0, max(wait, 0)
}

func (c *Controller) carryOut(ctx context.Context, m disrupt.Move) time.Duration {
	claim, node := m.Claims[0], m.Nodes[0]
	switch {
	case len(m.Record.Claims) > 0 && !m.Marked:
		return c.moves.start(ctx, m.Record.Claims[0], func(ctx context.Context) error { return c.begin(ctx, m) })
	case len(m.Record.Claims) > 0:
		return c.moves.start(ctx, m.Record.Claims[0], func(ctx context.Context) error { return c.finish(ctx, m) })
	case m.Marked:
		return c.claims.start(ctx, claim, func(ctx context.Context) error { return c.leave(ctx, claim, m) })
	}
	return c.claims.start(ctx, claim, func(ctx context.Context) error { return c.mark(ctx, node) })
}

func (c *Controller) mark(ctx context.Context, node string) error {
	return ignore(c.Store.PatchNode(ctx, node, kube.NodePatch{AddTaints: []model.Taint{drain.Taint()}}), kube.NotFound)
}

func (c *Controller) unmark(ctx context.Context, node string) error {
	return ignore(c.Store.PatchNode(ctx, node, kube.NodePatch{DropTaints: []string{model.TaintDisrupted}}), kube.NotFound)
}

// leave deletes the claim of a marked empty node, after one more look at it: the mark is as old as the last pass.
func (c *Controller) leave(ctx context.Context, claim string, m disrupt.Move) error {
	w, still := c.World.Snapshot(), false
	wait, ok := c.safely(&c.others, "disrupt/nodes", w, func() {
		var awaited time.Duration
		still = disrupt.Still(c.disruptionInput(w, &awaited), claim)
	})
	if !ok {
		return &later{after: wait, err: errors.New("whether the node may still leave is not known: what decides it panicked")}
	}
	if !still {
		return nil
	}
	c.Mark(PointEmptyFound)
	if x := w.Index.Claim(claim); x != nil {
		c.Observe.Disrupted(*x, m)
	}
	return ignore(c.Store.DeleteClaim(ctx, claim), kube.NotFound)
}

// begin writes a move down, marks its nodes, and buys what replaces them. Killed on the way, the next life finds a move that is not complete, and
// undoes it.
func (c *Controller) begin(ctx context.Context, m disrupt.Move) error {
	text, w := m.Record.Text(), c.World.Snapshot()
	for _, name := range m.Claims {
		x := w.Index.Claim(name)
		if x == nil {
			return nil // gone: the next look decides anew
		}
		patch := kube.ClaimPatch{UID: x.UID, Annotations: map[string]string{model.AnnotationMove: text},
			Conditions: model.Changed(x.Conditions, []model.Condition{{Type: model.DisruptionReason, Status: model.True, Reason: reasonWord(m.Why)}}, c.Now())}
		if err := c.patchClaim(ctx, name, patch); err != nil {
			return err
		}
		c.Mark(PointMoveWritten)
	}
	c.Observe.MoveBegun(m, poolsOf(&w, m.Claims))
	for _, node := range m.Nodes {
		if err := c.mark(ctx, node); err != nil {
			return err
		}
		c.Mark(PointMoveMarked)
	}
	for i, b := range m.Buy {
		pool, class, ok := poolAndClass(w, b.Pool)
		if !ok {
			return nil
		}
		// What replaces a node of a static pool has no pods. It is seen behind the move that says what it is for: before, it would be one too many.
		o := order{claim: offer.Claim(b, pool, class, m.Record.Replacements[i]), purchase: b, awaited: len(b.Pods) == 0}
		if leaver := w.Index.Claim(m.Claims[0]); m.Why == model.WhyDrifted && leaver != nil {
			o.claim.Annotations[model.AnnotationReplacesDrifted] = leaver.Pool
		}
		say := func(made model.Claim, b place.NewClaim) { c.Observe.ReplacementCreated(made, b, m) }
		if err := c.create(ctx, o, say, PointReplacementMade); err != nil {
			return err
		}
	}
	c.held.begun(m.Claims)
	return nil
}

// poolsOf are the pools of claims.
func poolsOf(w *model.World, claims []string) (out []string) {
	for _, name := range claims {
		if x := w.Index.Claim(name); x != nil {
			out = append(out, x.Pool)
		}
	}
	return out
}

// finish deletes the claims of a move, after one more look at what it touches. Killed on the way, the next life goes on with those that are left.
func (c *Controller) finish(ctx context.Context, m disrupt.Move) error {
	w := c.World.Snapshot()
	for i, name := range m.Claims {
		x := w.Index.Claim(name)
		if x == nil || x.Deleting() || x.Annotations[model.AnnotationMove] != m.Record.Text() {
			return nil
		}
		n := w.Index.Node(m.Nodes[i])
		if n == nil || !n.HasTaint(model.TaintDisrupted) {
			return nil
		}
	}
	for _, name := range m.Record.Replacements {
		x := w.Index.Claim(name)
		if x == nil || x.Deleting() || !x.Is(model.Initialized) {
			return nil
		}
	}
	for _, name := range m.Claims {
		c.Mark(PointMoveReady)
		c.Observe.Disrupted(*w.Index.Claim(name), m)
		if err := ignore(c.Store.DeleteClaim(ctx, name), kube.NotFound); err != nil {
			return err
		}
	}
	return nil
}

// undo takes a move back: first what was bought for it, then the marks, the records at last, so that a life that ends in between is followed by one that
// finds the rest.
func (c *Controller) undo(ctx context.Context, u disrupt.Undo) error {
	lost := u.Why == model.WhyReplacementLost && c.held.saw(u.Claims[0])
	if u.Why == model.WhyMoveOutdated || lost {
		c.held.failed(u.Claims, c.Now())
	} // otherwise the move did not fail: whoever began it did
	w := c.World.Snapshot()
	c.Observe.MoveUndone(u)
	for _, name := range u.Cancel {
		if err := ignore(c.Store.DeleteClaim(ctx, name), kube.NotFound); err != nil {
			return err
		}
	}
	for _, node := range u.Nodes {
		if err := c.unmark(ctx, node); err != nil {
			return err
		}
		c.Mark(PointMoveUnmarked)
	}
	for _, name := range u.Claims {
		patch := kube.ClaimPatch{Annotations: map[string]string{model.AnnotationMove: ""}, DropConditions: []string{model.DisruptionReason}}
		if x := w.Index.Claim(name); x != nil && lost && u.Move == model.WhyDrifted && name == u.Claims[0] { // one move counts once
			patch.Annotations[model.AnnotationDriftFailed] = disrupt.DriftFailed(&w, x, c.Now())
		}
		if err := ignore(c.patchClaim(ctx, name, patch), kube.NotFound); err != nil {
			return err
		}
	}
	return nil
}

// reasonWord is how users write a reason: Drifted.
func reasonWord(why model.Why) string {
	return cmp.Or(budget.ReasonOf(why), budget.Empty)
}

// held remembers of which claims no move is begun for a while, because one failed. A restart forgets it: then the move is tried once more.
type held struct {
	mu sync.Mutex
	of map[string]*attempts // by claim
}

// attempts are the moves of one claim.
type attempts struct {
	whole bool      // this life has begun one to the end
	until time.Time // no other is begun before; zero = none failed
	wait  backoff
}

// claim is what is known of one; the caller holds the lock.
func (h *held) claim(name string) *attempts {
	if h.of == nil {
		h.of = map[string]*attempts{}
	}
	if h.of[name] == nil {
		h.of[name] = &attempts{wait: backoff{base: heldBase, top: heldTop}}
	}
	return h.of[name]
}

func (h *held) begun(claims []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range claims {
		h.claim(name).whole = true
	}
}

// saw reports whether the claim's move was begun to the end by this life: then what replaces it was there.
func (h *held) saw(claim string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[claim] != nil && h.of[claim].whole
}

func (h *held) failed(claims []string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range claims {
		a := h.claim(name)
		a.until = now.Add(a.wait.next())
	}
}

// now lists until when claims are held back, and forgets those that are gone.
func (h *held) now(w *model.World) map[string]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.of, func(name string, _ *attempts) bool { return w.Index.Claim(name) == nil })
	out := map[string]time.Time{}
	for name, a := range h.of {
		if !a.until.IsZero() {
			out[name] = a.until
		}
	}
	return out
}

// decideDisruption reports false, and when to ask again, when there is no decision.
func (c *Controller) decideDisruption(w model.World, sweep bool) (d disrupt.Decision, wait time.Duration, ok bool) {
	awaited := time.Duration(0)
	wait, ok = c.safely(&c.others, "disrupt/nodes", w, func() {
		in := c.disruptionInput(w, &awaited)
		in.Sweep = sweep
		began := c.Now()
		d = disrupt.Decide(in)
		if sweep {
			c.Observe.Judged(c.Now().Sub(began))
		}
	})
	d.After = sooner(d.After, awaited)
	return d, wait, ok
}

// disruptionInput is what disrupt is to look at. When what is expected of waiting pods is asked, awaited is set to when that may change.
func (c *Controller) disruptionInput(w model.World, awaited *time.Duration) disrupt.Input {
	now := c.Now()
	return disrupt.Input{World: w, Now: now, Held: c.held.now(&w), Repair: c.Settings.NodeRepair, Static: c.Settings.StaticCapacity, SpotToSpot: c.Settings.SpotToSpot, KubeletIdentity: c.Settings.KubeletIdentity, MinValues: c.Settings.MinValues,
		Expected: func() (nodes map[string]bool) {
			nodes, *awaited = c.awaited.with(now, w.Claims, place.Expected(c.plans.fits(w)))
			return nodes
		}}
}
