package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
)

// Mechanism names one part of the search, to leave it out.
type Mechanism = portfolio.Mechanism

// The mechanisms of seating pods, and of deciding again.
const (
	lessonsAhead  Mechanism = "attempts: who was left goes first"
	lessonsGuests Mechanism = "attempts: guests of who they look for"
	varyOne       Mechanism = "vary one thing"
)

// Mechanisms lists all, those of packing first.
func Mechanisms() []Mechanism {
	return append(portfolio.Mechanisms(), lessonsAhead, lessonsGuests, varyOne)
}

// uses reports whether the mechanism is used.
func (in *Input) uses(m Mechanism) bool { return !slices.Contains(in.Without, m) }
