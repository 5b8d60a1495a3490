package place

import (
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// maxShown bounds how many pods or options one line of text names.
const maxShown = 4

// String prints the plan for people, one decision per line; long lists are cut and counted. The same plan prints the same.
func (p Plan) String() string {
	var b strings.Builder
	for _, n := range p.Existing {
		where := "node " + n.Node
		if n.Node == "" {
			where = "claim " + n.Claim
		}
		fmt.Fprintf(&b, "%s fits on %s\n", n.Pod, where)
	}
	for _, x := range p.NewClaims {
		fmt.Fprintf(&b, "buy for %s: %s\n", x.Pool, some(x.Options, func(o Option) string { return o.Key.String() + " " + o.Price.String() }))
		fmt.Fprintf(&b, "  pods: %s\n  requests: %s\n", some(x.Pods, model.PodKey.String), x.Requests)
		if x.Relaxed {
			b.WriteString("  relaxed: fewer distinct values to choose from than the pool's minValues\n")
		}
	}
	for i := 0; i < len(p.Unscheduled); {
		n := 1
		for i+n < len(p.Unscheduled) && sameReason(p.Unscheduled[i], p.Unscheduled[i+n]) {
			n++
		}
		b.WriteString(p.Unscheduled[i].text(n - 1))
		i += n
	}
	if p.BudgetExceeded {
		b.WriteString("the search was cut short\n")
	}
	fmt.Fprintf(&b, "price %s\n", p.Price)
	return b.String()
}

func some[T any](list []T, text func(T) string) string {
	var parts []string
	for i, x := range list {
		if i == maxShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, text(x))
	}
	return strings.Join(parts, ", ")
}

func sameReason(a, b Unscheduled) bool {
	b.Pod = a.Pod
	return a.text(0) == b.text(0)
}

func (l Unscheduled) text(more int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s stays", l.Pod)
	if more > 0 {
		fmt.Fprintf(&b, ", and %d more like it", more)
	}
	if l.Why != "" {
		fmt.Fprintf(&b, ": %s: %s", l.Why, l.Detail)
	}
	b.WriteByte('\n')
	for _, r := range l.Refusals {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	return b.String()
}

// String prints "general: taint: taint gpu=true:NoSchedule is not tolerated (taint -12)".
func (r Refusal) String() string {
	s := fmt.Sprintf("%s: %s: %s", r.Pool, r.Why, r.Detail)
	var parts []string
	for _, x := range r.Removed {
		parts = append(parts, fmt.Sprintf("%s -%d", x.Cause(), x.Offerings))
	}
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	return s
}
