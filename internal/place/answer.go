package place

import (
	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
)

// What a plan says, under the names that callers know.
type (
	// Plan is what should be true.
	Plan = answer.Plan
	// NewClaim is one node to buy.
	NewClaim = answer.NewClaim
	// Option is an offering with its price when the plan was made.
	Option = answer.Option
	// Nomination says that a waiting pod fits on a node that is there or on its way.
	Nomination = answer.Nomination
	// Unscheduled is a pod that goes nowhere for now, and why.
	Unscheduled = answer.Unscheduled
	// Refusal says why one pool cannot take one pod.
	Refusal = answer.Refusal
	// Removed counts the offerings that one constraint took away.
	Removed = answer.Removed
	// MinValues says whether minValues of pools are a must.
	MinValues = problem.MinValues
)

// The ways to treat minValues.
const (
	Strict     = problem.Strict
	BestEffort = problem.BestEffort
)
