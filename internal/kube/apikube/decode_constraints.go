package apikube

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// owned is what a constraint takes from the pod that carries it.
type owned struct {
	namespace string
	labels    map[string]string
}

// picks reads a label selector together with the keys whose values the pod's own labels give: matching ones must be
// equal, others must differ. A key that the pod has no label of is ignored, and so are keys without a selector. The API
// server folds most of this into the selector itself; said twice it is kept once.
func (o owned) picks(s *metav1.LabelSelector, match, mismatch []string) *model.Selector {
	if s == nil {
		return nil
	}
	list := selector(s)
	fold := func(keys []string, op model.Operator) {
		for _, k := range keys {
			v, ok := o.labels[k]
			if !ok {
				continue
			}
			r := model.Requirement{Key: k, Op: op, Values: []string{v}}
			if !slices.ContainsFunc(list, func(have model.Requirement) bool {
				return have.Key == k && have.Op == op && slices.Equal(have.Values, r.Values)
			}) {
				list = append(list, r)
			}
		}
	}
	fold(match, model.In)
	fold(mismatch, model.NotIn)
	slices.SortStableFunc(list, func(a, b model.Requirement) int { return strings.Compare(a.Key, b.Key) })
	return &model.Selector{Requirements: list}
}

// spreads reads the topology spread constraints. What is not set means what the API's documentation says it does.
func (o owned) spreads(list []corev1.TopologySpreadConstraint) []model.Spread {
	var out []model.Spread
	for _, c := range list {
		s := model.Spread{
			Key: c.TopologyKey, MaxSkew: max(c.MaxSkew, 1), Hard: c.WhenUnsatisfiable != corev1.ScheduleAnyway,
			Selector:      o.picks(c.LabelSelector, c.MatchLabelKeys, nil),
			HonorAffinity: c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
			HonorTaints:   c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		}
		if c.MinDomains != nil {
			s.MinDomains = *c.MinDomains
		}
		out = append(out, s)
	}
	return out
}

// podTerm reads a term of pod affinity or anti-affinity. kube-scheduler looks at its selector only, into which the API server folded
// the keys when the pod was made: what it said then holds, whatever the pod's labels are now.
func (o owned) podTerm(t corev1.PodAffinityTerm) model.PodTerm {
	out := model.PodTerm{
		Key:        t.TopologyKey,
		Selector:   o.picks(t.LabelSelector, unsaid(t.LabelSelector, t.MatchLabelKeys), unsaid(t.LabelSelector, t.MismatchLabelKeys)),
		Namespaces: slices.Compact(slices.Sorted(slices.Values(t.Namespaces))),
	}
	if t.NamespaceSelector != nil {
		out.NamespaceSelector = &model.Selector{Requirements: selector(t.NamespaceSelector)}
	} else if len(out.Namespaces) == 0 {
		out.Namespaces = []string{o.namespace}
	}
	return out
}

// unsaid returns the keys of which the selector says nothing. The API allows no key in both, but for its own folding.
func unsaid(s *metav1.LabelSelector, keys []string) []string {
	if s == nil || len(keys) == 0 {
		return nil
	}
	var out []string
	for _, k := range keys {
		_, said := s.MatchLabels[k]
		if !said && !slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == k }) {
			out = append(out, k)
		}
	}
	return out
}

func (o owned) podTerms(list []corev1.PodAffinityTerm) []model.PodTerm {
	var out []model.PodTerm
	for _, t := range list {
		out = append(out, o.podTerm(t))
	}
	return out
}

// prefers reads the wishes: node affinity, then pod affinity, then anti-affinity. A wish for nothing in particular is none,
// and one for a node by its fields can only be about nodes that exist already: it has no say in what is bought.
func (o owned) prefers(a *corev1.Affinity) []model.Preference {
	var out []model.Preference
	if a.NodeAffinity != nil {
		for _, p := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			if p.Weight > 0 && len(p.Preference.MatchExpressions) > 0 && len(p.Preference.MatchFields) == 0 {
				out = append(out, model.Preference{Weight: p.Weight, Node: term(p.Preference)})
			}
		}
	}
	add := func(list []corev1.WeightedPodAffinityTerm, anti bool) {
		for _, p := range list {
			if p.Weight > 0 {
				t := o.podTerm(p.PodAffinityTerm)
				out = append(out, model.Preference{Weight: p.Weight, Pod: &t, Anti: anti})
			}
		}
	}
	if a.PodAffinity != nil {
		add(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, false)
	}
	if a.PodAntiAffinity != nil {
		add(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, true)
	}
	return out
}

// term reads the expressions of a node selector term. Fields are not in it: see byField.
func term(t corev1.NodeSelectorTerm) model.Term {
	var out model.Term
	for _, e := range t.MatchExpressions {
		out = append(out, model.Requirement{Key: e.Key, Op: model.Operator(e.Operator), Values: slices.Clone(e.Values)})
	}
	return out
}

// constrain fills in what the pod's own namespace and labels are needed for.
func constrain(out *model.Pod, s *corev1.PodSpec) {
	o := owned{namespace: out.Namespace, labels: out.Labels}
	out.Spread = o.spreads(s.TopologySpreadConstraints)
	if s.Affinity == nil {
		return
	}
	if a := s.Affinity.PodAffinity; a != nil {
		out.PodAffinity = o.podTerms(a.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a := s.Affinity.PodAntiAffinity; a != nil {
		out.PodAntiAffinity = o.podTerms(a.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	out.Prefers = o.prefers(s.Affinity)
}

// hostPorts reads the node's ports that the containers take, sorted. An init container has its port only for a while, and
// kube-scheduler looks away unless it is a sidecar; but two that meet would fail, so that it counts here.
func hostPorts(s *corev1.PodSpec) []model.HostPort {
	var out []model.HostPort
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for _, c := range list {
			for _, p := range c.Ports {
				if p.HostPort > 0 {
					out = append(out, hostPort(p))
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b model.HostPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.IP, b.IP))
	})
	return slices.Compact(out)
}

func hostPort(p corev1.ContainerPort) model.HostPort {
	out := model.HostPort{IP: p.HostIP, Protocol: string(p.Protocol), Port: p.HostPort}
	if out.IP == "0.0.0.0" {
		out.IP = ""
	}
	if out.Protocol == "" {
		out.Protocol = string(corev1.ProtocolTCP)
	}
	return out
}
