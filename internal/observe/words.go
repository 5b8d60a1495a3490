package observe

import (
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Leftover says in words why a pod goes nowhere: the pod's own reason, or a reason per pool in the order they were asked.
func Leftover(l place.Leftover) string {
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
	return "Failed to schedule pod, " + strings.Join(parts, "; ")
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
	case model.WhyLaunchTimeout, model.WhyRegisterTimeout:
		return "liveness"
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

// inUnits converts a column value to what metrics show: cores, bytes, counts.
func inUnits(resource string, v int64) float64 {
	if resource == model.ResourceCPU {
		return float64(v) / 1000
	}
	return float64(v)
}
