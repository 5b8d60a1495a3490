package place

import "slices"

// Mechanism names one part of the search. None is needed for a sound plan: each can be left out, to measure what it
// earns (make ablate).
type Mechanism string

// The mechanisms of packing.
const (
	exactSearch   Mechanism = "exact search"
	severalGuides Mechanism = "several guides"
	lpMix         Mechanism = "LP mix"
	localSearch   Mechanism = "local search"
	columnPacking Mechanism = "column generation"
	packingApart  Mechanism = "packing apart"
	separateZones Mechanism = "exchange between machines"
)

// The mechanisms of seating pods, and of deciding again.
const (
	lessonsAhead  Mechanism = "attempts: who was left goes first"
	lessonsGuests Mechanism = "attempts: guests of who they look for"
	varyOne       Mechanism = "vary one thing"
)

// Mechanisms lists all, those of packing first.
func Mechanisms() []Mechanism {
	return []Mechanism{exactSearch, severalGuides, lpMix, localSearch, columnPacking, packingApart, separateZones, lessonsAhead, lessonsGuests, varyOne}
}

// uses reports whether the mechanism is used.
func (in *Input) uses(m Mechanism) bool { return !slices.Contains(in.Without, m) }
