// Package answer says what a plan may say: claims to create, pods that fit on what is there, pods left over and why.
package answer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Plan is what should be true: nothing in it has happened yet.
type Plan struct {
	NewClaims   []NewClaim
	Existing    []Nomination
	Unscheduled []Unscheduled
	// Cut is set when the work limit ended the search early; the plan is sound but may be dearer than it could be.
	BudgetExceeded bool
	// Order lists the pods with a place that are tied to others by what they ask of each other, such that they can be bound one after the other, if
	// those that have to wait are tried again. A hint: whoever reads the plan checks it. Empty where no pod is tied.
	Order []model.PodKey
	// Trace lists the decisions that the search accepted, one after the other; the last is the plan.
	Trace []Accepted
	// Price is the sum over Buy of each new claim's cheapest option.
	Price model.Price
}

// Accepted is a decision that was better than the one before.
type Accepted struct {
	Change                string // what was done otherwise, and for whom; "" for the first
	Price                 model.Price
	Machines, Unscheduled int
}

// New claim is one machine to buy. Machines that are alike share the lists of Options and Requirements: they are only read.
type NewClaim struct {
	Pool  string
	Class model.ClassRef
	// Options are the offerings that hold all its pods, best first. Never empty.
	Options []Option
	// Requests is the sum of Pods' requests and of the daemons that will run beside them.
	Requests model.Resources
	Pods     []model.PodKey
	// Requirements is what the claim must ask for: the pool's and its pods' requirements intersected, with the types,
	// zones and capacity types of Options.
	Requirements []model.Requirement
	// Relaxed is set when the options show fewer distinct values than the pool asks for with minValues; Requirements then ask for
	// as many as there are.
	Relaxed bool
	// Chosen is set when the first option was chosen among some of one price, for preferences of the pods or so that not all spot machines are of
	// one kind. The claim says so.
	Chosen bool
}

// Option is an offering with its price when the plan was made.
type Option struct {
	Key   model.OfferingKey
	Price model.Price
}

// Nomination says that a waiting pod fits on a machine that is there or on its way.
type Nomination struct {
	Pod model.PodKey
	// Exactly one of Node and Claim is set: a node of the cluster, or a claim that has no node yet.
	Node, Claim string
}

// Leftover is a pod that goes nowhere for now, and why.
type Unscheduled struct {
	Pod model.PodKey
	// Why is set when the pod itself is the reason, whatever the pool; Detail says it in words.
	Why    model.Why
	Detail string
	// Refusals has one entry per pool asked, in the order they were asked.
	Refusals []Refusal
}

// Refusal says why one pool cannot take one pod.
type Refusal struct {
	Pool   string
	Why    model.Why
	Detail string // in words: which taint, which label, which resource
	// Removed counts, per constraint in the order they were applied, how many offerings it took away. Each offering of the pool's
	// catalogue is counted once, under the first constraint that removes it.
	Removed []Removed
}

// Removed counts the offerings that one constraint took away.
type Removed struct {
	Why model.Why
	// What says which of them it was: a label, a resource, a limit, a taint, a topology key; "" where there is only one.
	What      string
	Offerings int
	// Most is, where the constraint is a resource, the largest amount that one of the offerings leaves which nothing before
	// it removed; in the units of the resource's column, 0 where there is none. Who asks for as much is not refused by it.
	Most int64
}

// Cause names the constraint: "resources cpu".
func (r Removed) Cause() string {
	if r.What == "" {
		return string(r.Why)
	}
	return string(r.Why) + " " + r.What
}

// CompareKeys orders pods by namespace, then name.
func CompareKeys(a, b model.PodKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

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
		fmt.Fprintf(&b, "buy for %s: %s\n", x.Pool, some(x.Options, func(o Option) string {
			return o.Key.String() + " " + o.Price.String()
		}))
		fmt.Fprintf(&b, "  pods: %s\n  requests: %s\n", some(x.Pods, model.PodKey.String),
			x.Requests)
		if x.Relaxed {
			b.WriteString(
				"  relaxed: fewer distinct values to choose from than the pool's minValues\n",
			)
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
