package control

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// judgeEvery is how often nodes with pods are looked at, at most: it costs about a plan for all pods.
	judgeEvery = 10 * time.Second
	// judgeAgain is when they are looked at although nothing that matters changed: prices and budgets do.
	judgeAgain = 5 * time.Minute
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
	about uint64    // fingerprint of what they were judged by; 0 = look again
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
	}
	if len(d.Moves)+len(d.Undo) > 0 {
		c.about = 0 // what stays is judged anew when this is over
	}
	c.Observe.Kept(d.Kept, now)
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

// due reports whether nodes with pods are to be looked at now, or else when.
func (c *disruptor) due(about uint64) (bool, time.Duration) {
	every := judgeEvery
	if about == c.about {
		every = judgeAgain
	}
	wait := c.last.Add(every).Sub(c.Now())
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

// leave deletes the claim of a marked empty node, after one more look: the mark is as old as the last pass.
func (c *Controller) leave(ctx context.Context, claim string, m disrupt.Move) error {
	w := c.World.Snapshot()
	d, wait, ok := c.decideDisruption(w, false)
	if !ok {
		return &later{after: wait, err: errors.New("whether the node may still leave is not known: what decides it panicked")}
	}
	still := slices.ContainsFunc(d.Moves, func(n disrupt.Move) bool { return n.Marked && slices.Contains(n.Claims, claim) })
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
	c.Observe.MoveBegun(m)
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
		made, err := c.Store.CreateClaim(ctx, offer.Claim(b, pool, class, m.Record.Replacements[i]))
		if kube.CodeOf(err) == kube.Exists {
			continue
		}
		if err != nil {
			return err
		}
		c.World.AssumeClaim(made)
		c.Observe.ReplacementCreated(made, b, m)
		c.Mark(PointReplacementMade)
	}
	c.held.begun(m.Claims)
	return nil
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
	if u.Why == model.WhyMoveOutdated || u.Why == model.WhyReplacementLost && c.held.saw(u.Claims[0]) {
		c.held.failed(u.Claims, c.Now())
	} // otherwise the move did not fail: whoever began it did
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
		if err := ignore(c.patchClaim(ctx, name, patch), kube.NotFound); err != nil {
			return err
		}
	}
	return nil
}

// reasonWord is how users write a reason: Drifted.
func reasonWord(why model.Why) string {
	switch why {
	case model.WhyDrifted:
		return "Drifted"
	case model.WhyUnderutilized:
		return "Underutilized"
	}
	return "Empty"
}

// held remembers of which claims no move is begun for a while, because one failed. A restart forgets it: then the move is tried once more.
type held struct {
	mu    sync.Mutex
	until map[string]time.Time
	wait  map[string]*backoff
	// whole are claims whose moves this life has begun to the end.
	whole map[string]bool
}

func (h *held) begun(claims []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.whole == nil {
		h.whole = map[string]bool{}
	}
	for _, name := range claims {
		h.whole[name] = true
	}
}

// saw reports whether the claim's move was begun to the end by this life: then what replaces it was there.
func (h *held) saw(claim string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.whole[claim]
}

func (h *held) failed(claims []string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil {
		h.until, h.wait = map[string]time.Time{}, map[string]*backoff{}
	}
	for _, name := range claims {
		if h.wait[name] == nil {
			h.wait[name] = &backoff{base: heldBase, top: heldTop}
		}
		h.until[name] = now.Add(h.wait[name].next())
	}
}

// now lists them, and forgets claims that are gone.
func (h *held) now(w *model.World) map[string]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.whole, func(name string, _ bool) bool { return w.Index.Claim(name) == nil })
	out := make(map[string]time.Time, len(h.until))
	for name, end := range h.until {
		if w.Index.Claim(name) == nil {
			delete(h.until, name)
			delete(h.wait, name)
			continue
		}
		out[name] = end
	}
	return out
}

// decideDisruption reports false, and when to ask again, when there is no decision.
func (c *Controller) decideDisruption(w model.World, sweep bool) (d disrupt.Decision, wait time.Duration, ok bool) {
	now, awaited := c.Now(), time.Duration(0)
	wait, ok = c.safely(&c.others, "disrupt/nodes", w, func() {
		d = disrupt.Decide(disrupt.Input{World: w, Now: now, Sweep: sweep, Held: c.held.now(&w), SpotToSpot: c.Settings.SpotToSpot, MinValues: c.Settings.MinValues,
			Expected: func() (nodes map[string]bool) {
				nodes, awaited = c.awaited.with(now, w.Claims, place.Expected(w))
				return nodes
			}})
	})
	d.After = sooner(d.After, awaited)
	return d, wait, ok
}
