package lifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// NodeTaints are the taints a machine registers with: the claim's own, its startup taints, and the taint that keeps
// pods away until the claim has taken the node over.
func NodeTaints(c model.Claim) []model.Taint {
	return slices.Concat(c.Taints, c.StartupTaints, []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}})
}

// NodeLabels are the labels of the node that offering o of type t becomes for claim c: those of the type, of the
// offering, the values that the claim's requirements leave no choice about, and the claim's own, later ones winning.
// Where the claim may have one of several values (a node's mode), it gets the last of those allowed.
func NodeLabels(c model.Claim, t model.InstanceType, o model.Offering) map[string]string {
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(t.Either)) {
		if v := choose(c.Requirements, k, t.Either[k]); v != "" {
			out[k] = v
		}
	}
	maps.Copy(out, t.Labels)
	maps.Copy(out, o.Labels)
	for _, r := range c.Requirements {
		if _, fixed := out[r.Key]; !fixed && r.Op == model.In && len(r.Values) == 1 {
			out[r.Key] = r.Values[0]
		}
	}
	out[model.LabelInstanceType] = t.Name
	out[model.LabelZone] = o.Zone
	out[model.LabelCapacityType] = o.CapacityType
	maps.Copy(out, c.Labels)
	return out
}

func choose(reqs []model.Requirement, key string, values []string) string {
	allowed := slices.Clone(values)
	for _, r := range reqs {
		if r.Key != key {
			continue
		}
		allowed = slices.DeleteFunc(allowed, func(v string) bool {
			in := slices.Contains(r.Values, v)
			return r.Op == model.In && !in || r.Op == model.NotIn && in || r.Op == model.DoesNotExist
		})
	}
	if len(allowed) == 0 {
		return ""
	}
	return allowed[len(allowed)-1]
}

// LaunchAccepted are the conditions to write once the cloud has accepted the claim's machine.
func LaunchAccepted(c model.Claim, now time.Time) []model.Condition {
	return model.Changed(c.Conditions, []model.Condition{
		{Type: model.Launched, Status: model.True, Reason: model.Launched, ObservedGeneration: c.Generation},
		{Type: model.Registered, Status: model.Unknown, Reason: "NodeNotFound", Message: "the machine's node has not joined the cluster yet", ObservedGeneration: c.Generation},
	}, now)
}

// LaunchRefused says what follows from a refused launch. nothingLeft means that no offering the claim may use is to be
// had: then the claim goes, and its pods are planned anew. Otherwise the claim stays and is tried again.
func LaunchRefused(c model.Claim, nothingLeft bool, message string, now time.Time) Step {
	message = clip(message)
	cond := model.Condition{Type: model.Launched, Status: model.Unknown, Reason: "LaunchFailed", Message: message, ObservedGeneration: c.Generation}
	step := Step{Do: Wait, Why: model.WhyLaunchFailed, Message: message}
	if nothingLeft {
		cond.Status, cond.Reason = model.False, "InsufficientCapacity"
		step.Do, step.Why = Delete, model.WhyNoCapacity
	}
	step.Conditions = model.Changed(c.Conditions, []model.Condition{cond}, now)
	return step
}
