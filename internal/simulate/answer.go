package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Answer is what we would do about a world.
type Answer struct {
	World model.World
	Plan  place.Plan
	Notes []string // what was assumed, for people
}

// Unsound is the error for a plan that does not stand up to audit: a defect of ours.
type Unsound struct{ Findings []audit.Finding }

// Error lists the findings.
func (e *Unsound) Error() string {
	var b strings.Builder
	b.WriteString("the plan is unsound, and a controller would refuse it; this is a defect of ours, please report it with the input:")
	for i, f := range e.Findings {
		if i == maxProblems {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Findings)-i)
			break
		}
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// Decide asks the deciders that the controller asks, with the same limits, and audits their answer. The error is *Unsound.
func Decide(w model.World, notes []string) (Answer, error) {
	a := Answer{World: w, Notes: notes, Plan: place.Decide(place.Input{World: w})}
	if f := audit.Check(w, a.Plan); len(f) > 0 {
		return a, &Unsound{f}
	}
	return a, nil
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

// waiting counts the pods that asked for a place.
func (a Answer) waiting() int {
	n := len(a.Plan.Fits) + len(a.Plan.Left)
	for _, b := range a.Plan.Buy {
		n += len(b.Pods)
	}
	return n
}
