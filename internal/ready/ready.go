// Package ready answers: may this pool buy, and may this class be built?
//
// Its functions look at a pool or a class and name the conditions that its status should show, in words that say what is
// wrong and where. They are pure; they ask no cloud (cloud.Fleet.Inspect did) and write no status (control does).
package ready

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/model"
)

// Pool returns the conditions of a pool: ValidationSucceeded, NodeClassReady and their sum, Ready. class is nil when the
// pool's class does not exist. barren says why its requirements leave nothing, or too little choice, of all that the cloud sells, "" when
// they leave enough or nobody knows; the condition InstanceTypesFound is there only once they did not, since pools of other installations have none. A pool
// that can buy nothing is not ready: upstream leaves it ready and skips it when it plans, so that the effect is the same and people see it.
// Since is left zero.
func Pool(p model.Pool, class *model.Class, barren string) []model.Condition {
	valid := model.Condition{Type: model.ValidationSucceeded, Status: model.True, Reason: model.ValidationSucceeded}
	if problems := Problems(p); len(problems) > 0 {
		valid.Status, valid.Reason = model.False, "NodePoolValidationFailed"
		valid.Message = strings.Join(problems, "; ")
	}
	built := model.Condition{Type: model.NodeClassReady, Status: model.True, Reason: model.NodeClassReady}
	switch {
	case class == nil:
		built.Status, built.Reason = model.False, "NodeClassNotFound"
		built.Message = fmt.Sprintf("spec.template.spec.nodeClassRef: no %s named %q in group %q; create it or correct the reference",
			p.Class.Kind, p.Class.Name, p.Class.Group)
	case class.Deleting:
		built.Status, built.Reason = model.False, "NodeClassTerminating"
		built.Message = fmt.Sprintf("%s is being deleted", p.Class)
	case !class.Ready():
		built.Status, built.Reason = model.False, "NodeClassNotReady"
		built.Message = fmt.Sprintf("%s is not ready: %s", p.Class, notReady(*class))
	}
	parts := []model.Condition{valid, built}
	_, had := model.FindCondition(p.Conditions, model.InstanceTypesFound)
	switch {
	case barren != "":
		parts = append(parts, model.Condition{Type: model.InstanceTypesFound, Status: model.False, Reason: "NoCompatibleInstanceTypes", Message: barren})
	case had:
		parts = append(parts, model.Condition{Type: model.InstanceTypesFound, Status: model.True, Reason: model.InstanceTypesFound})
	}
	return withRoot(p.Generation, parts...)
}

// Features says on a pool which kinds, of features that users switched on, the API server does not serve: no object of such a kind can carry it,
// and pools are what the features change. Nothing else waits for them, so it is no part of Ready. The condition is there only once something
// was not served.
func Features(p model.Pool, unserved []model.Unserved) []model.Condition {
	c := model.Condition{Type: model.FeaturesServed, Status: model.True, Reason: model.FeaturesServed, ObservedGeneration: p.Generation}
	if _, had := model.FindCondition(p.Conditions, model.FeaturesServed); !had && len(unserved) == 0 {
		return nil
	}
	var names []string
	for _, u := range unserved {
		names = append(names, u.Resource+"/"+u.Version)
	}
	if len(names) > 0 {
		c.Status, c.Reason = model.False, "Unserved"
		c.Message = "the API server does not serve " + strings.Join(names, ", ") + ": the features that need them wait; install the CRDs of this version or switch the feature gates off"
	}
	return []model.Condition{c}
}

// Paused says on a pool what of it is on hold, and which words nobody can read. It is no part of Ready, since pods that wait say themselves what
// they wait for. The condition is there only once something was on hold.
//
// failed says that failures have paused drift, "" when they have not.
func Paused(p model.Pool, held model.Pause, failed string) []model.Condition {
	c := model.Condition{Type: model.Paused, Status: model.False, Reason: "NothingPaused", ObservedGeneration: p.Generation}
	if _, had := model.FindCondition(p.Conditions, model.Paused); !had && !held.Anything() && failed == "" {
		return nil
	}
	var said []string
	if words := held.Words(); len(words) > 0 {
		c.Status, c.Reason = model.True, "Asked"
		said = append(said, "paused: "+strings.Join(words, ", "))
	}
	if held.Observe {
		c.Status, c.Reason = model.True, "Asked"
		said = append(said, "nodes that would leave are told of and stay")
	}
	if failed != "" {
		c.Status, c.Reason = model.True, "ReplacementsFailed"
		said = append(said, failed)
	}
	if len(held.Unreadable) > 0 {
		c.Reason = "Unreadable"
		said = append(said, "these annotations cannot be read, and what they are about is on hold until they are corrected: "+strings.Join(held.Unreadable, ", "))
	}
	c.Message = strings.Join(said, "; ")
	return []model.Condition{c}
}

