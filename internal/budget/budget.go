// Package budget answers: how many of a pool's nodes may leave now?
//
// It reads a pool's disruption budgets: shares, counts, reasons and schedules. It is pure, counts no nodes itself, and
// does not choose which nodes leave (disrupt does). A node that has expired, a person's delete and failures are not budgeted.
package budget

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // container images have no table of time zones

	"github.com/robfig/cron/v3"

	"github.com/karpenter-aks/karpenter/model"
)

// Reasons by which budgets may be limited, as users write them.
const (
	Empty         = "Empty"
	Underutilized = "Underutilized"
	Drifted       = "Drifted"
	// Expired is of nodes that are replaced before they expire. The API knows no such reason: budgets without reasons count.
	Expired = "Expired"
)

// ReasonOf is the reason that users write for moves of nodes with pods; "" for others.
func ReasonOf(why model.Why) string {
	switch why {
	case model.WhyDrifted:
		return Drifted
	case model.WhyUnderutilized:
		return Underutilized
	case model.WhyExpired:
		return Expired
	}
	return ""
}

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
			least = min(least, Count(b.Nodes, total))
		}
	}
	if least == Unlimited {
		return Unlimited
	}
	return max(least-max(leaving, 0), 0)
}

// Check says what cannot be read in the budget: such a budget allows nothing.
func Check(b model.DisruptionBudget) error {
	if b.Schedule == "" {
		if b.Duration != 0 {
			return errors.New("a duration needs a schedule")
		}
		return nil
	}
	if b.Duration <= 0 {
		return errors.New("a schedule needs a duration")
	}
	_, err := window(b.Schedule)
	return err
}

// window reads a schedule: cron's five fields or a macro, in the time of the zone that stands before, as TZ=Europe/Berlin, or else in UTC.
// Where clocks are put forward, a time that is left out does not come on that day; where they are put back, one that comes twice opens the
// window twice.
func window(schedule string) (cron.Schedule, error) {
	zone, rest := "UTC", strings.Fields(schedule)
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		name, ok := strings.CutPrefix(schedule, prefix)
		if ok {
			zone, rest = strings.Fields(name + " .")[0], rest[1:]
			break
		}
	}
	// The names of zones are those of tzdata. Local is none: it is another one on every machine.
	_, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" || zone == "." {
		return nil, fmt.Errorf("%q is no time zone; write one of tzdata's names, such as TZ=Europe/Berlin", zone)
	}
	return cron.ParseStandard("TZ=" + zone + " " + strings.Join(rest, " "))
}

// active reports whether the budget's window contains now: its schedule fired within the last Duration (a fire
// exactly Duration ago is over). ok is false when it cannot be read.
func active(b model.DisruptionBudget, now time.Time) (on, ok bool) {
	if b.Schedule == "" || b.Duration <= 0 {
		return true, Check(b) == nil
	}
	s, err := window(b.Schedule)
	if err != nil {
		return false, false
	}
	next := s.Next(now.Add(-b.Duration))
	// A schedule that never fires (30 February) has no next time, and is never on.
	return !next.IsZero() && !next.After(now), true
}

// Count reads "10%" or "5" as a number of nodes, shares of total rounded up; 0 when it is neither.
func Count(nodes string, total int) int {
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
