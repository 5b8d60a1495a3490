// Package observe answers: what do we tell people?
//
// It turns plans, steps and refusals into events on objects, metrics and log lines, under the names that users of
// Karpenter know. It decides nothing, and nothing in it may fail or block: a decision is never held up by the telling.
package observe

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Announcer publishes events; kube.Store is one.
type Announcer interface{ Announce(kube.Event) }

// Recorder tells people. Its methods may be called concurrently.
type Recorder struct {
	events  Announcer
	log     logr.Logger
	metrics *Metrics

	// mu guards the fields below.
	mu   sync.Mutex
	last [4]int            // what the last plan that was logged came to
	told map[string]string // by what it is about, what was logged last; see onChange

	// kept is what was said last of nodes that stay, by claim. Only the loop of disruption uses it.
	kept map[string]keptSaid
}

// New makes a recorder. All three are required.
func New(events Announcer, log logr.Logger, metrics *Metrics) *Recorder {
	return &Recorder{events: events, log: log, metrics: metrics}
}

func (r *Recorder) say(about model.Object, typ kube.EventType, reason, format string, args ...any) {
	r.events.Announce(kube.Event{About: about, Type: typ, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// WatchLost counts a broken connection to the API server.
func (r *Recorder) WatchLost() { r.metrics.watchLost.Inc() }

// Waiting shows how many pods wait for a place.
func (r *Recorder) Waiting(pods int) { r.metrics.queueDepth.Set(float64(pods)) }

// Planned notes a plan and how long making it took.
func (r *Recorder) Planned(p place.Plan, took time.Duration) {
	r.metrics.planSeconds.Observe(took.Seconds())
	r.metrics.unschedulable.Set(float64(len(p.Unscheduled)))
	placed := len(p.Existing)
	for _, b := range p.NewClaims {
		placed += len(b.Pods)
	}
	// While pods wait a plan is made again and again; it is worth a line only when it says something new.
	sum := [4]int{placed, len(p.NewClaims), len(p.Existing), len(p.Unscheduled)}
	r.mu.Lock()
	same := sum == r.last
	r.last = sum
	r.mu.Unlock()
	if placed+len(p.Unscheduled) == 0 || same && len(p.NewClaims) == 0 {
		return
	}
	r.log.Info("planned", "pods", placed, "nodeclaims", len(p.NewClaims), "nominated", len(p.Existing), "left", len(p.Unscheduled),
		"price", p.Price.String(), "cut", p.BudgetExceeded, "took", took.String())
}

// PlanCut tells that a plan for all pods that wait was cut short at the work limit, and in which pools pods were left over because of it.
func (r *Recorder) PlanCut(pools []model.Pool, cut []string, left int) {
	r.metrics.planCut.Inc()
	for _, p := range pools {
		if slices.Contains(cut, p.Name) {
			r.say(p, kube.Warning, "PlanCutShort", "Planning for all pods that wait took more work than one plan may, and the turn of some pods of this pool did not come; they are planned for apart")
		}
	}
}

// PlanRefused tells that a plan of ours was unsound and was thrown away.
func (r *Recorder) PlanRefused(p place.Plan, findings []audit.Finding) {
	r.metrics.planRefused.Inc()
	var said []string
	for _, f := range findings {
		said = append(said, f.String())
	}
	r.log.Error(nil, "an unsound plan was refused; please report this", "findings", list(said, maxFindings), "purchases", len(p.NewClaims))
}

// Crashed tells that a loop panicked, over one object when about names one. It was survived, and is tried again later.
func (r *Recorder) Crashed(loop, about string, e evidence.Crash) {
	r.metrics.panics.WithLabelValues(loop).Inc()
	r.log.Error(nil, "panicked, and goes on without; please report this", "controller", loop, "about", about, "panic", e.Message, "at", e.Site, "stack", e.Stack)
}

// maxFindings bounds how much one log line says; a file has the rest.
const maxFindings = 5

// PlanKept tells where the picture of an unsound plan, or of a panic, was written down, or why it was not.
func (r *Recorder) PlanKept(o evidence.Outcome) {
	if o.Err != nil {
		r.metrics.plansKept.WithLabelValues("failed").Inc()
		r.log.Error(o.Err, "the picture of a defect could not be written down; --refused-plans-dir says where")
		return
	}
	r.metrics.plansKept.WithLabelValues("written").Inc()
	r.log.Error(nil, "the picture of a defect was written down; please report it. See what is wrong: karpenter simulate FILE", "file", o.Path)
}

// ClaimCreated tells of a new claim.
func (r *Recorder) ClaimCreated(c model.Claim, b place.NewClaim) {
	r.metrics.claimsCreated.WithLabelValues(c.Pool, "provisioned").Inc()
	best := b.Options[0]
	r.log.Info("created nodeclaim", "NodeClaim", c.Name, "NodePool", c.Pool, "requests", b.Requests.String(), "pods", len(b.Pods),
		"best", best.Key.String(), "price", best.Price.String(), "options", len(b.Options))
}

// Nominated tells a pod where it should go: "node/x" or "nodeclaim/x".
func (r *Recorder) Nominated(p model.Pod, target string) {
	r.say(p, kube.Normal, "Nominated", "Pod should schedule on: %s", target)
}

// Leftovers tells every pod that goes nowhere why, in one event with a reason per pool.
func (r *Recorder) Leftovers(pods *model.Index, left []place.Unscheduled) {
	counts := map[model.Why]int{}
	for _, l := range left {
		counts[l.Why]++
		if l.Why == model.WhyPoolOptOut {
			continue // it asked not to run on our nodes: nothing is wrong
		}
		p := pods.Pod(l.Pod)
		if p == nil {
			continue
		}
		r.say(*p, kube.Warning, "FailedScheduling", "%s", Leftover(l))
	}
	r.metrics.ignored.Set(float64(counts[model.WhyPoolOptOut]))
}

// Launched tells how the purchase of a claim's machine went: every offering that was refused, and the one accepted.
func (r *Recorder) Launched(c model.Claim, m model.Instance, attempts []market.Attempt, err error) {
	for _, a := range attempts {
		labels := []string{m.ImageID, a.Offering.Type, a.Offering.Zone, a.Offering.CapacityType, c.Pool}
		r.metrics.launchStarts.WithLabelValues(labels...).Inc()
		if a.Err == nil {
			continue
		}
		r.metrics.launchFailures.WithLabelValues(append(labels, "sync", string(cloud.CodeOf(a.Err)))...).Inc()
		r.log.Info("the cloud refused an offering", "NodeClaim", c.Name, "offering", a.Offering.String(), "code", cloud.CodeOf(a.Err), "error", a.Err.Error())
	}
	if err != nil {
		r.CloudError("Launch", err)
		if code := cloud.CodeOf(err); code == cloud.NoCapacity || code == cloud.Quota {
			r.say(c, kube.Warning, "InsufficientCapacityError", "NodeClaim %s event: %s", c.Name, err)
		}
	}
}

// NodeStep tells that a node was registered or initialized.
func (r *Recorder) NodeStep(c model.Claim, s lifecycle.Step) {
	switch s.Do {
	case lifecycle.Register:
		r.metrics.nodesCreated.WithLabelValues(c.Pool).Inc()
		r.log.Info("registered nodeclaim", "NodeClaim", c.Name, "Node", s.Node.Name)
	case lifecycle.Initialize:
		r.log.Info("initialized nodeclaim", "NodeClaim", c.Name, "Node", s.Node.Name)
	}
}

// ClaimDeleted tells that we gave up on a claim, or end it, and why.
func (r *Recorder) ClaimDeleted(c model.Claim, s lifecycle.Step) {
	r.metrics.claimsDisrupted.WithLabelValues(c.Pool, disruptionReason(s.Why)).Inc()
	r.log.Info("deleting nodeclaim", "NodeClaim", c.Name, "why", s.Why, "message", s.Message)
	switch s.Why {
	case model.WhyClassNotReady, model.WhyClassGone:
		r.say(c, kube.Warning, "NodeClassNotReady", "NodeClaim %s event: %s", c.Name, s.Message)
	case model.WhyInstanceFailed, model.WhyNoCapacity:
		r.say(c, kube.Warning, "InsufficientCapacityError", "NodeClaim %s event: %s", c.Name, s.Message)
	case model.WhyLaunchTimeout, model.WhyRegisterTimeout, model.WhyLaunchFailed:
		r.say(c, kube.Warning, "LaunchFailed", "NodeClaim %s was given up: %s", c.Name, s.Message)
	case model.WhyInstanceStopped:
		r.say(c, kube.Warning, "InstanceStopped", "NodeClaim %s is given up: %s", c.Name, s.Message)
	case model.WhyExpired, model.WhyEmpty:
		r.say(c, kube.Normal, "DisruptionTerminating", "Disrupting NodeClaim: %s", title(s.Why))
	}
}

// ClaimFinished counts a claim that is gone with everything that belonged to it.
func (r *Recorder) ClaimFinished(c model.Claim, now time.Time) {
	r.metrics.claimsTerminated.WithLabelValues(c.Pool).Inc()
	if c.Deleting() {
		r.metrics.claimTermination.WithLabelValues(c.Pool).Observe(now.Sub(c.DeletedAt).Seconds())
	}
	r.log.Info("deleted nodeclaim", "NodeClaim", c.Name)
}

// CloudError counts a refusal of the cloud by operation and code.
func (r *Recorder) CloudError(operation string, err error) {
	r.metrics.cloudErrors.WithLabelValues(operation, string(cloud.CodeOf(err))).Inc()
}

// Draining tells what holds a leaving node.
func (r *Recorder) Draining(n model.Node, s drain.Step) {
	for _, x := range s.Waiting {
		if x.Why == model.WhyPDB || x.Why == model.WhyDoNotDisrupt {
			r.say(n, kube.Warning, "FailedDraining", "Failed to drain node, pod %s: %s", x.Pod, orWord(x.Detail, string(x.Why)))
			return
		}
	}
	if s.Drained && !s.Detached {
		r.say(n, kube.Normal, "AwaitingVolumeDetachment", "Awaiting deletion of VolumeAttachments bound to node")
	}
}

// PodRemoved tells that a pod was asked to leave its node, or why it may not.
func (r *Recorder) PodRemoved(n model.Node, x drain.Removal, err error) {
	pod := model.Pod{Namespace: x.Pod.Namespace, Name: x.Pod.Name, UID: x.UID}
	switch code := kube.CodeOf(err); code {
	case "":
		r.metrics.evictions.WithLabelValues("200").Inc()
		r.say(pod, kube.Normal, "Evicted", "Evicted pod: %s", title(x.Why))
		r.log.V(1).Info("evicted", "Pod", x.Pod.String(), "Node", n.Name, "force", x.Force)
	case kube.Blocked:
		r.metrics.evictions.WithLabelValues("429").Inc()
		r.say(n, kube.Warning, "FailedDraining", "Failed to drain node, pod %s: %s", x.Pod, err)
	default:
		r.metrics.evictions.WithLabelValues(string(code)).Inc()
	}
}

// NodeDrained tells that nothing holds the node any more.
func (r *Recorder) NodeDrained(n model.Node) {
	r.metrics.nodesDrained.WithLabelValues(n.Labels[model.LabelPool]).Inc()
	r.metrics.nodesTerminated.WithLabelValues(n.Labels[model.LabelPool]).Inc()
	r.log.Info("drained node", "Node", n.Name)
}

// again is when what keeps a node is said once more although it is the same: events are kept for about so long.
const again = 50 * time.Minute

// Kept tells people which nodes stay although they could be wanted gone. Only what a person would ask about is said, when it changes and about every
// hour: at rest nothing is written for it.
func (r *Recorder) Kept(kept []disrupt.Kept, now time.Time) {
	said := make(map[string]keptSaid, len(kept))
	defer func() { r.kept = said }()
	for _, k := range kept {
		reason := ""
		switch k.Why {
		case model.WhyDoNotDisrupt, model.WhyPDB, model.WhyBudget:
			reason = "DisruptionBlocked"
		case model.WhyNoHome, model.WhyNoCheaperHome, model.WhySavingTooSmall, model.WhyConsolidateNever:
			reason = "Unconsolidatable"
		default: // nobody asks, or nobody looked
			if last, ok := r.kept[k.Claim]; ok {
				said[k.Claim] = last
			}
			continue
		}
		last := r.kept[k.Claim]
		if last.why == k.Why && now.Sub(last.at) < again {
			said[k.Claim] = last
			continue
		}
		said[k.Claim] = keptSaid{k.Why, now}
		r.sayOfBoth(k.Claim, k.Node, reason, orWord(k.Detail, string(k.Why)))
	}
}

// keptSaid is why a node stays, and when it was said.
type keptSaid struct {
	why model.Why
	at  time.Time
}

// sayOfBoth says something about a claim and its node, so that whoever describes one of them reads it.
func (r *Recorder) sayOfBoth(claim, node, reason, text string) {
	r.say(model.Claim{Name: claim}, kube.Normal, reason, "%s", text)
	if node != "" {
		r.say(model.Node{Name: node}, kube.Normal, reason, "%s", text)
	}
}

// MoveBegun tells that nodes are to leave, and what is bought instead.
func (r *Recorder) MoveBegun(m disrupt.Move) {
	r.decided(m)
	text := fmt.Sprintf("%s: %d nodes with %d pods, %d replacements, saves %s", title(m.Why), len(m.Nodes), m.Pods, len(m.Buy), m.Saves)
	r.log.Info("beginning to move nodes", "NodeClaims", m.Claims, "why", m.Why, "pods", m.Pods, "replacements", m.Record.Replacements, "saves", m.Saves.String())
	for i, claim := range m.Claims {
		if m.Why == model.WhyUnderutilized {
			r.sayOfBoth(claim, m.Nodes[i], "ConsolidationCandidate", text)
		}
	}
}

// decided counts a decision to disrupt.
func (r *Recorder) decided(m disrupt.Move) {
	decision, kind := "delete", ""
	if len(m.Record.Replacements) > 0 {
		decision = "replace"
	}
	switch {
	case m.Why == model.WhyEmpty:
		kind = "empty"
	case m.Why == model.WhyUnderutilized && len(m.Claims) > 1:
		kind = "multi"
	case m.Why == model.WhyUnderutilized:
		kind = "single"
	}
	r.metrics.decisions.WithLabelValues(decision, disruptionReason(m.Why), kind).Inc()
}

// ReplacementCreated tells of a claim that is to replace nodes which leave.
func (r *Recorder) ReplacementCreated(c model.Claim, b place.NewClaim, m disrupt.Move) {
	r.ClaimCreated(c, b)
	r.say(c, kube.Normal, "DisruptionLaunching", "Launching NodeClaim: %s", title(m.Why))
}

// MoveUndone tells that nodes stay after all.
func (r *Recorder) MoveUndone(u disrupt.Undo) {
	r.log.Info("undoing a move", "NodeClaims", u.Claims, "why", u.Why, "detail", u.Detail, "cancelled", u.Cancel)
	for i, claim := range u.Claims {
		node := ""
		if i < len(u.Nodes) {
			node = u.Nodes[i]
		}
		r.sayOfBoth(claim, node, "ConsolidationRejected", orWord(u.Detail, string(u.Why)))
	}
}

// Disrupted tells that a healthy node's claim is being deleted by our own choice.
func (r *Recorder) Disrupted(c model.Claim, m disrupt.Move) {
	if len(m.Record.Claims) == 0 {
		r.decided(m)
	}
	r.metrics.claimsDisrupted.WithLabelValues(c.Pool, disruptionReason(m.Why)).Inc()
	r.log.Info("disrupting node", "NodeClaim", c.Name, "why", m.Why, "saves", m.Saves.String())
	r.sayOfBoth(c.Name, c.NodeName, "DisruptionTerminating", "Disrupting NodeClaim: "+title(m.Why))
}

// ClassWaits tells why a deleted class is still there.
func (r *Recorder) ClassWaits(c model.Class, users []string) {
	r.say(c, kube.Normal, "WaitingOnNodeClaimTermination", "Waiting on NodeClaim termination for %s", list(users, 5))
}

// PoolUsage shows what a pool's nodes add up to, and its limits.
func (r *Recorder) PoolUsage(p model.Pool, sum model.Resources, nodes int64) {
	for name, v := range p.Limits {
		r.metrics.poolLimit.WithLabelValues(p.Name, name).Set(inUnits(name, v))
	}
	for _, name := range sum.Names() {
		r.metrics.poolUsage.WithLabelValues(p.Name, name).Set(inUnits(name, sum.Get(name)))
	}
	r.metrics.poolUsage.WithLabelValues(p.Name, model.ResourceNodes).Set(float64(nodes))
}

// Orphan tells that something belonging to nobody is taken away.
func (r *Recorder) Orphan(kind, name string) {
	r.metrics.orphans.WithLabelValues(kind).Inc()
	r.log.Info("removing what belongs to no claim", "kind", kind, "name", name)
}
