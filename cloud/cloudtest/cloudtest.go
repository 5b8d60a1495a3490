// Package cloudtest answers: is this a cloud as the rest of the house understands one?
//
// It is the exam that every cloud.Fleet sits, twin and real driver alike: a list of questions, each asked of a fresh
// World. It knows no cloud and keeps no time of its own: waiting is one of the World's levers, so the same questions run
// on virtual time and on the wall clock. It does not test what only one cloud can do.
package cloudtest

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// When says at which moment a sold-out offering is refused.
type When string

// The moments.
const (
	AtOnce When = "at-once" // Launch itself answers NoCapacity
	Later  When = "later"   // Launch is accepted, and List shows the machine Failed afterwards
)

// World is one cloud to be examined and the levers that move it. All fields must be set. A World is used by one
// question only; newWorld cleans up after it with t.Cleanup.
type World struct {
	Fleet cloud.Fleet
	// Class can be built now: Inspect finds nothing wrong with it. The catalogue for it has at least three types,
	// two of them with available on-demand offerings of two cores or more.
	Class   model.Class
	Cluster model.Cluster
	// KubernetesVersion is what Inspect is asked about, "1.37.1".
	KubernetesVersion string

	// SellOut makes the cloud refuse machines of exactly this offering from now on.
	SellOut func(key model.OfferingKey, when When)
	// Refuse answers launches of the type with a final no from now on, for a reason that only the cloud understands.
	Refuse func(typ, reason string)
	// SwitchOff stops the running machine of the id from outside and leaves it there.
	SwitchOff func(t *testing.T, id string)
	// Throttle makes the cloud refuse every call with "come back after" until it is called again with zero.
	Throttle func(after time.Duration)
	// Settle lets time pass until done returns true, and fails the test when that takes longer than the world ever
	// should. It is the only way in which a question waits.
	Settle func(t *testing.T, done func() bool)
	// Left names everything the cloud still holds for us: machines, network interfaces, disks. Sorted.
	Left func() []string
}

// Question is one question of the exam.
type Question struct {
	Name string
	Ask  func(t *testing.T, w World)
}

// Run asks every question, each of its own world, as a subtest. Callers on virtual time range over Questions instead,
// because a bubble of virtual time cannot hold subtests.
func Run(t *testing.T, newWorld func(t *testing.T) World) {
	t.Helper()
	for _, q := range Questions() {
		t.Run(q.Name, func(t *testing.T) { q.Ask(t, newWorld(t)) })
	}
}

// Questions lists the exam in a fixed order.
func Questions() []Question {
	return []Question{
		{"catalogue is sorted and priced", catalogue},
		{"inspect finds a good class ready", inspect},
		{"a launched machine is listed until it runs", launch},
		{"launching again for a claim gives the same machine", launchTwice},
		{"launching again with another offering gives the same machine", launchTwiceElsewhere},
		{"different claims get different machines", launchMany},
		{"a machine carries what it was ordered for", carries},
		{"sold out at once is no-capacity with a scope that covers it", soldOutAtOnce},
		{"a refusal that nobody knows is final and says to what", refusedAtOnce},
		{"sold out later is a failed machine with a code", soldOutLater},
		{"a failed machine can be terminated and leaves nothing", terminateFailed},
		{"a terminated machine leaves nothing", terminate},
		{"a machine can be terminated before it runs", terminateEarly},
		{"terminating twice is harmless", terminateTwice},
		{"terminating what never was is not-found", terminateUnknown},
		{"a claim can be launched again after its machine is gone", relaunch},
		{"a look at one machine tells what a list tells", look},
		{"a look at what never was, or was terminated, is not-found", lookAtNothing},
		{"a look at a failed machine says why", lookAtFailed},
		{"a machine that was switched off is stopped and can be terminated", switchedOff},
		{"throttled says when to come back", throttled},
		{"an unknown size is refused", unknownType},
		{"a cancelled call ends with an error and buys nothing", cancelled},
	}
}
