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
	// Expected names the nodes on which waiting pods are expected (place.Expected): such nodes stay. It costs a plan, and is asked at most
	// once, when a node would leave otherwise; nil = none are.
	Expected func() map[string]bool
}

// Decision is which nodes leave now and why the others stay.
type Decision struct {
	Moves []Move
	Kept  []Kept
	// Unmark are marked nodes that stay after all: the mark is to be taken away.
	Unmark []string
	// After is when a kept node may first change its mind by the passing of time alone; zero = only when something changes.
	After time.Duration
}

// Move is nodes to leave, by claim name, and what it saves. (Replacements come with consolidation.)
//
// A move has two steps, because the scheduler may bind a pod between our look and our act. The mark is the disrupted taint:
//
//	stays ──mark──▶ marked ──still right──▶ claims deleted
//	  ▲                └──not right any more──▶ unmarked ──┐
//	  └────────────────────────────────────────────────────┘
type Move struct {
	Claims []string
	Nodes  []string  // of the claims, in the same order
	Why    model.Why // WhyEmpty
	Saves  model.Price
	// Marked is set when the nodes carry the mark already, and so take no new pods: then the claims may be deleted.
	// Otherwise the nodes are to be marked, and nothing more.
	Marked bool
}

// Kept is a managed node that stays, and why.
type Kept struct {
	Claim, Node string
	Why         model.Why
	Detail      string
}
