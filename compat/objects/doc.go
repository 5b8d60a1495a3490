// Package objects answers: how do our nouns look as Kubernetes writes them?
//
// It turns pods, nodes, namespaces and volumes of a picture into the API's own types, so that other people's code can be
// asked about them. It adds no facts beyond what the API server would default, and reads nothing back: the way in is
// the product's own door.
package objects

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// Resources writes amounts as quantities; pods counts pods.
func Resources(r model.Resources) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, n := range r.Names() {
		out[corev1.ResourceName(n)] = Quantity(n, r.Get(n))
	}
	return out
}

// Quantity writes one amount in the units of its column.
func Quantity(name string, v int64) resource.Quantity {
	switch name {
	case model.ResourceCPU:
		return *resource.NewMilliQuantity(v, resource.DecimalSI)
	case model.ResourceMemory, model.ResourceEphemeral:
		return *resource.NewQuantity(v, resource.BinarySI)
	}
	return *resource.NewQuantity(v, resource.DecimalSI)
}

// Selector writes a label selector; nil stays nil.
func Selector(s *model.Selector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &metav1.LabelSelector{}
	for _, r := range s.Requirements {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: r.Key, Operator: metav1.LabelSelectorOperator(r.Op), Values: r.Values})
	}
	return out
}

// Taints writes taints.
func Taints(list []model.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range list {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}

// Term writes one alternative of a node affinity. Kubernetes knows no Gte and Lte for pods; they become Gt and Lt of
// the neighbour.
func Term(t model.Term) corev1.NodeSelectorTerm {
	var out corev1.NodeSelectorTerm
	for _, r := range t {
		op, values := corev1.NodeSelectorOperator(r.Op), r.Values
		if r.Op == model.Gte || r.Op == model.Lte {
			n, err := strconv.ParseInt(strings.Join(r.Values, ","), 10, 64)
			if err == nil && r.Op == model.Gte {
				op, values = corev1.NodeSelectorOpGt, []string{strconv.FormatInt(n-1, 10)}
			} else if err == nil {
				op, values = corev1.NodeSelectorOpLt, []string{strconv.FormatInt(n+1, 10)}
			}
		}
		out.MatchExpressions = append(out.MatchExpressions, corev1.NodeSelectorRequirement{Key: r.Key, Operator: op, Values: values})
	}
	return out
}

// Terms writes OR-ed alternatives; none is nil.
func Terms(list []model.Term) *corev1.NodeSelector {
	if list == nil {
		return nil
	}
	out := &corev1.NodeSelector{}
	for _, t := range list {
		out.NodeSelectorTerms = append(out.NodeSelectorTerms, Term(t))
	}
	return out
}
