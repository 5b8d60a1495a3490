package simulate

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/buffer"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/overlay"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/static"
	"github.com/karpenter-aks/karpenter/model"
)

// Answer is what we would do about a world.
type Answer struct {
	World model.World
	// Now is the moment that the world is looked at.
	Now  time.Time
	Plan place.Plan
	// Bound says what the pods that the plan buys for cost at the very least; nil when it buys nothing.
	Bound *bound.Certificate
	// loosened is how many pods the bound asks less for than they ask for.
	loosened int64
	// Static is what pools with a fixed number of replicas do, in the order of their names.
	Static []Static
	// Refused is what is wrong with the plan that the input holds, if any: one that a controller refused.
	Refused []audit.Finding
	// HoldsPlan is set when the input holds such a plan.
	HoldsPlan bool
	Notes     []string // what was assumed, for people
	// WhatIf are answers to variations of the question, in the order in which they were asked.
	WhatIf []Varied

	preferences place.Preferences
	minValues   place.MinValues
}

// Static is what one pool with a fixed number of replicas does.
type Static struct {
	Pool string
	static.Decision
}

// Unsound is the error for a plan that does not stand up to audit: a defect of ours.
type Unsound struct{ Findings []audit.Finding }

// Error lists the findings.
func (e *Unsound) Error() string {
	var b strings.Builder
	b.WriteString("the plan is unsound, and a controller would refuse it; this is a defect of ours, please report it with the input:")
	b.WriteString(findings(e.Findings))
	return b.String()
}

// Panicked is the error for an engine that panicked over the input: a defect of ours.
type Panicked struct {
	Message string
	Stack   string
}

// Error says so, with the stack, which is what a report needs.
func (e *Panicked) Error() string {
	return "the engine panicked: " + e.Message + "\na controller would leave out the pods that it cannot plan for; this is a defect of ours, please report it with the input\n" + e.Stack
}

// findings prints one finding per line, each after a line break.
func findings(list []audit.Finding) string {
	var b strings.Builder
	for i, f := range list {
		if i == maxProblems {
			fmt.Fprintf(&b, "\n  and %d more", len(list)-i)
			break
		}
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// Decide asks the deciders that the controller asks, with the same limits, audits their answer, and bounds its price. The
// error is *Unsound or *Panicked. A plan that the question holds is audited, too.
func Decide(q Question) (Answer, error) { return ask(place.Decide, q) }

// panicked turns a panic of an engine into an error.
func panicked(err *error) {
	if v := recover(); v != nil {
		*err = &Panicked{fmt.Sprint(v), string(debug.Stack())}
	}
}

// ask is Decide with an engine of the caller's.
func ask(engine func(place.Input) place.Plan, q Question) (a Answer, err error) {
	defer panicked(&err)
	w := q.World
	a = Answer{World: w, Now: q.Now, preferences: q.Preferences, minValues: q.MinValues, Notes: q.Notes, Plan: engine(place.Input{World: w, Preferences: q.Preferences, MinValues: q.MinValues, Accept: q.Accept}),
		HoldsPlan: q.Refused != nil}
	if a.HoldsPlan {
		a.Refused = audit.Check(w, *q.Refused)
	}
	if f := audit.Check(w, a.Plan); len(f) > 0 {
		return a, &Unsound{f}
	}
	for _, p := range w.Pools {
		d := static.DecideWith(engine, w, p, disrupt.Spares(w))
		if f := audit.Check(d.Asked, d.Plan); len(d.Create) > 0 && len(f) > 0 {
			return a, &Unsound{f}
		}
		if len(d.Create)+len(d.Delete) > 0 || d.Why != "" {
			a.Static = append(a.Static, Static{p.Name, d})
		}
	}
	for _, p := range overlay.Judge(overlay.Input{Overlays: w.Overlays, Pools: w.Pools, Catalogs: w.Catalogs}).Problems {
		a.Notes = append(a.Notes, fmt.Sprintf("NodeOverlay %s: %s: %s", p.Overlay, p.Reason, p.Detail))
	}
	return a, a.bound()
}

// bound proves what the pods that get new machines cost at least. A certificate that does not hold is an error of ours.
func (a *Answer) bound() error {
	if len(a.Plan.NewClaims) == 0 {
		return nil
	}
	bought := map[model.PodKey]bool{}
	for _, b := range a.Plan.NewClaims {
		for _, k := range b.Pods {
			bought[k] = true
		}
	}
	pods := slices.DeleteFunc(slices.Clone(a.World.Pods), func(p model.Pod) bool { return !bought[p.Key()] })
	problem := bound.FromWorld(a.World, pods)
	c := bound.Best(problem, bound.Brisk)
	proven, err := bound.Check(c, problem)
	if err != nil {
		return fmt.Errorf("the lower bound does not hold, which is a defect of ours: %w", err)
	}
	c.Value = proven
	a.Bound, a.loosened = &c, problem.Loosened
	return nil
}

// gap is how far the plan's price is above the bound, as a share of the bound; 0 when there is nothing to compare.
func (a Answer) gap() float64 {
	if a.Bound == nil || a.Bound.Value <= 0 {
		return 0
	}
	return a.Plan.Price.Float()/a.Bound.Value.Float() - 1
}

// price is what everything costs that would be bought.
func (a Answer) price() model.Price {
	p := a.Plan.Price
	for _, s := range a.Static {
		for _, c := range s.Create {
			p += c.Purchase.Options[0].Price
		}
	}
	return p
}

// pool finds a pool by name; the zero pool when there is none.
func (a Answer) pool(name string) model.Pool {
	if i := slices.IndexFunc(a.World.Pools, func(p model.Pool) bool { return p.Name == name }); i >= 0 {
		return a.World.Pools[i]
	}
	return model.Pool{}
}

// catalog is what can be bought for a pool.
func (a Answer) catalog(pool string) model.Catalog { return a.World.Catalog(pool, a.pool(pool).Class) }

// offerings counts what is sold for a pool's class.
func (a Answer) offerings(pool string) int {
	n := 0
	for _, t := range a.catalog(pool).Types {
		n += len(t.Offerings)
	}
	return n
}

// waiting counts the pods that asked for a place, and those that only stand for room that buffers keep.
func (a Answer) waiting() (real, virtual int) {
	count := func(k model.PodKey) {
		if _, ok := buffer.Of(k); ok {
			virtual++
		} else {
			real++
		}
	}
	for _, n := range a.Plan.Existing {
		count(n.Pod)
	}
	for _, l := range a.Plan.Unscheduled {
		count(l.Pod)
	}
	for _, b := range a.Plan.NewClaims {
		for _, k := range b.Pods {
			count(k)
		}
	}
	return real, virtual
}
