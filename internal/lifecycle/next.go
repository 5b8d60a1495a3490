package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/model"
)

// Next names the next step for the claim. It looks at nothing but v, never changes v, and doing the same step twice
// is harmless: a step whose effect can already be seen is not named again.
//
//	            AddFinalizer        Launch            Register           Initialize
//	created ───────────────▶ held ─────────▶ launched ─────────▶ registered ────────▶ initialized ─▶ Wait
//	                           │                │                    │                    │
//	   class not ready, pool   │  failed, gone, │  node gone,        │                    │
//	   gone, launch timeout    │  registration  │  machine gone      │                    │
//	                           ▼  timeout       ▼                    ▼                    ▼
//	                 ─────────────────────── Delete (also: expired, interrupted) ─────────────────
//	                                                │
//	                                                ▼
//	deleting: DeleteNodes ─▶ drain sees the pods off ─▶ Terminate ─▶ no list shows it ─▶ nodes gone ─▶ Finish
//
// While a claim is deleting, its machine is asked to go when no node is left, or when the node still stands and the
// claim says Drained and VolumesDetached: a node may so outlive its machine and tell the truth until the end.
func Next(v View) Step {
	c := &casebook{View: v}
	switch {
	case v.Claim.Deleting():
		return c.leave()
	case !hasFinalizer(v.Claim.Finalizers):
		return Step{Do: AddFinalizer, Why: model.WhyNew}
	}
	if s, stop := c.unwanted(); stop {
		return s
	}
	switch {
	case !c.launched():
		return c.launch()
	case !v.Claim.Is(model.Registered):
		return c.join()
	}
	return c.serve()
}

// casebook is the view with a few derived questions, and the timers met on the way.
type casebook struct {
	View
	after time.Duration
}

// launched reports whether a machine was accepted and recorded. A claim that says so without naming its machine, such
// as one restored from a backup, is launched again: that gives the machine which is there.
func (c *casebook) launched() bool { return c.Claim.Is(model.Launched) && c.Claim.ProviderID != "" }

// since returns when the condition last changed; zero when there is none.
func (c *casebook) since(typ string) time.Time {
	x, _ := model.FindCondition(c.Claim.Conditions, typ)
	return x.Since
}

// timer makes sure that we look again at the time, unless it has passed.
func (c *casebook) timer(at time.Time) {
	c.lookAgain(at.Sub(c.Now))
}

func (c *casebook) lookAgain(d time.Duration) {
	if d > 0 && (c.after == 0 || d < c.after) {
		c.after = d
	}
}

// listedAfter reports whether the cloud was listed so much later than t that the list may contradict it.
func (c *casebook) listedAfter(t time.Time) bool { return c.ListedAt.After(t.Add(ListGrace)) }

// unwanted deletes a claim that must go however well it does.
func (c *casebook) unwanted() (Step, bool) {
	if n, ok := c.notice(); ok {
		s := c.delete(model.WhyInterrupted, fmt.Sprintf("the cloud takes the machine away (%s), not before %s", n.Event, n.Until.UTC().Format(time.RFC3339)))
		s.ClaimAnnotations = map[string]string{model.AnnotationTerminationTime: n.Until.UTC().Format(time.RFC3339)}
		return s, true
	}
	if c.sick() {
		s := c.delete(model.WhyUnhealthy, fmt.Sprintf("its condition %s is %s since %s", c.Sick.Condition, c.Sick.Status, c.Sick.Since.UTC().Format(time.RFC3339)))
		// Nobody on the node is likely to see a pod off.
		s.ClaimAnnotations = map[string]string{model.AnnotationTerminationTime: c.Now.UTC().Format(time.RFC3339)}
		return s, true
	}
	if e := c.Claim.ExpireAfter; e != nil {
		if end := c.Claim.Created.Add(*e); !end.After(c.Now) {
			return c.delete(model.WhyExpired, fmt.Sprintf("the claim is older than its expireAfter of %s", *e)), true
		}
		c.timer(c.Claim.Created.Add(*e))
	}
	if c.Claim.Pool != "" {
		switch {
		case c.Pool == nil:
			return c.delete(model.WhyPoolGone, "NodePool "+c.Claim.Pool+" does not exist"), true
		case c.Pool.Deleting:
			return c.delete(model.WhyPoolGone, "NodePool "+c.Claim.Pool+" is being deleted"), true
		case c.Claim.PoolUID != "" && c.Pool.UID != "" && c.Claim.PoolUID != c.Pool.UID:
			return c.delete(model.WhyPoolGone, "NodePool "+c.Claim.Pool+" is another one of the same name"), true
		}
	}
	return Step{}, false
}

