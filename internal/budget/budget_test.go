package budget_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/model"
)

// noon is a Wednesday.
var noon = time.Date(2026, 1, 7, 12, 0, 0, 0, time.UTC)

func TestAllowed(t *testing.T) {
	type budgets = []model.DisruptionBudget
	for _, c := range []struct {
		claim          string
		budgets        budgets
		total, leaving int
		want           int
	}{
		{"no budget is no bound", nil, 10, 3, budget.Unlimited},
		{"a count", budgets{{Nodes: "5"}}, 10, 0, 5},
		{"a count less those leaving", budgets{{Nodes: "5"}}, 10, 3, 2},
		{"never negative", budgets{{Nodes: "5"}}, 10, 8, 0},
		{"a share rounds up", budgets{{Nodes: "10%"}}, 11, 0, 2},
		{"a share of few is one", budgets{{Nodes: "10%"}}, 1, 0, 1},
		{"a share of none is none", budgets{{Nodes: "10%"}}, 0, 0, 0},
		{"all", budgets{{Nodes: "100%"}}, 7, 0, 7},
		{"nothing", budgets{{Nodes: "0"}}, 7, 0, 0},
		{"the least counts", budgets{{Nodes: "50%"}, {Nodes: "3"}}, 10, 0, 3},
		{"for this reason", budgets{{Nodes: "1", Reasons: []string{"Drifted", "Empty"}}}, 10, 0, 1},
		{"for another reason", budgets{{Nodes: "1", Reasons: []string{"Drifted"}}}, 10, 4, budget.Unlimited},
		{"nonsense allows nothing", budgets{{Nodes: "some"}}, 10, 0, 0},
		{"negative allows nothing", budgets{{Nodes: "-1"}}, 10, 0, 0},
		{"more than all allows nothing", budgets{{Nodes: "110%"}}, 10, 0, 0},
		{"a window that is open", budgets{{Nodes: "0", Schedule: "0 9 * * mon-fri", Duration: 8 * time.Hour}}, 10, 0, 0},
		{"a window that is over", budgets{{Nodes: "0", Schedule: "0 9 * * mon-fri", Duration: time.Hour}}, 10, 0, budget.Unlimited},
		{"a window on other days", budgets{{Nodes: "0", Schedule: "0 9 * * sat", Duration: 8 * time.Hour}}, 10, 0, budget.Unlimited},
		{"a window opens with its minute", budgets{{Nodes: "0", Schedule: "0 12 * * *", Duration: time.Minute}}, 10, 0, 0},
		{"a window closes with its minute", budgets{{Nodes: "0", Schedule: "0 11 * * *", Duration: time.Hour}}, 10, 0, budget.Unlimited},
		{"a name for a schedule", budgets{{Nodes: "2", Schedule: "@daily", Duration: 24 * time.Hour}}, 10, 0, 2},
		{"a schedule that never comes", budgets{{Nodes: "0", Schedule: "0 0 30 2 *", Duration: time.Hour}}, 10, 0, budget.Unlimited},
		{"a schedule nobody can read allows nothing", budgets{{Nodes: "5", Schedule: "sometimes", Duration: time.Hour}}, 10, 0, 0},
		{"a schedule without duration allows nothing", budgets{{Nodes: "5", Schedule: "@daily"}}, 10, 0, 0},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if got := budget.Allowed(model.Pool{Budgets: c.budgets}, budget.Empty, c.total, c.leaving, noon); got != c.want {
				t.Errorf("allowed %d, want %d", got, c.want)
			}
		})
	}
}

// TestOpenWindowsAreThoseThatFiredLately compares cron arithmetic with walking back minute by minute.
func TestOpenWindowsAreThoseThatFiredLately(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hour := rapid.IntRange(0, 23).Draw(t, "hour")
		length := rapid.IntRange(1, 30*60).Draw(t, "minutes")
		now := noon.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "now")) * time.Second)
		fired := false
		for at := now.Truncate(time.Minute); at.After(now.Add(-time.Duration(length) * time.Minute)); at = at.Add(-time.Minute) {
			fired = fired || at.Hour() == hour && at.Minute() == 30
		}
		want := math.MaxInt32
		if fired {
			want = 1
		}
		schedule := time.Date(2000, 1, 1, hour, 30, 0, 0, time.UTC).Format("4 15 * * *")
		p := model.Pool{Budgets: []model.DisruptionBudget{{Nodes: "1", Schedule: schedule, Duration: time.Duration(length) * time.Minute}}}
		if got := budget.Allowed(p, budget.Drifted, 10, 0, now); got != want {
			t.Errorf("%q for %dm at %s: %d, want %d", schedule, length, now, got, want)
		}
	})
}

