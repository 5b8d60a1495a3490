// Package outage answers: must this node go, because its machine does or because it is unhealthy?
//
// It reads the conditions that agents write on nodes: announcements that the cloud takes a machine
// away, and signs of a node that does not work. It is pure, deletes nothing (lifecycle names the
// step) and asks no disruption budget: what it finds happens anyway, or is worse than moving.
package outage

import (
	"regexp"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// DefaultNotice is how long a machine stays whose agent does not say until when: the least notice of
// a spot eviction (Azure documentation, "Scheduled Events").
const DefaultNotice = 30 * time.Second

// The events that take a machine away, or all that is on it. Freeze and Reboot do not: the machine
// goes on by itself (AKS documentation, "Node auto-drain").
const (
	Preempt   = "Preempt"
	Terminate = "Terminate"
	Redeploy  = "Redeploy"
)

// Notice is the announcement that the cloud takes a machine away.
type Notice struct {
	Event string
	Since time.Time // when the node said so
	Until time.Time // until then the machine stays
}

// NoticeOf returns the node's notice, of several the one that ends first. O(conditions).
func NoticeOf(n *model.Node) (first Notice, ok bool) {
	for _, c := range n.Conditions {
		event := eventOf(c)
		if c.Status != model.True || event == "" {
			continue
		}
		until, said := timeIn(c.Message)
		if !said {
			until = c.Since.Add(DefaultNotice)
		}
		if !ok || until.Before(first.Until) {
			first, ok = Notice{Event: event, Since: c.Since, Until: until}, true
		}
	}
	return first, ok
}

// Interrupted reports whether the cloud takes the node's machine away.
func Interrupted(n *model.Node) bool {
	_, ok := NoticeOf(n)
	return ok
}

// eventOf names the event that the condition announces, "" when it takes nothing away. The condition
// for all events names its own in the reason or at the head of the message.
func eventOf(c model.Condition) string {
	switch c.Type {
	case model.PreemptionScheduled:
		return Preempt
	case model.VMEventScheduled:
		for _, e := range []string{Preempt, Terminate, Redeploy} {
			if strings.HasPrefix(c.Reason, e) || strings.HasPrefix(c.Message, e) {
				return e
			}
		}
	}
	return ""
}

// moment finds a time in NotBefore's notation of scheduled events, or in RFC 3339.
var moment = regexp.MustCompile(
	`[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|` +
		`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})`)

// timeIn reads the first time that a message holds.
func timeIn(message string) (time.Time, bool) {
	text := moment.FindString(message)
	for _, layout := range []string{"Mon, _2 Jan 2006 15:04:05 GMT", time.RFC3339} {
		t, err := time.Parse(layout, text)
		if err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