// sick reports whether the node is to be replaced because it has been unhealthy for long enough.
func (c *casebook) sick() bool {
	switch {
	case c.Sick.Condition == "" || !c.Claim.Is(model.Registered):
		return false
	case c.Sick.Due.After(c.Now):
		c.timer(c.Sick.Due)
		return false
	case c.RepairHeld != "":
		c.lookAgain(outage.RepairAgain)
		return false
	}
	return true
}

// notice is the first announcement of the claim's nodes that their machine is taken away.
func (c *casebook) notice() (first outage.Notice, ok bool) {
	for i := range c.Nodes {
		n, is := outage.NoticeOf(&c.Nodes[i])
		if is && (!ok || n.Until.Before(first.Until)) {
			first, ok = n, true
		}
	}
	return first, ok
}

// launch buys the machine.
func (c *casebook) launch() Step {
	end := c.Claim.Created.Add(LaunchTimeout)
	if c.Instance != nil {
		if c.isLost() {
			return c.lost()
		}
		// Accepted, but we died or lost the reply before writing it down: launching again gives us this machine. That
		// deserves the longer patience of a machine that is there.
		end = c.Claim.Created.Add(RegistrationTimeout)
	}
	if !end.After(c.Now) {
		return c.delete(model.WhyLaunchTimeout, "no machine was accepted within "+LaunchTimeout.String())
	}
	c.timer(end)
	if c.Class == nil {
		return c.delete(model.WhyClassGone, c.Claim.Class.String()+" does not exist")
	}
	if c.Instance != nil {
		return Step{Do: Launch, Why: model.WhyAwaitingInstance, After: c.after}
	}
	if s, stop := c.classless(); stop {
		return s
	}
	if u := c.Claim.Unreadable; u != "" {
		return c.record(model.WhyUnreadable, u, model.Condition{
			Type: model.Launched, Status: model.Unknown, Reason: "Unreadable", Message: "a value cannot be read, so nothing is bought for it: " + u,
		})
	}
	return Step{Do: Launch, Why: model.WhyNew, After: c.after}
}

// classless stops a launch whose class is there but cannot build machines now.
func (c *casebook) classless() (Step, bool) {
	name := c.Claim.Class.String()
	if c.Class.Deleting {
		return c.delete(model.WhyClassNotReady, name+" is being deleted"), true
	}
	if c.Class.Ready() {
		return Step{}, false
	}
	r, _ := model.FindCondition(c.Class.Conditions, model.Ready)
	if r.Status == model.False && r.ObservedGeneration == c.Class.Generation {
		return c.delete(model.WhyClassNotReady, strings.TrimSuffix(name+" is not ready: "+r.Message, ": ")), true
	}
	// Undecided, or decided for an older spec: the answer comes in seconds, and deleting would only make the same claim again.
	c.lookAgain(ClassPoll)
	return c.record(model.WhyClassNotReady, name+" has not been looked at yet", model.Condition{
		Type: model.Launched, Status: model.Unknown, Reason: "NodeClassReadinessUnknown", Message: name + " has not been looked at yet",
	}), true
}

// isLost reports whether the machine that was bought will never bring a node.
func (c *casebook) isLost() bool {
	return c.Instance != nil && (c.Instance.State == model.Failed || c.Instance.State == model.Stopping || c.Instance.State == model.Stopped)
}

// lost deletes a claim whose machine the cloud refused or takes away.
func (c *casebook) lost() Step {
	i := c.Instance
	switch i.State {
	case model.Stopping:
		return c.delete(model.WhyInstanceGone, "the cloud is deleting the machine "+i.Name)
	case model.Stopped:
		return c.delete(model.WhyInstanceStopped, "the machine "+i.Name+" was switched off by somebody else")
	}
	why, reason := failure(i.FailureCode)
	s := c.delete(why, i.FailureText)
	s.Refusal = cmp.Or(i.FailureReason, "UnknownError")
	s.Conditions = c.changed(model.Condition{Type: model.Launched, Status: model.False, Reason: reason, Message: clip(i.FailureText)})
	return s
}

