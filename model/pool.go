package model

import "time"

// Operator compares a label's value with a requirement's values.
type Operator string

// The operators of node requirements. Gte and Lte are Karpenter's own additions.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
	Gt           Operator = "Gt"
	Lt           Operator = "Lt"
	Gte          Operator = "Gte"
	Lte          Operator = "Lte"
)

// Requirement constrains one label of a node. The algebra over requirements is package internal/require.
type Requirement struct {
	Key    string
	Op     Operator
	Values []string
	// MinValues, when positive, asks that the machines still allowed show at least this many distinct values.
	MinValues int
}

// Effect says what a taint does to pods that do not tolerate it.
type Effect string

// The taint effects.
const (
	NoSchedule       Effect = "NoSchedule"
	PreferNoSchedule Effect = "PreferNoSchedule"
	NoExecute        Effect = "NoExecute"
)

// Taint keeps pods off a node.
type Taint struct {
	Key, Value string
	Effect     Effect
}

// String prints "key=value:Effect", as kubectl does.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}

// Toleration lets a pod onto tainted nodes. Empty Key with Op Exists tolerates everything; empty Effect matches all.
type Toleration struct {
	Key    string
	Op     string // "Exists", "Equal" (or "", which means Equal), "Lt", "Gt"
	Value  string
	Effect Effect
	// Seconds bounds how long a NoExecute taint is tolerated; nil means for ever.
	Seconds *int64
}

// Tolerates reports whether t covers the taint. Rules: the Kubernetes API's documentation of tolerations.
func (t Toleration) Tolerates(x Taint) bool {
	if t.Effect != "" && t.Effect != x.Effect {
		return false
	}
	if t.Key != "" && t.Key != x.Key {
		return false
	}
	switch t.Op {
	case "Exists":
		return true
	case "", "Equal":
		return t.Key != "" && t.Value == x.Value
	}
	return false
}

// Untolerated returns the first taint that keeps the pod off: NoSchedule and NoExecute taints that no toleration
// covers. PreferNoSchedule never keeps a pod off.
func Untolerated(taints []Taint, tolerations []Toleration) (Taint, bool) {
next:
	for _, x := range taints {
		if x.Effect == PreferNoSchedule {
			continue
		}
		for _, t := range tolerations {
			if t.Tolerates(x) {
				continue next
			}
		}
		return x, true
	}
	return Taint{}, false
}

// ConsolidationPolicy says which nodes consolidation may touch.
type ConsolidationPolicy string

// The consolidation policies.
const (
	WhenEmpty                ConsolidationPolicy = "WhenEmpty"
	WhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	Balanced                 ConsolidationPolicy = "Balanced"
)

// Pool is the rules under which we may buy (users say NodePool).
type Pool struct {
	Name        string
	UID         string
	Generation  int64
	Created     time.Time
	Deleting    bool
	Annotations map[string]string // of the NodePool object itself
	Conditions  []Condition
	Class       ClassRef
	Weight      int    // 0..100; higher is asked first
	Replicas    *int64 // set on static pools, which take no pending pods

	// The template of the nodes to buy.
	Labels, NodeAnnotations map[string]string
	Taints, StartupTaints   []Taint
	Requirements            []Requirement
	ExpireAfter             *time.Duration // nil = never
	TerminationGracePeriod  *time.Duration // nil = wait for ever

	// Limits maps resource names (also ResourceNodes) to the most that all nodes of the pool together may have, in
	// the units of the resource's column. A missing name is no limit.
	Limits map[string]int64

	Policy           ConsolidationPolicy
	ConsolidateAfter *time.Duration // nil = never
	Budgets          []DisruptionBudget

	// Hash is the drift hash of the template and HashVersion names its rules; both go onto claims.
	Hash, HashVersion string
	// What status says now, so that it is written only when it changes.
	StatusResources Resources
	StatusNodes     int64
	// ClassGeneration is the generation that the class had when status was written; 0 = nobody said.
	ClassGeneration int64
	// Unreadable names what of the object could not be read and is left out here; "" = nothing. See Aside.
	Unreadable string
}

// Ready reports whether p may buy: condition Ready is True, p is not deleting, and we know all that it asks for.
func (p Pool) Ready() bool { return !p.Deleting && p.Unreadable == "" && IsTrue(p.Conditions, Ready) }

// DisruptionBudget bounds how many of a pool's nodes may be leaving at once.
type DisruptionBudget struct {
	Reasons  []string // nil = all; "Underutilized", "Empty", "Drifted"
	Nodes    string   // "10%" or "5"
	Schedule string   // cron in UTC; "" = always
	Duration time.Duration
}
