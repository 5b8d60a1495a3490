package model

import "time"

// Status is the state of a condition.
type Status string

// The three states.
const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// Condition is one observed fact about an object, as users see it in its status.
type Condition struct {
	Type               string
	Status             Status
	Reason, Message    string
	Since              time.Time // last change of Status
	ObservedGeneration int64
}

// Said is what the condition says beside its status, "Reason: Message" or what there is of it; "" = nothing.
func (c Condition) Said() string {
	if c.Reason == "" || c.Message == "" {
		return c.Reason + c.Message
	}
	return c.Reason + ": " + c.Message
}

// KeptOfNode reports whether conditions of the type are kept of nodes: those that something is decided by. Others change often and on every node.
func KeptOfNode(typ string) bool {
	return typ == PreemptionScheduled || typ == VMEventScheduled || typ == NodeHealthy
}

// FindCondition returns the condition of the given type.
func FindCondition(list []Condition, typ string) (Condition, bool) {
	for _, c := range list {
		if c.Type == typ {
			return c, true
		}
	}
	return Condition{}, false
}

// IsTrue reports whether the condition of the given type is present and True.
func IsTrue(list []Condition, typ string) bool {
	c, ok := FindCondition(list, typ)
	return ok && c.Status == True
}

// IsFalse reports whether the condition of the given type is present and False.
func IsFalse(list []Condition, typ string) bool {
	c, ok := FindCondition(list, typ)
	return ok && c.Status == False
}

// RootLast compares the types of two conditions: Ready, the sum of the others, stands behind each other one; of two
// others it says nothing, and is 0.
func RootLast(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == Ready:
		return 1
	case b == Ready:
		return -1
	}
	return 0
}

// Changed returns those of want that differ from what have says, ready to be written: Since is now where the status
// changed and the old time where it did not. Nothing to write means an empty result.
func Changed(have, want []Condition, now time.Time) []Condition {
	var out []Condition
	for _, w := range want {
		h, ok := FindCondition(have, w.Type)
		if ok && h.Status == w.Status {
			w.Since = h.Since
			if h.Reason == w.Reason && h.Message == w.Message && h.ObservedGeneration == w.ObservedGeneration {
				continue
			}
		} else {
			w.Since = now
		}
		out = append(out, w)
	}
	return out
}
