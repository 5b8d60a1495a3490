package alike

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Terms returns the alternatives of the pod's node selector and required node affinity that do not contradict
// themselves, or why there is none.
func Terms(p *model.Pod) (out []require.Set, why model.Why, detail string) {
	if len(p.Needs) > 0 {
		return nil, p.Needs[0], needText(p.Needs[0])
	}
	for _, t := range p.Affinity {
		for _, q := range t {
			if !known(q.Op) {
				return nil, model.WhyBadSelector, fmt.Sprintf("label %s: unknown operator %q",
					q.Key, q.Op)
			}
		}
	}
	sel := require.Labels(p.NodeSelector)
	all := []require.Set{sel}
	if p.Affinity != nil {
		all = all[:0]
		for _, t := range p.Affinity {
			if len(t) > 0 {
				all = append(all, sel.And(require.New(t)))
			}
		}
	}
	for _, v := range p.Volumes {
		if v.Terms == nil {
			continue
		}
		var with []require.Set
		for _, s := range all {
			for _, t := range v.Terms {
				if len(t) > 0 { // one that says nothing matches nothing
					with = append(with, s.And(require.New(t)))
				}
			}
		}
		if len(all) > 0 && len(with) == 0 {
			return nil, model.WhyVolumes, "no label of a node says that its volume " + v.ID +
				" can be reached from there"
		}
		if all = with; len(all) > maxAlternatives {
			return nil, model.WhyVolumes, fmt.Sprintf("its volumes have more than %d alternatives",
				maxAlternatives)
		}
	}
	if len(all) == 0 {
		return nil, model.WhyMixedOSOrArch,
			"the required node affinity has no term that matches anything"
	}
	optOut := false
	for _, s := range all {
		if k := s.Impossible(); k != "" {
			detail = cmp.Or(detail,
				"label "+k+": the pod's own requirements exclude each other: "+parties(p, k))
			continue
		}
		if v, ok := s.Get(model.LabelPool); ok && !v.HasValues() {
			optOut = true
			continue
		}
		out = append(out, s)
	}
	switch {
	case len(out) > 0:
		return out, "", ""
	case optOut:
		return nil, model.WhyPoolOptOut, "the pod asks not to run on nodes of any pool"
	}
	return nil, model.WhyMixedOSOrArch, detail
}

// Selected returns the alternatives of the pod's node selector and required node affinity, wherever its volumes are, as kube-scheduler
// reads them of any node, ours or not.
func Selected(p *model.Pod) (out []require.Set) {
	sel := require.Labels(p.NodeSelector)
	if p.Affinity == nil {
		return []require.Set{sel}
	}
	for _, t := range p.Affinity {
		if s := sel.And(require.New(t)); len(t) > 0 && s.Impossible() == "" {
			out = append(out, s)
		}
	}
	return out
}

// maxAlternatives bounds how many combinations of volumes' and affinity's alternatives one pod may have.
const maxAlternatives = 256

func known(op model.Operator) bool {
	switch op {
	case model.In,
		model.NotIn,
		model.Exists,
		model.DoesNotExist,
		model.Gt,
		model.Lt,
		model.Gte,
		model.Lte:
		return true
	}
	return false
}

// needText says in words what is not decided.
func needText(w model.Why) string {
	switch w {
	case model.WhyVolumes:
		return "the pod uses persistent volumes of which not all are known well enough " +
			"to say where they can be reached"
	case model.WhyResourceClaims:
		return "the pod uses resource claims (dynamic resource allocation); " +
			"which machine would have the devices is not known, so none is bought for it"
	case model.WhyMatchFields:
		return "the pod selects nodes by field, which can only name nodes that exist"
	}
	return "the pod needs " + string(w) + ", which is not decided"
}

// parties says who of a pod's asks what of a label.
func parties(p *model.Pod, key string) string {
	var out []string
	add := func(who string, q require.Set) {
		if _, asked := q.Get(key); asked {
			out = append(out, who+" "+offerings.Requirement(q, key))
		}
	}
	add("its node selector", require.Labels(p.NodeSelector))
	for _, t := range p.Affinity {
		add("its node affinity", require.New(t))
	}
	for _, v := range p.Volumes {
		for _, t := range v.Terms {
			add("its volume (such as "+v.String()+")",
				require.New(t)) // of pods that are alike in this, each may have its own
		}
	}
	if most := len(out); most > offerings.SaidValues {
		out = append(out[:offerings.SaidValues:offerings.SaidValues],
			fmt.Sprintf("%d more", most-offerings.SaidValues))
	}
	return strings.Join(out, ", ")
}