// TestWindowsOpenInTheirZone looks at windows around the days on which Berlin puts its clocks forward (29 March 2026, 2:00 to 3:00) and back
// (25 October 2026, 3:00 to 2:00). Times are UTC.
func TestWindowsOpenInTheirZone(t *testing.T) {
	for _, c := range []struct {
		claim, schedule string
		length          time.Duration
		at              string
		open            bool
	}{
		{"in winter, an hour ahead", "TZ=Europe/Berlin 0 9 * * *", time.Hour, "2026-01-07T08:00:00Z", true},
		{"in winter, before", "TZ=Europe/Berlin 0 9 * * *", time.Hour, "2026-01-07T07:59:59Z", false},
		{"in summer, two hours ahead", "TZ=Europe/Berlin 0 9 * * *", time.Hour, "2026-07-07T07:00:00Z", true},
		{"in summer, over", "TZ=Europe/Berlin 0 9 * * *", time.Hour, "2026-07-07T08:00:00Z", false},
		{"the other way to write it", "CRON_TZ=Europe/Berlin 0 9 * * *", time.Hour, "2026-07-07T07:00:00Z", true},
		{"without a zone", "0 9 * * *", time.Hour, "2026-07-07T09:00:00Z", true},
		{"a macro in a zone", "TZ=Asia/Kolkata @daily", time.Hour, "2026-01-06T18:30:00Z", true},
		{"the day of the week is the zone's", "TZ=Asia/Tokyo 0 1 * * mon", time.Hour, "2026-01-04T16:30:00Z", true},
		{"the morning after clocks went forward", "TZ=Europe/Berlin 0 9 * * *", time.Hour, "2026-03-29T07:00:00Z", true},
		{"the morning after clocks went back", "TZ=Europe/Berlin 0 9 * * *", time.Hour, "2026-10-25T08:00:00Z", true},
		{"a night that is an hour shorter ends an hour later by the clock", "TZ=Europe/Berlin 0 22 * * *", 8 * time.Hour, "2026-03-29T04:59:59Z", true},
		{"and not later", "TZ=Europe/Berlin 0 22 * * *", 8 * time.Hour, "2026-03-29T05:00:00Z", false},
		{"a time that is left out does not come", "TZ=Europe/Berlin 30 2 * * *", 30 * time.Minute, "2026-03-29T01:10:00Z", false},
		{"a time that comes twice, the first", "TZ=Europe/Berlin 30 2 * * *", 30 * time.Minute, "2026-10-25T00:40:00Z", true},
		{"blanks of any kind", "TZ=Europe/Berlin\t0  9\t* * *", time.Hour, "2026-01-07T08:00:00Z", true},
	} {
		now, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		want := budget.Unlimited
		if c.open {
			want = 0
		}
		p := model.Pool{Budgets: []model.DisruptionBudget{{Nodes: "0", Schedule: c.schedule, Duration: c.length}}}
		if got := budget.Allowed(p, budget.Drifted, 10, 0, now); got != want {
			t.Errorf("%s: %q at %s allows %d, want %d", c.claim, c.schedule, c.at, got, want)
		}
	}
}

func TestWhatCannotBeReadAllowsNothingAndIsNamed(t *testing.T) {
	for schedule, want := range map[string]string{
		"TZ=Europe/Berlln 0 9 * * *": `"Europe/Berlln" is no time zone`,
		"TZ=Local 0 9 * * *":         `"Local" is no time zone`,
		"TZ= 0 9 * * *":              "time zone",
		"TZ=Europe/Berlin":           "expected exactly 5 fields",
		"TZ=../../etc/passwd @daily": "is no time zone",
		"sometimes":                  "expected exactly 5 fields",
		"0 25 * * *":                 "above maximum",
	} {
		b := model.DisruptionBudget{Nodes: "5", Schedule: schedule, Duration: time.Hour}
		err := budget.Check(b)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want words with %q", schedule, err, want)
		}
		if got := budget.Allowed(model.Pool{Budgets: []model.DisruptionBudget{b}}, budget.Empty, 10, 0, noon); got != 0 {
			t.Errorf("%q allows %d, want none", schedule, got)
		}
	}
}
