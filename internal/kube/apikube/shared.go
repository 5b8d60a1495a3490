package apikube

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// Everything here copies: what is decoded shares no memory with the object it came from, which is then dropped.

func when(t *metav1.Time) time.Time {
	if t == nil || t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

func taints(list []corev1.Taint) []model.Taint {
	var out []model.Taint
	for _, t := range list {
		out = append(out, model.Taint{Key: t.Key, Value: t.Value, Effect: model.Effect(t.Effect)})
	}
	return out
}

func apiTaints(list []model.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range list {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}

func requirements(list []karpv1.NodeSelectorRequirementWithMinValues) []model.Requirement {
	var out []model.Requirement
	for _, r := range list {
		m := model.Requirement{Key: r.Key, Op: model.Operator(r.Operator), Values: slices.Clone(r.Values)}
		if r.MinValues != nil {
			m.MinValues = *r.MinValues
		}
		out = append(out, m)
	}
	return out
}

// apiRequirements is never nil: the field is required.
func apiRequirements(list []model.Requirement) []karpv1.NodeSelectorRequirementWithMinValues {
	out := make([]karpv1.NodeSelectorRequirementWithMinValues, 0, len(list))
	for _, m := range list {
		r := karpv1.NodeSelectorRequirementWithMinValues{Key: m.Key, Operator: corev1.NodeSelectorOperator(m.Op), Values: slices.Clone(m.Values)}
		if m.MinValues > 0 {
			r.MinValues = &m.MinValues
		}
		out = append(out, r)
	}
	return out
}

func classRef(r *karpv1.NodeClassReference) model.ClassRef {
	if r == nil {
		return model.ClassRef{}
	}
	return model.ClassRef{Group: r.Group, Kind: r.Kind, Name: r.Name}
}

func duration(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return clone(&d.Duration)
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func conditions(list []status.Condition) []model.Condition {
	var out []model.Condition
	for _, c := range list {
		out = append(out, condition(metav1.Condition(c)))
	}
	return out
}

func condition(c metav1.Condition) model.Condition {
	return model.Condition{
		Type: c.Type, Status: model.Status(c.Status), Reason: c.Reason, Message: c.Message,
		Since: when(&c.LastTransitionTime), ObservedGeneration: c.ObservedGeneration,
	}
}

// setConditions merges the patch into the list; the transition time moves only when the status does. now stands in for
// a missing time. They stand in the order in which they became what they are, Ready last: people's tools show the
// last one's reason for the state of the object.
func setConditions(list []metav1.Condition, patch []model.Condition, generation int64, now time.Time) []metav1.Condition {
	out := slices.Clone(list)
	for _, p := range patch {
		c := metav1.Condition{
			Type: p.Type, Status: metav1.ConditionStatus(p.Status), Reason: p.Reason, Message: p.Message,
			LastTransitionTime: metav1.NewTime(p.Since), ObservedGeneration: p.ObservedGeneration,
		}
		if p.Since.IsZero() {
			c.LastTransitionTime = metav1.NewTime(now)
		}
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = generation
		}
		i := slices.IndexFunc(out, func(o metav1.Condition) bool { return o.Type == c.Type })
		if i < 0 {
			out = append(out, c)
			continue
		}
		if out[i].Status == c.Status {
			c.LastTransitionTime = out[i].LastTransitionTime
		}
		out[i] = c
	}
	second := func(c metav1.Condition) time.Time { return c.LastTransitionTime.Truncate(time.Second) }
	slices.SortStableFunc(out, func(a, b metav1.Condition) int {
		return cmp.Or(model.RootLast(a.Type, b.Type), second(a).Compare(second(b)))
	})
	return out
}

// dropConditions takes away the conditions of these types.
func dropConditions(list []metav1.Condition, types []string) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(list), func(c metav1.Condition) bool { return slices.Contains(types, c.Type) })
}

// plain and tagged convert between the two names that conditions have in the APIs.
func plain(list []status.Condition) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range list {
		out = append(out, metav1.Condition(c))
	}
	return out
}

func tagged(list []metav1.Condition) []status.Condition {
	var out []status.Condition
	for _, c := range list {
		out = append(out, status.Condition(c))
	}
	return out
}

// selector reads a label selector as requirements, labels first, by key.
func selector(s *metav1.LabelSelector) []model.Requirement {
	if s == nil {
		return nil
	}
	var out []model.Requirement
	for _, k := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		out = append(out, model.Requirement{Key: k, Op: model.In, Values: []string{s.MatchLabels[k]}})
	}
	for _, e := range s.MatchExpressions {
		out = append(out, model.Requirement{Key: e.Key, Op: model.Operator(e.Operator), Values: slices.Clone(e.Values)})
	}
	slices.SortStableFunc(out, func(a, b model.Requirement) int { return strings.Compare(a.Key, b.Key) })
	return out
}
