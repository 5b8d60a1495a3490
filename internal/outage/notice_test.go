package outage_test

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/model"
)

var noon = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// said is a notice that was given at noon.
func said(typ string, status model.Status, reason, message string) model.Condition {
	return model.Condition{Type: typ, Status: status, Reason: reason, Message: message, Since: noon}
}

func TestNoticeOf(t *testing.T) {
	const spot, event = model.PreemptionScheduled, model.VMEventScheduled
	const half = 30 * time.Second
	for _, c := range []struct {
		claim     string
		condition model.Condition
		event     string
		until     time.Duration // after noon
	}{
		{"as AKS writes it", said(spot, model.True, "SpotEvictionIncoming",
			"Preempt Scheduled: Sat, 01 Aug 2026 12:05:02 GMT. For more, see x. EventId: 1"),
			outage.Preempt, 5*time.Minute + 2*time.Second},
		{"a day of one digit", said(spot, model.True, "", "Sun, 2 Aug 2026 12:00:00 GMT"),
			outage.Preempt, 24 * time.Hour},
		{"as logs write times", said(spot, model.True, "", "at 2026-08-01T14:01:00+02:00"),
			outage.Preempt, time.Minute},
		{"a time that is none", said(spot, model.True, "", "Sat, 41 Aug 2026 12:05:02 GMT"),
			outage.Preempt, half},
		{"no time", said(spot, model.True, "", ""), outage.Preempt, half},
		{"not any more", said(spot, model.False, "", ""), "", 0},
		{"nobody knows", said(spot, model.Unknown, "", ""), "", 0},
		{"moved", said(event, model.True, "RedeployScheduled", ""),
			outage.Redeploy, half},
		{"named by the message alone", said(event, model.True, "VMEventScheduled",
			"Terminate Scheduled: Sat, 01 Aug 2026 12:15:00 GMT"),
			outage.Terminate, 15 * time.Minute},
		{"frozen for a moment", said(event, model.True, "FreezeScheduled", ""), "", 0},
		{"booted again", said(event, model.True, "RebootScheduled", ""), "", 0},
		{"something else", said(model.NodeHealthy, model.True, "Preempt", ""), "", 0},
	} {
		n, ok := outage.NoticeOf(&model.Node{Conditions: []model.Condition{c.condition}})
		until := n.Until.Sub(noon)
		if ok != (c.event != "") || n.Event != c.event || ok && until != c.until {
			t.Errorf("%s: %q until %s, want %q until %s", c.claim, n.Event, until, c.event, c.until)
		}
	}
}

func TestOfSeveralNoticesTheFirstCounts(t *testing.T) {
	late := said(model.VMEventScheduled, model.True, "TerminateScheduled", "")
	soon := said(model.PreemptionScheduled, model.True, "", "")
	soon.Since = noon.Add(-10 * time.Second)
	for _, list := range [][]model.Condition{{late, soon}, {soon, late}} {
		n, _ := outage.NoticeOf(&model.Node{Conditions: list})
		if n.Event != outage.Preempt {
			t.Errorf("%s, want %s", n.Event, outage.Preempt)
		}
	}
}
