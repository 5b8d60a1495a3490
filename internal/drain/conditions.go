package drain

import "github.com/karpenter-aks/karpenter/model"

// Taint keeps new pods off a leaving node.
func Taint() model.Taint { return model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule} }

// Conditions are what the claim of a leaving node should show of its drain.
func Conditions(v View, s Step) []model.Condition {
	if v.Claim == nil || s.Prepare {
		return nil
	}
	drained := model.Condition{Type: model.Drained, Status: model.True, Reason: model.Drained}
	if !s.Drained {
		drained.Status, drained.Reason = model.Unknown, "Draining"
	}
	out := []model.Condition{drained}
	if s.Drained {
		detached := model.Condition{Type: model.VolumesDetached, Status: model.True, Reason: model.VolumesDetached}
		switch {
		case !s.Detached:
			detached.Status, detached.Reason = model.Unknown, "AwaitingVolumeDetachment"
		case len(s.Volumes) > 0:
			detached.Status, detached.Reason = model.False, model.GraceElapsed
		}
		out = append(out, detached)
	}
	for i := range out {
		out[i].ObservedGeneration = v.Claim.Generation
	}
	return out
}
