package sim

import (
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"sync"
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

const (
	loadStep  = 30 * time.Minute // between changes of the load
	weekGlint = 30 * time.Second // between looks at what the cluster costs
)

// week is what days of load were like.
type week struct {
	dollars    float64 // that machines cost from the beginning to the end
	moved      int64   // pods that were asked to leave
	bought     int     // machines
	fleeting   int     // of these, gone within an hour
	rest, over float64 // at the end, when all is still: dollars an hour, and the share above the bound
}

// days has deployments follow the sun for so many days: a third of the pods at night, all by day, and three times a day one of them doubles for a quarter of an hour.
func (s *Sim) days(n int, names []string) {
	r := rand.New(rand.NewPCG(7, 24))
	burst := map[string]time.Time{}
	s.mu.Lock()
	full := maps.Clone(s.replicas)
	s.mu.Unlock()
	began := time.Now()
	for at := time.Duration(0); at < time.Duration(n)*24*time.Hour; at += loadStep / 2 {
		for i, name := range names {
			if r.IntN(2*96) < 1 { // each quarter of an hour of 96 a day, six deployments
				burst[name] = time.Now().Add(loadStep / 2)
			}
			phase := (at + time.Duration(i)*20*time.Minute).Truncate(loadStep).Hours() / 24
			want := float64(full[name].want) * (2 - math.Cos(2*math.Pi*phase)) / 3
			if time.Now().Before(burst[name]) {
				want *= 2
			}
			s.Scale(name, int(want), full[name].pod)
		}
		time.Sleep(time.Until(began.Add(at + loadStep/2)))
	}
}

// spend adds up what the cluster costs until done is closed.
func (s *Sim) spend(w *week, done chan struct{}) {
	seen := map[string]time.Time{}
	for {
		select {
		case <-done:
			return
		case <-time.After(weekGlint):
		}
		there := map[string]bool{}
		for _, c := range s.Store.Objects().Claims {
			if there[c.Name] = true; seen[c.Name].IsZero() {
				seen[c.Name] = c.Created
			}
		}
		for name, since := range seen {
			if !there[name] {
				delete(seen, name)
				if time.Since(since) < time.Hour {
					w.fleeting++
				}
			}
		}
		w.dollars += s.price().Float() * weekGlint.Hours()
	}
}

// live plays a week under the policy.
func live(t *testing.T, policy model.ConsolidationPolicy) (w week) {
	cfg := Config{Tick: time.Second, Warm: 2 * time.Second, Queue: true, Lazy: true, Shuffle: true, Rand: rand.New(rand.NewPCG(1, 1)),
		Settings: control.Settings{Nominate: true}}
	Run(t, cfg, func(s *Sim) {
		p := pool()
		p.Policy, p.Limits, p.Budgets = policy, nil, []model.DisruptionBudget{{Nodes: "10%"}}
		s.Store.Put(p, class(), daemon())
		names := s.mixed(*weekNodes)
		s.Until("all run", time.Hour, s.allRun)
		moved, bought, done := s.moved.Load(), s.Cloud.Accepted(), make(chan struct{})
		var books sync.WaitGroup
		books.Go(func() { s.spend(&w, done) })
		s.days(*weekDays, names)
		s.stillSince(10*time.Minute, 3*time.Hour)
		close(done)
		books.Wait()
		w.moved, w.bought = s.moved.Load()-moved, s.Cloud.Accepted()-bought
		w.rest = s.price().Float()
		w.over = w.rest/s.cluster()["bound_dollars_per_hour"] - 1
	})
	return w
}

// Days and nights with bursts. Consolidation is paid for in pods that have to move, and earns what the same days cost without it. Machines that were bought and are
// gone within the hour were bought for bursts, or for nothing; decision 75 says what is known of these.
func TestAWeekOfDaysAndNights(t *testing.T) {
	const (
		leastSaved = 0.15 // of what the days cost where only empty nodes leave; 0.27 to 0.36 is
		mostMoved  = 40   // pods for each dollar; 9 to 17 are
		mostBought = 10   // machines a day for each node that is there by day; 3 to 5 are
		mostOver   = 0.40 // above the bound at the end; 0.05 to 0.11 is
	)
	idle, ours := live(t, model.WhenEmpty), live(t, model.WhenEmptyOrUnderutilized)
	saved := idle.dollars - ours.dollars
	t.Logf("%d days, empty nodes leave only: %+v", *weekDays, idle)
	t.Logf("%d days, consolidated: %+v", *weekDays, ours)
	t.Logf("saved $%.2f of $%.2f, %.1f pods moved for each dollar", saved, idle.dollars, float64(ours.moved)/saved)
	if saved < leastSaved*idle.dollars || float64(ours.moved) > mostMoved*saved || ours.bought > mostBought**weekNodes**weekDays || ours.over > mostOver {
		t.Errorf("want %.0f %% saved, at most %d pods moved for each dollar, %d machines bought a day for each node, and %.0f %% above the bound at rest",
			100*leastSaved, mostMoved, mostBought, 100*mostOver)
	}
}
