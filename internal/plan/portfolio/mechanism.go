package portfolio

import "slices"

// Mechanism names one part of the search. None is needed for a sound plan: each can be left out, to measure what it
// earns (make ablate).
type Mechanism string

// The mechanisms of packing.
const (
	exactSearch   Mechanism = "exact search"
	severalGuides Mechanism = "several guides"
	localSearch   Mechanism = "local search"
	columnPacking Mechanism = "column generation"
	packingApart  Mechanism = "packing apart"
	separation    Mechanism = "exchange between machines"
)

// Mechanisms lists them.
func Mechanisms() []Mechanism {
	return []Mechanism{exactSearch, severalGuides, localSearch, columnPacking, packingApart, separation}
}

// uses reports whether a mechanism is used.
func (p *Packer) uses(m Mechanism) bool { return !slices.Contains(p.Without, m) }
