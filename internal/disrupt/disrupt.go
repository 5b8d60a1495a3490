// Package disrupt answers: which nodes may leave, and what replaces them?
//
// Decide looks at a picture and names moves: nodes that are empty, each with its reason; for every other managed node
// it says why it stays. It is pure, and neither deletes (control does) nor counts budgets itself (budget does). Expiry is
// not decided here: a claim that is too old goes whatever its node does and whatever budgets say (lifecycle).
package disrupt

import (
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Input is what Decide looks at.
type Input struct {
	World model.World
	Now   time.Time
	// Nominated maps node names to the moment until which waiting pods are expected there: such nodes stay.
	Nominated map[string]time.Time
}

// Decision is which nodes leave now and why the others stay.
type Decision struct {
	Moves []Move
	Kept  []Kept
	// After is when a kept node may first change its mind by the passing of time alone; zero = only when something changes.
	After time.Duration
}

// Move is nodes to leave, by claim name, and what it saves. (Replacements come with consolidation.)
type Move struct {
	Claims []string
	Why    model.Why // WhyEmpty or WhyExpired
	Saves  model.Price
}

// Kept is a managed node that stays, and why.
type Kept struct {
	Claim, Node string
	Why         model.Why
	Detail      string
}
