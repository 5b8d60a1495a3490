package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Leftover says in words why a pod goes nowhere: the pod's own reason, or a reason per pool in the order they were asked.
func Leftover(l place.Unscheduled) string {
	if len(l.Refusals) == 0 {
		return "Failed to schedule pod: " + reason(l.Why, l.Detail)
	}
	parts := make([]string, 0, len(l.Refusals))
	for _, r := range l.Refusals {
		s := fmt.Sprintf("nodepool %q: %s", r.Pool, reason(r.Why, r.Detail))
		if n := removed(r); n != "" {
			s += " (" + n + ")"
		}
		parts = append(parts, s)
	}
	return "Failed to schedule pod, " + share(parts, longestEvent)
}

const (
	// longestEvent bounds the reasons in an event, in bytes: the API server takes 1,024 with what stands before them.
	longestEvent = 960
	// leastShare is how many bytes a reason needs to say something.
	leastShare = 80
)

// share joins the parts within so many bytes: a long one is cut before it pushes the others out, and what finds no room is
// counted.
func share(parts []string, bytes int) string {
	const between = "; "
	shown := parts
	if most := bytes / (leastShare + len(between)); len(parts) > most && len(strings.Join(parts, between)) > bytes {
		shown = parts[:most-1]
	}
	room := bytes - len(between)*len(shown)
	if len(shown) < len(parts) {
		room -= leastShare
	}
	out := make([]string, 0, len(shown)+1)
	for i, most := range shares(shown, room) {
		out = append(out, cut(shown[i], most))
	}
	if n := len(parts) - len(shown); n > 0 {
		out = append(out, fmt.Sprintf("and %d nodepools more", n))
	}
	return strings.Join(out, between)
}

// shares says how many bytes each part gets: short ones what they need, long ones the same.
func shares(parts []string, room int) []int {
	out := make([]int, len(parts))
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(parts[a]), len(parts[b])) })
	for k, i := range order {
		out[i] = min(len(parts[i]), room/(len(order)-k))
		room -= out[i]
	}
	return out
}

// cut shortens s to so many bytes, between letters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const more = "…"
	for most = max(0, most-len(more)); most > 0 && !utf8.RuneStart(s[most]); most-- {
	}
	return s[:most] + more
}

func reason(w model.Why, detail string) string {
	if detail == "" {
		return string(w)
	}
	return string(w) + ": " + detail
}

func removed(r place.Refusal) string {
	var parts []string
	for _, x := range r.Removed {
		if x.Offerings > 0 {
			parts = append(parts, fmt.Sprintf("%s removed %d", x.Cause(), x.Offerings))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "offerings: " + strings.Join(parts, ", ")
}

// title prints a reason as events show it: "empty" becomes "Empty".
func title(w model.Why) string {
	if w == "" {
		return ""
	}
	return strings.ToUpper(string(w[:1])) + strings.ReplaceAll(string(w[1:]), "-", " ")
}

// disruptionReason prints a reason as the metrics' label values have it.
func disruptionReason(w model.Why) string {
	switch w {
	case model.WhyNoCapacity, model.WhyInstanceFailed:
		return "insufficient_capacity"
	case model.WhyClassNotReady, model.WhyClassGone:
		return "nodeclass_not_ready"
	}
	return strings.ReplaceAll(string(w), "-", "_")
}

func orWord(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// list prints at most n names and how many more there are.
func list(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
