// Package lifecycle answers: what is the next step for this claim?
//
// Next looks at one claim, the node and the instance that belong to it, and the clock's reading, and names one step.
// It is pure: the caller does the step and asks again when something changed or Step.After has passed. It does not
// choose offerings (place, market), evict pods (drain) or decide which healthy nodes leave (disrupt).
package lifecycle

import (
	"time"

	"github.com/karpenter-aks/karpenter/internal/drift"
	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/model"
)

// Timeouts, as users of Karpenter know them.
const (
	// LaunchTimeout is how long a claim may stay without an accepted instance.
	LaunchTimeout = 5 * time.Minute
	// RegistrationTimeout is how long a launched claim may stay without a registered node.
	RegistrationTimeout = 15 * time.Minute
)

// Distances in time that keep a lagging list from being believed, and a slow cloud from being asked too often.
const (
	// ListGrace is how much younger than a fact a list must be before it may contradict the fact by leaving a machine
	// out: lists of clouds lag by seconds, and ListedAt may be the end of a call that began earlier.
	ListGrace = time.Minute
	// TerminatePoll is how often a machine on its way out is looked at.
	TerminatePoll = 5 * time.Second
	// ClassPoll is how often a claim whose class is undecided looks again.
	ClassPoll = 5 * time.Second
)

// View is everything Next looks at.
type View struct {
	Claim model.Claim
	// Nodes are the nodes whose provider id is the claim's; usually none or one.
	Nodes []model.Node
	// NodeSeen says that an earlier picture showed a node of the claim: one that is gone now was deleted. Not knowing it, as after a
	// restart, costs patience only.
	NodeSeen bool
	// Instance is the cloud's machine for the claim, found by provider id or else by the claim's name and UID; nil when
	// the last list had none. Every new list counts as a change: the caller asks again for every claim.
	Instance *model.Instance
	// ListedAt is when the cloud was last asked about the claim's machine, by a list or by a look; zero before the first list. "No instance" is believed
	// only when the list is younger than the fact it contradicts.
	ListedAt time.Time
	// Pool and Class are nil when they do not exist; never because the mirror has not caught up yet.
	Pool  *model.Pool
	Class *model.Class
	// Hold keeps a node that has joined shut for so long, because of others that are about to (package land); 0 = it need not wait.
	Hold time.Duration
	// Drift is the first difference between the node and what its pool and class ask for now, Hashes annotations that hashes by older rules are
	// replaced with (drift.Wanted).
	Drift  drift.Finding
	Hashes map[string]string
	// Sick is what ails the node where unhealthy ones are replaced, RepairHeld why this one is not now, "" when it is.
	Sick       outage.Sickness
	RepairHeld string
	Now        time.Time
}

// Do is a verb of a Step.
type Do string

// The verbs. Conditions, Drop, ClaimLabels and ClaimAnnotations of a Step are written to the claim whatever the verb.
const (
	Wait         Do = "wait"          // nothing to do until something changes or After has passed
	AddFinalizer Do = "add-finalizer" // before anything is bought: what we create we must be able to find and remove
	Launch       Do = "launch"        // ask the cloud for a machine (market.Launch), then record what was accepted
	Register     Do = "register"      // change the node as NodeChange says, then write the conditions
	Initialize   Do = "initialize"    // change the node as NodeChange says, then write the conditions
	Delete       Do = "delete"        // delete the claim
	DeleteNodes  Do = "delete-nodes"  // the claim is going: its nodes must go first (drain sees to their pods)
	Terminate    Do = "terminate"     // ask the cloud to let go of the machine
	Finish       Do = "finish"        // nothing is left: drop the finalizer
	Record       Do = "record"        // only write Conditions and the rest
)

// Step is what to do next for one claim.
type Step struct {
	Do      Do
	Why     model.Why
	Message string // one sentence for people; "" when Why says it all
	// Refusal is the cloud's own code when it accepted the machine and then did not make it, UnknownError when it gave none;
	// "" otherwise. It is counted, never acted upon.
	Refusal string
	// Conditions to set on the claim, with Since filled in; Drop are conditions to take away.
	Conditions  []model.Condition
	Drop        []string
	ClaimLabels map[string]string
	// ClaimAnnotations are merged into the claim's, like ClaimLabels.
	ClaimAnnotations map[string]string
	// Node is the change to the claim's node; for Register, Node.Name also becomes the claim's status.nodeName.
	Node NodeChange
	// After is when to look again even if nothing changed; zero = only when something changes.
	After time.Duration
}

// NodeChange is what a step does to the claim's node.
type NodeChange struct {
	Name                string
	UID                 string
	Labels, Annotations map[string]string
	AddTaints           []model.Taint
	DropTaints          []string // by key
	AddFinalizer        bool
	OwnClaim            bool // make the claim the node's owner
}
