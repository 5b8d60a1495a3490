package lifecycle

import (
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// leave takes a deleting claim apart: nodes, machine, finalizer.
func (c *casebook) leave() Step {
	if !hasFinalizer(c.Claim.Finalizers) {
		return Step{Do: Wait, Why: model.WhyDeleted}
	}
	s := c.takeApart()
	if at, ok := c.graceEnd(); ok && s.Do != Finish {
		s.ClaimAnnotations = map[string]string{model.AnnotationTerminationTime: at.UTC().Format(time.RFC3339)}
		if s.Do == Wait {
			s.Do = Record
		}
	}
	return s
}

// graceEnd returns the moment at which the node's grace ends when it is to be written: once, and again when the cloud takes the
// machine away before. What is written otherwise stays.
func (c *casebook) graceEnd() (end time.Time, ok bool) {
	text := c.Claim.Annotations[model.AnnotationTerminationTime]
	if c.Claim.TerminationGracePeriod != nil && text == "" {
		end, ok = c.Claim.DeletedAt.Add(*c.Claim.TerminationGracePeriod), true
	}
	n, taken := c.notice()
	if !taken || ok && end.Before(n.Until) {
		return end, ok
	}
	written, err := time.Parse(time.RFC3339, text)
	if err == nil && !n.Until.Truncate(time.Second).Before(written) {
		return time.Time{}, false
	}
	return n.Until, true
}

func (c *casebook) takeApart() Step {
	staying, taken := false, c.Claim.Is(model.Registered)
	for _, n := range c.Nodes {
		staying = staying || !n.Deleting()
		taken = taken || hasFinalizer(n.Finalizers)
	}
	volumes, _ := model.FindCondition(c.Claim.Conditions, model.VolumesDetached)
	drained := c.Claim.Is(model.Drained) && (volumes.Status == model.True || volumes.Reason == model.GraceElapsed)
	switch {
	case !taken && c.Instance != nil:
		// No pod was ever let onto a node that we did not take over, so there is nothing to drain; and while its machine
		// runs, a kubelet that starts again would register a deleted node anew.
		return c.terminate()
	case staying:
		return Step{Do: DeleteNodes, Why: model.WhyDeleted, After: c.after}
	case len(c.Nodes) > 0 && c.Instance != nil && c.Instance.State != model.Stopped && !drained:
		// On a machine that is switched off nobody would ever see a pod off.
		return Step{Do: Wait, Why: model.WhyDraining, After: c.after}
	case c.Instance != nil:
		return c.terminate()
	case !c.surelyGone():
		c.lookAgain(TerminatePoll)
		return c.record(model.WhyInstanceStopping, "waiting for the cloud to be listed again")
	case c.Claim.ProviderID != "" && !c.Claim.Is(model.InstanceTerminating) && (len(c.Nodes) == 0 || drained):
		// No list shows it, but we never asked: a list may lag, the cloud's answer to a call does not.
		return c.ask()
	case len(c.Nodes) > 0:
		return Step{Do: Wait, Why: model.WhyDraining, After: c.after}
	}
	return Step{Do: Finish, Why: model.WhyDeleted}
}

// terminate asks for the machine to go, again whenever a newer list still shows it alive.
func (c *casebook) terminate() Step {
	asked := c.Claim.Is(model.InstanceTerminating)
	if asked && (c.Instance.State == model.Stopping || !c.ListedAt.After(c.since(model.InstanceTerminating))) {
		c.lookAgain(TerminatePoll)
		return c.record(model.WhyInstanceStopping, "")
	}
	return c.ask()
}

func (c *casebook) ask() Step {
	c.lookAgain(TerminatePoll)
	return Step{Do: Terminate, Why: model.WhyInstanceStopping, After: c.after, Conditions: c.changed(
		model.Condition{Type: model.InstanceTerminating, Status: model.True, Reason: model.InstanceTerminating})}
}

// surelyGone reports whether the absence of the machine from the list may be believed: the list is younger than
// everything that could have made a machine, or than our asking for it to go.
func (c *casebook) surelyGone() bool {
	if !c.ListedAt.After(c.Claim.DeletedAt) {
		return false
	}
	if c.Claim.Is(model.InstanceTerminating) {
		return c.ListedAt.After(c.since(model.InstanceTerminating))
	}
	// A launch whose outcome we never learnt may have been accepted just before the deletion.
	if x, tried := model.FindCondition(c.Claim.Conditions, model.Launched); tried && x.Status == model.Unknown && c.Claim.ProviderID == "" {
		return c.listedAfter(c.Claim.DeletedAt)
	}
	return true
}