// Disruption says on a pool what of its budgets and annotations about disruption cannot be read, and what counts instead. Pods get machines all the
// same, so it is no part of Ready. The condition is there only once something could not be read.
func Disruption(p model.Pool) []model.Condition {
	c := model.Condition{Type: model.DisruptionValid, Status: model.True, Reason: model.DisruptionValid, ObservedGeneration: p.Generation}
	var wrong []string
	for i, b := range p.Budgets {
		if err := budget.Check(b); err != nil {
			wrong = append(wrong, fmt.Sprintf("spec.disruption.budgets[%d]: %v; until it is corrected no node leaves for its reasons", i, err))
		}
	}
	if _, _, err := p.MinimumSaving(); err != nil {
		wrong = append(wrong, fmt.Sprintf("metadata.annotations[%s]: %v; the default counts", model.AnnotationMinimumSaving, err))
	}
	if _, had := model.FindCondition(p.Conditions, model.DisruptionValid); !had && len(wrong) == 0 {
		return nil
	}
	if len(wrong) > 0 {
		c.Status, c.Reason, c.Message = model.False, "Unreadable", strings.Join(wrong, "; ")
	}
	return []model.Condition{c}
}

// Class returns the conditions of a class: those that the cloud reported and their sum, Ready. Since is left zero.
func Class(c model.Class, reported []model.Condition) []model.Condition {
	return withRoot(c.Generation, reported...)
}

// withRoot adds the root condition: True when all are, else False with the first False one's type, else Unknown.
func withRoot(generation int64, parts ...model.Condition) []model.Condition {
	root := model.Condition{Type: model.Ready, Status: model.True, Reason: model.Ready}
	var bad []string
	for _, c := range parts {
		if c.Status == model.True {
			continue
		}
		bad = append(bad, fmt.Sprintf("%s=%s", c.Type, c.Status))
		if root.Status != model.False {
			root.Status = c.Status
		}
	}
	if len(bad) > 0 {
		root.Reason, root.Message = "UnhealthyDependents", strings.Join(bad, ", ")
		if root.Status != model.False {
			root.Reason = "ReconcilingDependents" // nothing failed: somebody has not looked yet
		}
	}
	out := append(slices.Clone(parts), root)
	for i := range out {
		out[i].ObservedGeneration = generation
		if out[i].Reason == "" {
			out[i].Reason = out[i].Type
		}
	}
	return out
}

func notReady(c model.Class) string {
	var parts []string
	for _, x := range c.Conditions {
		if x.Type == model.Ready || x.Status == model.True {
			continue
		}
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%s: %s %s", x.Type, x.Reason, x.Message), " "))
	}
	if len(parts) == 0 {
		return "its status has not been worked out yet"
	}
	return strings.Join(parts, "; ")
}