// serve looks after a registered claim: initialized or not, its node and machine must stay.
func (c *casebook) serve() Step {
	n, ok := c.node()
	switch {
	case !ok:
		return c.delete(model.WhyNodeGone, "the node "+c.Claim.NodeName+" does not exist any more")
	case n.Deleting():
		return c.delete(model.WhyNodeGone, "the node "+n.Name+" is being deleted")
	case c.Instance != nil && c.Instance.State == model.Stopping:
		return c.lost() // evicted: the sooner its pods move, the better. (Failed means less now: the node is the judge.)
	case c.Instance != nil && c.Instance.State == model.Stopped && n.Ready != model.True:
		return c.lost() // switched off. (A node that is ready says that it was switched on again.)
	case c.Instance == nil && c.listedAfter(c.since(model.Registered)) && n.Ready != model.True:
		// A ready node speaks for its machine more loudly than a list that lacks it.
		return c.delete(model.WhyInstanceGone, "the cloud does not list the machine, and its node is not ready")
	}
	if !c.Claim.Is(model.Initialized) {
		return c.initialize(n)
	}
	return c.settle(n)
}

// settle keeps the conditions of an initialized claim up to date.
func (c *casebook) settle(n model.Node) Step {
	want := []model.Condition{}
	var drop []string
	if c.consolidatable() {
		want = append(want, model.Condition{Type: model.Consolidatable, Status: model.True, Reason: model.Consolidatable})
	} else if _, ok := model.FindCondition(c.Claim.Conditions, model.Consolidatable); ok {
		drop = []string{model.Consolidatable}
	}
	drifted, is := c.drifted()
	if is {
		want = append(want, drifted)
	} else if _, ok := model.FindCondition(c.Claim.Conditions, model.Drifted); ok {
		drop = append(drop, model.Drifted)
	}
	if x, ok := c.consistent(n); ok {
		want = append(want, x)
	}
	s := c.record(model.WhyInitialized, "", want...)
	notes := c.Hashes
	if c.Claim.Annotations[model.AnnotationTerminationTime] != "" {
		// Its end was about to come, and did not: a later one must not find its grace over.
		notes = maps.Clone(c.Hashes)
		if notes == nil {
			notes = map[string]string{}
		}
		notes[model.AnnotationTerminationTime] = ""
	}
	if len(drop)+len(notes) > 0 {
		s.Do, s.Drop, s.ClaimAnnotations = Record, drop, notes
	}
	return s
}

// drifted is the condition that says how the node differs from what it should be. It is Unknown as long as the difference has not lasted.
func (c *casebook) drifted() (model.Condition, bool) {
	f := c.Drift
	if f.Reason == "" {
		return model.Condition{}, false
	}
	out := model.Condition{Type: model.Drifted, Status: model.True, Reason: f.Reason, Message: clip(f.Message)}
	if f.Patience == 0 {
		return out, true
	}
	was, ok := model.FindCondition(c.Claim.Conditions, model.Drifted)
	switch end := was.Since.Add(f.Patience); {
	case ok && was.Status == model.True && was.Reason == f.Reason:
	case ok && was.Status == model.Unknown && was.Reason == f.Reason && !end.After(c.Now):
	case ok && was.Status == model.Unknown && was.Reason == f.Reason:
		out.Status = model.Unknown
		c.timer(end)
	default:
		out.Status = model.Unknown
		c.lookAgain(f.Patience)
	}
	return out, true
}

// consolidatable reports whether the node has been quiet for as long as its pool asks.
func (c *casebook) consolidatable() bool {
	if c.Pool == nil || c.Pool.ConsolidateAfter == nil {
		return false
	}
	quiet := c.since(model.Initialized)
	if c.Claim.LastPodEvent.After(quiet) {
		quiet = c.Claim.LastPodEvent
	}
	end := quiet.Add(*c.Pool.ConsolidateAfter)
	c.timer(end)
	return !end.After(c.Now)
}

// node returns the node that the claim registered with; the first by name when the claim does not say which.
func (c *casebook) node() (model.Node, bool) {
	var best model.Node
	for _, n := range c.Nodes {
		if n.Name == c.Claim.NodeName {
			return n, true
		}
		if c.Claim.NodeName == "" && (best.Name == "" || n.Name < best.Name) {
			best = n
		}
	}
	return best, best.Name != ""
}

// delete deletes the claim; what follows is named once the claim says that it is deleting.
func (c *casebook) delete(why model.Why, message string) Step {
	return Step{Do: Delete, Why: why, Message: message}
}

// record writes the conditions that changed, or waits when none did.
func (c *casebook) record(why model.Why, message string, want ...model.Condition) Step {
	s := Step{Do: Wait, Why: why, Message: message, Conditions: c.changed(want...), After: c.after}
	if len(s.Conditions) > 0 {
		s.Do = Record
	}
	return s
}

func hasFinalizer(list []string) bool {
	for _, f := range list {
		if f == model.Finalizer {
			return true
		}
	}
	return false
}
