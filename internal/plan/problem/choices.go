package problem

import (
	"maps"
	"strings"
)

// Choices are what a search may vary between one decision and the next. The zero value leaves all to the decision.
type Choices struct {
	// Caps bounds, per class and cell or existing node, how many pods machines may be bought for, or may be seated there.
	Caps map[CapKey]int
	// Ahead says, by key, which classes go first among those of their priority: the greater, the earlier.
	Ahead map[string]int
	// Leap is set when they go before more important ones, too.
	Leap bool
	// Alone are classes, by key, that were left over because those that they look for were where they could not join
	// them.
	Alone map[string]bool
	// Shy says for how many pods of a class nothing is bought in pools of a weight, because machines of lighter pools are
	// to take them along.
	Shy map[ShyKey]int
	// Absent are domains that could have been bought in, and were not by anybody.
	Absent map[Absence]bool
	// Outside is set when pods that are spread over zones may go outside them, too.
	Outside bool
}

// Clone copies the choices that failures teach; shy is no such one.
func (c *Choices) Clone() Choices {
	return Choices{
		Caps:    maps.Clone(c.Caps),
		Ahead:   maps.Clone(c.Ahead),
		Leap:    c.Leap,
		Alone:   maps.Clone(c.Alone),
		Absent:  maps.Clone(c.Absent),
		Outside: c.Outside,
	}
}

// Round is one more than any class is ahead.
func (c *Choices) Round() int {
	round := 1
	for _, n := range c.Ahead {
		round = max(round, n+1)
	}
	return round
}

// CapKey names a class and a cell, or an existing node.
type CapKey struct{ Group, At string }

// Existing reports whether it is an existing node that is named.
func (k CapKey) Existing() bool { return strings.HasPrefix(k.At, existingMark) }

// ShyKey names a class and the weight of pools.
type ShyKey struct {
	Group  string
	Weight int
}

// Absence names a domain of those that count for a spread.
type Absence struct {
	Eligible, Key, Value string
}

// existingMark begins the keys of existing nodes, and of nothing else.
const existingMark = "\x01"

// ExistingKey names an existing node in caps; no cell has such a name.
func ExistingKey(s *ExistingNode) string { return existingMark + s.Node + existingMark + s.Claim }

// Remember sets a key of a map that may be nil.
func Remember[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