var (
	labelName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	// A kubelet exits at a label or taint whose key is not of a DNS name.
	labelDomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelValue  = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`)
)

// Problems lists what is wrong with the pool's own content, each with the path of the field: what the API server's rules
// cannot see. Empty means valid. Rules: the published NodePool API (label syntax, restricted keys, known values).
func Problems(p model.Pool) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if p.Unreadable != "" {
		add("a value cannot be read, and nothing is decided by this pool until it is corrected: %s", p.Unreadable)
	}
	for _, k := range sortedKeys(p.Labels) {
		path := fmt.Sprintf("spec.template.metadata.labels[%s]", k)
		if why := badKey(k); why != "" {
			add("%s: %s", path, why)
		}
		if v := p.Labels[k]; len(v) > 63 || !labelValue.MatchString(v) {
			add("%s: %q is not a valid label value", path, v)
		}
	}
	seen := map[string]bool{}
	for i, t := range slices.Concat(p.Taints, p.StartupTaints) {
		path := fmt.Sprintf("spec.template.spec.taints[%d]", i)
		if i >= len(p.Taints) {
			path = fmt.Sprintf("spec.template.spec.startupTaints[%d]", i-len(p.Taints))
		}
		if why := badSyntax(t.Key); why != "" {
			add("%s: %s", path, why)
		}
		if len(t.Value) > 63 || !labelValue.MatchString(t.Value) {
			add("%s: %q is not a valid taint value", path, t.Value)
		}
		if t.Effect != model.NoSchedule && t.Effect != model.PreferNoSchedule && t.Effect != model.NoExecute {
			add("%s: %q is not an effect; use %s, %s or %s", path, t.Effect, model.NoSchedule, model.PreferNoSchedule, model.NoExecute)
		}
		id := t.Key + ":" + string(t.Effect)
		if seen[id] {
			add("%s: %s is given twice among taints and startupTaints", path, id)
		}
		seen[id] = true
	}
	for i, r := range p.Requirements {
		for _, why := range badRequirement(r) {
			add("spec.template.spec.requirements[%d] (%s): %s", i, r.Key, why)
		}
	}
	return out
}

func badRequirement(r model.Requirement) []string {
	var out []string
	if why := badKey(r.Key); why != "" && r.Key != model.LabelCapacityType {
		out = append(out, why)
	}
	switch r.Op {
	case model.In, model.NotIn:
		if len(r.Values) == 0 {
			out = append(out, fmt.Sprintf("operator %s needs values", r.Op))
		}
		if r.MinValues > len(r.Values) && r.Op == model.In {
			out = append(out, fmt.Sprintf("minValues %d exceeds the %d values given", r.MinValues, len(r.Values)))
		}
	case model.Exists, model.DoesNotExist:
		if len(r.Values) > 0 {
			out = append(out, fmt.Sprintf("operator %s takes no values", r.Op))
		}
	case model.Gt, model.Lt, model.Gte, model.Lte:
		if len(r.Values) != 1 {
			out = append(out, fmt.Sprintf("operator %s takes exactly one value", r.Op))
		} else if n, err := strconv.ParseInt(r.Values[0], 10, 64); err != nil || n < 0 {
			out = append(out, fmt.Sprintf("operator %s needs a non-negative integer, got %q", r.Op, r.Values[0]))
		}
	default:
		out = append(out, fmt.Sprintf("unknown operator %q", r.Op))
	}
	for _, v := range r.Values {
		if len(v) > 63 || !labelValue.MatchString(v) {
			out = append(out, fmt.Sprintf("%q is not a valid label value", v))
		}
	}
	if r.Key == model.LabelCapacityType && r.Op == model.In && len(r.Values) > 0 {
		known := []string{model.OnDemand, model.Spot, model.Reserved}
		if !slices.ContainsFunc(r.Values, func(v string) bool { return slices.Contains(known, v) }) {
			out = append(out, fmt.Sprintf("none of %v is a capacity type; use %v", r.Values, known))
		}
	}
	return out
}

// badKey says why a label key may not be set by a pool, or "".
func badKey(k string) string {
	if why := badSyntax(k); why != "" {
		return why
	}
	switch k {
	case model.LabelPool, model.LabelHostname:
		return fmt.Sprintf("label %s is set by the controller and may not be chosen", k)
	}
	domain, _, _ := strings.Cut(k, "/")
	if domain == "karpenter.sh" && k != model.LabelCapacityType {
		return "labels of domain karpenter.sh are reserved"
	}
	return ""
}

func badSyntax(k string) string {
	name := k
	if domain, rest, ok := strings.Cut(k, "/"); ok {
		name = rest
		if len(domain) > 253 || !labelDomain.MatchString(domain) {
			return fmt.Sprintf("%q has no valid domain before the slash", k)
		}
	}
	if len(name) > 63 || !labelName.MatchString(name) {
		return fmt.Sprintf("%q is not a valid key", k)
	}
	return ""
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Annotations of the drift hash on an AKSNodeClass.
const (
	annotationClassHash        = "karpenter.azure.com/aksnodeclass-hash"
	annotationClassHashVersion = "karpenter.azure.com/aksnodeclass-hash-version"
)

// ClassAnnotations returns the drift annotations that the class object lacks or has wrong; nil when it is right.
func ClassAnnotations(c model.Class) map[string]string {
	return missing(c.Annotations, map[string]string{annotationClassHash: c.Hash, annotationClassHashVersion: c.HashVersion})
}

// PoolAnnotations returns the drift annotations that the pool object lacks or has wrong; nil when it is right.
func PoolAnnotations(p model.Pool) map[string]string {
	return missing(p.Annotations, map[string]string{model.AnnotationPoolHash: p.Hash, model.AnnotationPoolHashVersion: p.HashVersion})
}

func missing(have, want map[string]string) map[string]string {
	var out map[string]string
	for k, v := range want {
		if v == "" || have[k] == v {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out
}

// Usage adds up what a pool's machines have: capacity and number of the nodes that joined, and of the claims whose node
// is still on its way (status.resources and status.nodes of the pool). As upstream has it, those that are being deleted do not count.
func Usage(w model.World, pool string) (model.Resources, int64) {
	var sum model.Resources
	var nodes int64
	w = w.Indexed()
	joined := map[string]bool{}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Labels[model.LabelPool] != pool {
			continue
		}
		joined[n.ProviderID] = true
		if c := w.Index.ClaimOf(n); !n.Deleting() && (c == nil || !c.Deleting()) {
			sum, nodes = sum.Add(n.Capacity), nodes+1
		}
	}
	for _, c := range w.Claims {
		if c.Pool == pool && c.ProviderID != "" && !joined[c.ProviderID] && !c.Deleting() {
			sum, nodes = sum.Add(c.Capacity), nodes+1
		}
	}
	return sum, nodes
}

// SameUsage reports whether two sums show the same to users.
func SameUsage(a, b model.Resources) bool { return a.FitsIn(b) && b.FitsIn(a) }
