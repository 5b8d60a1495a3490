package place

import "maps"

// choices are what a search may vary between one decision and the next. The zero value leaves all to the decision.
type choices struct {
	// caps bounds, per group and cell or existing node, how many pods machines may be bought for, or may be seated there.
	caps map[capKey]int
	// ahead says, by key, which groups go first among those of their priority: the greater, the earlier.
	ahead map[string]int
	// leap is set when they go before more important ones, too.
	leap bool
	// alone are groups, by key, that were left over because those that they look for were where they could not join
	// them.
	alone map[string]bool
	// shy says for how many pods of a group nothing is bought in pools of a weight, because machines of lighter pools are
	// to take them along.
	shy map[shyKey]int
	// absent are domains that could have been bought in, and were not by anybody.
	absent map[absence]bool
	// outside is set when pods that are spread over zones may go outside them, too.
	outside bool
}

// clone copies the choices that failures teach; shy is no such one.
func (c *choices) clone() choices {
	return choices{caps: maps.Clone(c.caps), ahead: maps.Clone(c.ahead), leap: c.leap, alone: maps.Clone(c.alone),
		absent: maps.Clone(c.absent), outside: c.outside}
}

// round is one more than any group is ahead.
func (c *choices) round() int {
	round := 1
	for _, n := range c.ahead {
		round = max(round, n+1)
	}
	return round
}

// capKey names a group and a cell, or an existing node.
type capKey struct{ group, at string }

// shyKey names a group and the weight of pools.
type shyKey struct {
	group  string
	weight int
}

// absence names a domain of those that count for a spread.
type absence struct {
	eligible, key, value string
}

// existingKey names an existing node in caps; no cell has such a name.
func existingKey(s *existingNode) string { return "\x01" + s.node + "\x01" + s.claim }

func remember[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
