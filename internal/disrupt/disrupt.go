// Package disrupt answers: which nodes may leave, and what replaces them?
//
// Decide looks at a picture and names moves: nodes that are empty, that are no longer what their
// pool asks for, or whose pods cost less elsewhere. Each has its reason, and for every other managed
// node it says why that stays. It is pure, and neither deletes (control does) nor reads budgets
// itself (budget does) nor says where pods go (place does). Expiry is not decided here: a claim that
// is too old goes whatever its node does and whatever budgets say (lifecycle).
package disrupt

import (
	"time"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Input is what Decide looks at.
type Input struct {
	World model.World
	Now   time.Time
	// Expected names the nodes on which waiting pods are expected (place.Expected): such nodes stay.
	// It costs a plan, and is asked at most once, when a node would leave otherwise; nil = none are.
	Expected func() map[string]bool
	// Sweep has nodes with pods looked at, too, whether they have drifted or their pods cost less
	// elsewhere. It costs about a plan for all pods. Otherwise such nodes stay.
	Sweep bool
	// Held are claims, by name, of which no new move may begin before the time: one failed.
	Held map[string]time.Time
	// Repair says that unhealthy nodes are replaced (package lifecycle), and not looked at here.
	Repair bool
	// Static has drifted and expiring nodes of static pools replaced.
	Static bool
	// SpotToSpot lets spot machines be replaced with cheaper spot machines.
	SpotToSpot bool
	// KubeletIdentity is the client id under which new kubelets run, "" = not known (drift.Want).
	KubeletIdentity string
	// MinValues says whether minValues of pools are a must for what is bought; "" = place.Strict.
	MinValues place.MinValues
}

// Decision is which nodes leave now and why the others stay.
type Decision struct {
	Moves []Move
	Kept  []Kept
	// Observed are moves that would be begun, if their pools were not only observed.
	Observed []Move
	// Asking are pods with the annotation do-not-disrupt that were looked at, each once or more.
	Asking []model.PodKey
	// Undo are moves that were begun and are not right any more.
	Undo []Undo
	// Unmark are marked nodes, of no move, that stay after all: the mark is to be taken away.
	Unmark []string
	// Ages is after how long the first node comes so near its end that nodes are to be looked at with
	// Sweep although nothing changed; zero = never, or not known.
	Ages time.Duration
	// After is when a kept node may first change its mind by the passing of time alone; zero = only
	// when something changes.
	After time.Duration
}

// Move is nodes to leave together, what replaces them, and what that saves.
//
// A move of an empty node has two steps, because the scheduler may bind a pod between our look and
// our act. The mark is the disrupted taint:
//
//	stays ──mark──▶ marked ──still right──▶ claims deleted
//	  ▲                └──not right any more──▶ unmarked ──┐
//	  └────────────────────────────────────────────────────┘
//
// A move of nodes with pods is written to the cluster first, on the claims (Record). Then the nodes
// are marked, what replaces them is bought, and when it is there and all pods still have a place,
// the claims are deleted:
//
//	stays ──record, mark, buy──▶ waits ──replacements are there──▶ still right? ──▶ claims deleted
//	  ▲                            └──one is lost──▶ undone ◀──no──┘
//	  └──────────────────────────────────────────────┘
type Move struct {
	Claims []string
	Nodes  []string  // of the claims, in the same order
	Why    model.Why // WhyEmpty, WhyDrifted, WhyExpired, WhyUnderutilized
	Detail string    // what has drifted; "" when the reason tells
	Saves  model.Price
	// Marked is set when the nodes carry the mark already, and so take no new pods, and what replaces
	// them is there: then the claims may be deleted. Otherwise the move is to be begun.
	Marked bool
	// Record is what to write on the claims; without claims for an empty node.
	Record Record
	// Buy are the machines to buy before, one for each of Record.Replacements.
	Buy []place.NewClaim
	// Pods is how many pods need another place; Fits are those that fit on what is there.
	Pods int
	Fits []place.Nomination
}

// Undo is a move to take back: records and marks go, and so do replacements that nobody uses.
type Undo struct {
	Claims, Nodes []string // that carry the record, and their nodes
	Cancel        []string // claims to delete
	// Move is what the nodes were to leave for; "" = that cannot be read any more.
	Move   model.Why
	Why    model.Why
	Detail string
}

// Kept is a managed node that stays, and why.
type Kept struct {
	Claim, Node string
	Why         model.Why
	Detail      string
}
