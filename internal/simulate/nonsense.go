package simulate

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// nonsense says what is wrong with an object that could be read. An API server would have refused it; a file did not pass
// one.
func nonsense(o model.Object) []string {
	var out []string
	requirements := func(what string, list []model.Requirement) {
		for _, r := range list {
			if bad := wrongRequirement(r); bad != "" {
				out = append(out, fmt.Sprintf("%s on %q: %s", what, r.Key, bad))
			}
		}
	}
	switch o := o.(type) {
	case model.Pool:
		requirements("requirement", o.Requirements)
		out = append(out, wrongTaints(slices.Concat(o.Taints, o.StartupTaints))...)
		if o.Class.Name == "" {
			out = append(out, "the pool names no class (nodeClassRef)")
		}
		if o.Weight < 0 || o.Weight > 100 {
			out = append(out, fmt.Sprintf("weight %d is not from 1 to 100", o.Weight))
		}
	case model.Claim:
		requirements("requirement", o.Requirements)
	case model.Node:
		out = append(out, wrongTaints(o.Taints)...)
	case model.Pod:
		for _, t := range o.Affinity {
			requirements("node affinity", t)
		}
		out = append(out, wrongTolerations(o.Tolerations)...)
	case model.Daemon:
		return nonsense(o.Pod)
	}
	return out
}

func wrongTolerations(list []model.Toleration) []string {
	var out []string
	for _, t := range list {
		if t.Effect != "" && !isEffect(t.Effect) {
			out = append(out, fmt.Sprintf("toleration of %q: there is no effect %q: want NoSchedule, PreferNoSchedule or NoExecute", t.Key, t.Effect))
		}
	}
	return out
}

func isEffect(e model.Effect) bool {
	return e == model.NoSchedule || e == model.PreferNoSchedule || e == model.NoExecute
}

func wrongRequirement(r model.Requirement) string {
	n := len(r.Values)
	switch r.Op {
	case model.In, model.NotIn:
		if n == 0 {
			return fmt.Sprintf("operator %s needs values", r.Op)
		}
	case model.Exists, model.DoesNotExist:
		if n > 0 {
			return fmt.Sprintf("operator %s takes no values", r.Op)
		}
	case model.Gt, model.Lt, model.Gte, model.Lte:
		if n != 1 {
			return fmt.Sprintf("operator %s takes one number", r.Op)
		}
	default:
		return fmt.Sprintf("there is no operator %q: want In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte", r.Op)
	}
	return ""
}

func wrongTaints(list []model.Taint) []string {
	var out []string
	for _, t := range list {
		if !isEffect(t.Effect) {
			out = append(out, fmt.Sprintf("taint %s: there is no effect %q: want NoSchedule, PreferNoSchedule or NoExecute", t, t.Effect))
		}
	}
	return out
}
