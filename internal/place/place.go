// Package place answers: where should these pods go?
//
// Decide takes a picture of the world and says which waiting pods fit on machines already paid for, which machines to
// buy for the rest, and, for every pod left over, why each pool refused it. It is pure: it neither buys nor binds, reads
// no clock, and gives the same bytes for the same picture. It does not decide which nodes may leave (disrupt) and
// does not re-check its own answer (audit).
package place

import (
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

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
	// MinValues says whether MinValues of pools are a must; "" = Strict.
	MinValues problem.MinValues
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
