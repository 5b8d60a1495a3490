// Package budget answers: how many of a pool's nodes may leave now?
//
// It reads a pool's disruption budgets: shares, counts, reasons and schedules. It is pure, counts no nodes itself, and
// does not choose which nodes leave (disrupt does). Expiry, a person's delete and failures are not budgeted.
package budget

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/karpenter-aks/karpenter/model"
)

// Reasons by which budgets may be limited, as users write them.
const (
	Empty         = "Empty"
	Underutilized = "Underutilized"
	Drifted       = "Drifted"
)

// Unlimited is the answer when no budget is active for the reason.
const Unlimited = math.MaxInt32

// Allowed returns how many more of the pool's nodes may start to leave now for the reason, given that total of its
// nodes count and leaving of these are leaving or not ready already. It is the least over the budgets that are active
// now and name the reason or none; shares of total round up; a budget that cannot be read allows nothing, because
// too little disruption harms less than too much. Never negative. O(budgets).
func Allowed(pool model.Pool, reason string, total, leaving int, now time.Time) int {
	least := Unlimited
	for _, b := range pool.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		on, ok := active(b, now)
		switch {
		case !ok:
			return 0
		case on:
			least = min(least, count(b.Nodes, total))
		}
	}
	if least == Unlimited {
		return Unlimited
	}
	return max(least-max(leaving, 0), 0)
}

// active reports whether the budget's window contains now: its schedule fired within the last Duration (a fire
// exactly Duration ago is over). ok is false when it cannot be read.
func active(b model.DisruptionBudget, now time.Time) (on, ok bool) {
	if b.Schedule == "" {
		return true, b.Duration == 0
	}
	s, err := cron.ParseStandard("TZ=UTC " + b.Schedule)
	if err != nil || b.Duration <= 0 {
		return false, false
	}
	next := s.Next(now.UTC().Add(-b.Duration))
	// A schedule that never fires (30 February) has no next time, and is never on.
	return !next.IsZero() && !next.After(now), true
}

// count reads "10%" or "5" as a number of nodes; 0 when it is neither.
func count(nodes string, total int) int {
	share, percent := strings.CutSuffix(nodes, "%")
	n, err := strconv.Atoi(share)
	if err != nil || n < 0 || percent && n > 100 {
		return 0
	}
	if percent {
		return (n*max(total, 0) + 99) / 100
	}
	return n
}
