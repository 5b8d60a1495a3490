package lifecycle

import (
	"cmp"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Reasons of the condition Launched, as users know them.
const (
	reasonNoCapacity  = "InsufficientCapacity"
	reasonQuota       = "SubscriptionQuotaReached"
	reasonLaunchError = "LaunchFailed"
)

// reasonNoNode is the reason for which a machine that was launched is given up.
const reasonNoNode = "RegistrationFailed"

// Joined says what a step that is done makes known about the claim's machine: that it became a node (reason is ""), or
// why there will be none. ended is false where it tells nothing, or nothing that pool and class are to blame for: what was
// sold out, or taken away by somebody.
func Joined(c model.Claim, s Step) (reason, message string, ended bool) {
	switch {
	case s.Do == Register:
		return "", "", true
	case s.Do != Delete:
		return "", "", false
	}
	switch s.Why {
	case model.WhyRegisterTimeout:
		return reasonNoNode, s.Message, true
	case model.WhyLaunchTimeout, model.WhyInstanceFailed:
		for _, list := range [][]model.Condition{s.Conditions, c.Conditions} {
			x, ok := model.FindCondition(list, model.Launched)
			if ok && x.Reason != "" && x.Status != model.True {
				return x.Reason, cmp.Or(x.Message, s.Message), true
			}
		}
		return reasonLaunchError, s.Message, true
	}
	return "", "", false
}

// messageLimit bounds what a cloud's words may take of a condition, in bytes: clouds answer with pages.
const messageLimit = 1200

// failure translates the code of a refusal (one of package cloud's, as text) into why the claim ends and the reason of
// its Launched condition.
func failure(code string) (model.Why, string) {
	switch code {
	case "no-capacity":
		return model.WhyNoCapacity, reasonNoCapacity
	case "quota":
		return model.WhyNoCapacity, reasonQuota
	}
	return model.WhyInstanceFailed, reasonLaunchError
}

// Refused says why the claim has no machine, by what its condition Launched keeps of the cloud's answer, and in the cloud's
// words: nothing else in the cluster tells. why is "" where no order was refused, or not any more.
func Refused(c model.Claim) (why model.Why, words string) {
	x, _ := model.FindCondition(c.Conditions, model.Launched)
	switch {
	case x.Status == model.True:
		return "", ""
	case x.Reason == reasonNoCapacity, x.Reason == reasonQuota:
		return model.WhyNoCapacity, x.Message
	case x.Reason == reasonLaunchError && x.Status == model.False:
		return model.WhyInstanceFailed, x.Message
	case x.Reason == reasonLaunchError:
		return model.WhyLaunchFailed, x.Message
	}
	return "", ""
}

// unregistered is what a claim without a node says of both things that need one.
func unregistered(s model.Status, reason, message string) []model.Condition {
	return []model.Condition{
		{Type: model.Registered, Status: s, Reason: reason, Message: message},
		{Type: model.Initialized, Status: model.Unknown, Reason: "NodeNotFound", Message: "Node not registered with cluster"},
	}
}

// changed returns what of want must be written, with the root condition Ready rolled up behind it: True when all three
// stages are, False when one failed, Unknown otherwise.
func (c *casebook) changed(want ...model.Condition) []model.Condition {
	for i := range want {
		want[i].ObservedGeneration = c.Claim.Generation
	}
	find := func(typ string) model.Condition {
		for _, list := range [][]model.Condition{want, c.Claim.Conditions} {
			if x, ok := model.FindCondition(list, typ); ok {
				return x
			}
		}
		return model.Condition{Type: typ, Status: model.Unknown}
	}
	root := model.Condition{Type: model.Ready, Status: model.True, Reason: model.Ready, ObservedGeneration: c.Claim.Generation}
	var short []string
	for _, typ := range []string{model.Initialized, model.Launched, model.Registered} {
		x := find(typ)
		if x.Status == model.True {
			continue
		}
		short = append(short, typ+"="+string(x.Status))
		if x.Status == model.False || root.Status == model.False {
			root.Status, root.Reason = model.False, "UnhealthyDependents"
		} else {
			root.Status, root.Reason = model.Unknown, "ReconcilingDependents"
		}
	}
	root.Message = strings.Join(short, ", ")
	return model.Changed(c.Claim.Conditions, append(want, root), c.Now)
}

// clip cuts a cloud's words to what a condition may hold, at a rune's edge.
func clip(s string) string {
	if len(s) > messageLimit {
		s = strings.ToValidUTF8(s[:messageLimit], "")
	}
	return s
}
