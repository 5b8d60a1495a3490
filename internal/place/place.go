// Package place answers: where should these pods go?
//
// Decide takes a picture of the world and says which waiting pods fit on machines already paid for, which machines to
// buy for the rest, and, for every pod left over, why each pool refused it. It is pure: it neither buys nor binds, reads
// no clock, and gives the same bytes for the same picture. It does not decide which nodes may leave (disrupt) and
// does not re-check its own answer (audit).
package place

import "github.com/karpenter-aks/karpenter/model"

// Input is what Decide looks at.
type Input struct {
	World model.World
	// Pods are the pods to place; empty means every provisionable pod of the picture.
	Pods []model.Pod
	// Limit bounds the work: about so many ways to fill a machine are tried, and so many questions asked whether a pod may go somewhere. All in
	// all a plan costs at most four times as much; 0 = DefaultLimit. A plan cut short says so, and so do the pods left over because of it.
	Limit int
	// Preferences says what preferences are worth; "" = Respect.
	Preferences Preferences
	// MinValues says whether minValues of pools are a must; "" = Strict.
	MinValues MinValues
	// MaxOptions bounds how many offerings a claim may choose from; 0 = DefaultMaxOptions.
	MaxOptions int

	// Accept ends the search when it has accepted so many decisions, the first included; 0 = never. The plan is then that
	// of the line with this number in the trace of the whole search.
	Accept int
	// Without leaves mechanisms out, to measure them; empty in every plan that is meant.
	Without []Mechanism

	// spent counts the work of all attempts.
	spent *int
}

// Defaults of Input.
const (
	DefaultLimit      = 2_000_000
	DefaultMaxOptions = 60
)

// Plan is what should be true: nothing in it has happened yet.
type Plan struct {
	NewClaims   []NewClaim
	Existing    []Nomination
	Unscheduled []Unscheduled
	// Cut is set when the work limit ended the search early; the plan is sound but may be dearer than it could be.
	BudgetExceeded bool
	// Trace lists the decisions that the search accepted, one after the other; the last is the plan.
	Trace []Accepted
	// Price is the sum over Buy of each new claim's cheapest option.
	Price model.Price
}

// Accepted is a decision that was better than the one before.
type Accepted struct {
	Change                string // what was done otherwise, and for whom; "" for the first
	Price                 model.Price
	Machines, Unscheduled int
}

// New claim is one machine to buy. Machines that are alike share the lists of Options and Requirements: they are only read.
type NewClaim struct {
	Pool  string
	Class model.ClassRef
	// Options are the offerings that hold all its pods, best first. Never empty.
	Options []Option
	// Requests is the sum of Pods' requests and of the daemons that will run beside them.
	Requests model.Resources
	Pods     []model.PodKey
	// Requirements is what the claim must ask for: the pool's and its pods' requirements intersected, with the types,
	// zones and capacity types of Options.
	Requirements []model.Requirement
	// Relaxed is set when the options show fewer distinct values than the pool asks for with minValues; Requirements then ask for
	// as many as there are.
	Relaxed bool
	// Chosen is set when the first option was chosen among some of one price, for preferences of the pods or so that not all spot machines are of
	// one kind. The claim says so.
	Chosen bool
}

// Option is an offering with its price when the plan was made.
type Option struct {
	Key   model.OfferingKey
	Price model.Price
}

// Nomination says that a waiting pod fits on a machine that is there or on its way.
type Nomination struct {
	Pod model.PodKey
	// Exactly one of Node and Claim is set: a node of the cluster, or a claim that has no node yet.
	Node, Claim string
}

// Leftover is a pod that goes nowhere for now, and why.
type Unscheduled struct {
	Pod model.PodKey
	// Why is set when the pod itself is the reason, whatever the pool; Detail says it in words.
	Why    model.Why
	Detail string
	// Refusals has one entry per pool asked, in the order they were asked.
	Refusals []Refusal
}

// Refusal says why one pool cannot take one pod.
type Refusal struct {
	Pool   string
	Why    model.Why
	Detail string // in words: which taint, which label, which resource
	// Removed counts, per constraint in the order they were applied, how many offerings it took away. Each offering of the pool's
	// catalogue is counted once, under the first constraint that removes it.
	Removed []Removed
}

// Removed counts the offerings that one constraint took away.
type Removed struct {
	Why model.Why
	// What says which of them it was: a label, a resource, a limit, a taint, a topology key; "" where there is only one.
	What      string
	Offerings int
}

// Cause names the constraint: "resources cpu".
func (r Removed) Cause() string {
	if r.What == "" {
		return string(r.Why)
	}
	return string(r.Why) + " " + r.What
}
