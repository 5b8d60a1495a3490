// Package bound answers: what could it cost at the very least?
//
// Best says how many dollars per hour any plan must cost that puts the given pods onto new machines of the given kinds, and proves it:
// the certificate prices every kind of pod such that no machine can hold pods worth more than it costs. Check verifies a certificate
// with whole numbers and shares nothing with the search that found it. The package does not place pods (place does) and does not
// judge plans (audit does).
//
// Four tiers, each at least as strong as the one before, given enough effort: L0 looks at one resource at a time; L1 prices all
// resources at once, as if pods were sand; L1Split keeps pods whole in what they may run on and how many go onto a machine, but may
// cut one to fill a machine up; L2 knows that machines hold whole pods only. What is not in a Problem (spread, affinity, limits, minValues)
// is as good as absent: leaving a rule out can only lower the bound, never make it wrong.
package bound

import (
	"fmt"

	"github.com/karpenter-aks/karpenter/model"
)

// Problem is pods to place and machines to buy, in any number. Amounts of one resource share a unit, whatever it is; they are not
// negative and stay below 2^40.
type Problem struct {
	Resources []string // names, for people
	Groups    []Group
	Machines  []Machine
	// Unplaceable counts pods that no machine can hold. They are in no group, and the bound says nothing about them.
	Unplaceable int64
	// Loosened counts pods of which less is asked than they ask for, because to look at all of it was too much. That can only lower the bound.
	Loosened int64
}

// Group is pods that are alike.
type Group struct {
	Name  string  // of one of them
	Need  []int64 // by resource
	Count int64
	Most  int64 // how many of them one machine may hold; 0 = as many as fit
	// On lists the machines that they may run on, as indices into Machines, ascending. Groups may share the list.
	On []int32
}

// Machine is something to buy.
type Machine struct {
	Name  string
	Room  []int64 // by resource, what daemons take already taken away
	Price model.Price
}

// Tier names how a bound was found.
type Tier int

// The tiers, weak ones first.
const (
	L0 Tier = iota
	L1
	L1Split
	L2
)

// String prints "L1'".
func (t Tier) String() string { return [...]string{"L0", "L1", "L1'", "L2"}[t] }

// explain says in words what a tier means.
func (t Tier) explain() string {
	return [...]string{"one resource at a time", "all resources, pods as sand", "all resources, pods that may be cut", "whole pods"}[t]
}

// Worth counts in tenths of a millionth of a micro-dollar per hour, so that prices of pods can be whole numbers.
const (
	unit    = 10_000_000 // worth of one micro-dollar
	maxNeed = 1 << 40
)

// Certificate proves that no plan for a Problem costs less than Value.
type Certificate struct {
	Tier  Tier
	Value model.Price
	// Worth is the price of one pod of each group, in units of 1e-7 micro-dollars.
	Worth []int64
	// Proofs show that a machine cannot hold pods worth more than its price; Use says which one is for which machine.
	Proofs []Proof
	Use    []int32
}

// Of is what one pod of a group is worth, in micro-dollars per hour; all pods together are worth at
// most a micro-dollar less than Value.
func (c Certificate) Of(group int32) float64 { return float64(c.Worth[group]) / unit }

// Proof is a tree. A leaf prices resources; an inner node says: either at most At pods of Group are on the machine, or more.
type Proof struct {
	Prices    []int64 // of one unit of each resource, in the unit of Worth; leaves only
	Group     int32
	At        int64
	Low, High *Proof // both set, or neither
}

// String prints "at least $1.2345/h (L2: whole pods)".
func (c Certificate) String() string {
	return fmt.Sprintf("at least %s (%s: %s)", c.Value, c.Tier, c.Tier.explain())
}
