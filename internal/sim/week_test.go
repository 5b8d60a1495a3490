package sim

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
)

var (
	// weekNodes is about how many nodes TestAWeekOfDaysAndNights has by day, weekDays how long it is.
	weekNodes = flag.Int("week-nodes", 15, "about how many nodes the cluster of a week of days and nights has by day")
	weekDays  = flag.Int("week-days", 1, "how many days a week of days and nights has")
)

// week is what days of load were like, and what is left at their end.
type week struct {
	Days
	rest, over float64 // when all is still: dollars an hour, and the share above the bound
}

// live plays a week under the policy.
func live(t *testing.T, policy model.ConsolidationPolicy) (w week) {
	cfg := Config{Tick: time.Second, Warm: 2 * time.Second, Queue: true, Lazy: true, Shuffle: true, Rand: rand.New(rand.NewPCG(1, 1)),
		Settings: control.Settings{Nominate: true}}
	Run(t, cfg, func(s *Sim) {
		p := pool()
		p.Policy, p.Limits, p.Budgets = policy, nil, []model.DisruptionBudget{{Nodes: "10%"}}
		s.Store.Put(p, class(), daemon())
		w.Days = s.Live(*weekDays, s.Mixed(*weekNodes))
		w.rest = s.Price().Float()
		w.over = w.rest/s.cluster()["bound_dollars_per_hour"] - 1
	})
	return w
}

// Days and nights with bursts. Consolidation is paid for in pods that have to move, and earns what the same days cost without it. Machines that were bought and are
// gone within the hour were bought for bursts, or for nothing; decisions 75 and 82 say what is known of these.
func TestAWeekOfDaysAndNights(t *testing.T) {
	const (
		leastSaved = 0.15 // of what the days cost where only empty nodes leave; 0.27 to 0.36 is
		mostMoved  = 40   // pods for each dollar; 9 to 17 are
		mostBought = 10   // machines a day for each node that is there by day; 3 to 5 are
		mostOver   = 0.40 // above the bound at the end; 0.05 to 0.11 is
	)
	idle, ours := live(t, model.WhenEmpty), live(t, model.WhenEmptyOrUnderutilized)
	saved := idle.Dollars - ours.Dollars
	t.Logf("%d days, empty nodes leave only: %+v", *weekDays, idle)
	t.Logf("%d days, consolidated: %+v", *weekDays, ours)
	t.Logf("saved $%.2f of $%.2f, %.1f pods moved for each dollar", saved, idle.Dollars, float64(ours.Moved)/saved)
	if saved < leastSaved*idle.Dollars || float64(ours.Moved) > mostMoved*saved || ours.Bought > mostBought**weekNodes**weekDays || ours.over > mostOver {
		t.Errorf("want %.0f %% saved, at most %d pods moved for each dollar, %d machines bought a day for each node, and %.0f %% above the bound at rest",
			100*leastSaved, mostMoved, mostBought, 100*mostOver)
	}
}
