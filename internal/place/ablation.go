package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
)

// Mechanism names one part of the search, to leave it out.
type Mechanism = portfolio.Mechanism

// Mechanisms lists all: those of packing, then repairs and savings of the search.
func Mechanisms() []Mechanism {
	out := portfolio.Mechanisms()
	for _, r := range repairs() {
		out = append(out, r.name)
	}
	for _, s := range savings() {
		out = append(out, s.name)
	}
	return out
}

// uses reports whether the mechanism is used.
func (in *Input) uses(m Mechanism) bool { return !slices.Contains(in.Without, m) }
