// Package observe answers: what do we tell people?
//
// It turns plans, steps and refusals into events on objects, metrics and log lines, under the names that users of
// Karpenter know. It decides nothing, and nothing in it may fail or block: a decision is never held up by the telling.
package observe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-logr/logr"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/outage"
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
	// awaited is when claims were told that nodes wait for them. Likewise.
	awaited map[string]time.Time
	// asked is what was said last to pods that ask to be left alone. Likewise.
	asked map[model.PodKey]asked

	// lives has a lock of its own.
	lives *lives
}

// New makes a recorder. All three are required.
func New(events Announcer, log logr.Logger, metrics *Metrics) *Recorder {
	return &Recorder{events: events, log: log, metrics: metrics, asked: map[model.PodKey]asked{}, lives: newLives(metrics)}
}

func (r *Recorder) say(about model.Object, typ kube.EventType, reason, format string, args ...any) {
	if uidOf(about) == "" { // whoever describes an object looks for its UID
		about = named(about, r.lives.uid(about))
	}
	r.events.Announce(kube.Event{About: about, Type: typ, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// WatchLost counts a broken connection to the API server.
func (r *Recorder) WatchLost() { r.metrics.watchLost.Inc() }

// Waiting shows how many pods wait for a place.
func (r *Recorder) Waiting(pods int) {
	r.metrics.queueDepth.WithLabelValues(ofProvisioner, "").Set(float64(pods))
}

// Planned notes a plan that was made now, and how long making it took.
func (r *Recorder) Planned(p place.Plan, now time.Time, took time.Duration) {
	r.metrics.scheduling.WithLabelValues(ofProvisioner).Observe(took.Seconds())
	r.metrics.unschedulable.WithLabelValues(ofProvisioner).Set(float64(len(p.Unscheduled)))
	placed := len(p.Existing)
	var pods []model.PodKey
	for _, b := range p.NewClaims {
		placed += len(b.Pods)
		pods = append(pods, b.Pods...)
	}
	for _, x := range p.Existing {
		pods = append(pods, x.Pod)
	}
	r.lives.decide(pods, true, now)
	pods = pods[:0]
	for _, x := range p.Unscheduled {
		pods = append(pods, x.Pod)
	}
	r.lives.decide(pods, false, now)
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
	r.metrics.panics.WithLabelValues(controllerOf(loop)).Inc()
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
func (r *Recorder) ClaimCreated(c model.Claim, b place.NewClaim) { r.created(c, b, "provisioned") }

func (r *Recorder) created(c model.Claim, b place.NewClaim, why string) {
	r.metrics.claimsCreated.WithLabelValues(why, c.Pool, orWord(c.Annotations[model.AnnotationMinValuesRelaxed], "false")).Inc()
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
		r.metrics.launchFailures.WithLabelValues(append(labels, "sync", ownCode(a.Err))...).Inc()
		r.log.Info("the cloud refused an offering", "NodeClaim", c.Name, "offering", a.Offering.String(), "code", cloud.CodeOf(a.Err), "error", a.Err.Error())
	}
	if err != nil {
		if code := cloud.CodeOf(err); code == cloud.NoCapacity || code == cloud.Quota {
			r.say(c, kube.Warning, "InsufficientCapacityError", "NodeClaim %s event: %s", c.Name, err)
		}
	}
}

// NodeStep tells that a node was registered or initialized.
func (r *Recorder) NodeStep(c model.Claim, s lifecycle.Step) {
	switch s.Do {
	case lifecycle.Register:
		r.metrics.nodesCreated.WithLabelValues(c.Pool, c.Labels[model.LabelZone]).Inc()
		r.log.Info("registered nodeclaim", "NodeClaim", c.Name, "Node", s.Node.Name)
	case lifecycle.Initialize:
		r.log.Info("initialized nodeclaim", "NodeClaim", c.Name, "Node", s.Node.Name)
	}
}

// countDisrupted counts a claim that is deleted.
func (r *Recorder) countDisrupted(c model.Claim, why model.Why) {
	r.metrics.claimsDisrupted.WithLabelValues(disruptionReason(why), c.Pool, c.Labels[model.LabelCapacityType]).Inc()
}

// ClaimDeleted tells that we gave up on a claim, or end it, and why.
func (r *Recorder) ClaimDeleted(c model.Claim, s lifecycle.Step) {
	r.countDisrupted(c, s.Why)
	if s.Refusal != "" {
		r.asyncFailed(c, s.Refusal, s.Message)
	}
	r.log.Info("deleting nodeclaim", "NodeClaim", c.Name, "why", s.Why, "message", s.Message)
	switch s.Why {
	case model.WhyClassGone:
		r.say(c, kube.Warning, "NodeClassResolutionError", "NodeClaim %s is given up: %s", c.Name, s.Message)
	case model.WhyClassNotReady:
		r.say(c, kube.Warning, "NodeClassNotReady", "NodeClaim %s event: %s", c.Name, s.Message)
	case model.WhyInstanceFailed, model.WhyNoCapacity:
		r.say(c, kube.Warning, "InsufficientCapacityError", "NodeClaim %s event: %s", c.Name, s.Message)
	case model.WhyLaunchTimeout, model.WhyRegisterTimeout, model.WhyLaunchFailed:
		r.say(c, kube.Warning, "LaunchFailed", "NodeClaim %s was given up: %s", c.Name, s.Message)
	case model.WhyInstanceStopped:
		r.say(c, kube.Warning, "InstanceStopped", "NodeClaim %s is given up: %s", c.Name, s.Message)
	case model.WhyExpired, model.WhyEmpty:
		r.terminating(c, s.Why)
	}
}

// terminating tells claim and node that they go by our own choice.
func (r *Recorder) terminating(c model.Claim, why model.Why) {
	r.sayOfBoth(c.Name, c.NodeName, "DisruptionTerminating", "Disrupting NodeClaim: "+title(why))
}

// ownCode is the cloud's own code of a refusal, UnknownError when it gave none.
func ownCode(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok && e.Reason != "" {
		return e.Reason
	}
	return "UnknownError"
}

// asyncFailed tells that a machine which was accepted was not made.
func (r *Recorder) asyncFailed(c model.Claim, code, message string) {
	k := c.Offering()
	r.metrics.launchFailures.WithLabelValues(c.ImageID, k.Type, k.Zone, k.CapacityType, c.Pool, "async", code).Inc()
	r.say(c, kube.Warning, "AsyncProvisioningError", "NodeClaim %s failed to register: %s", c.Name, message)
}

// Interrupted tells that the cloud takes a node's machine away, and that its pods leave until then.
func (r *Recorder) Interrupted(c model.Claim, node string, n outage.Notice, now time.Time) {
	kind, reason := noticeChange, "TerminatingOnInterruption"
	if n.Event == outage.Preempt {
		kind, reason = noticeSpot, "SpotInterrupted"
	}
	r.metrics.notices.WithLabelValues(kind).Inc()
	r.metrics.noticesHeeded.Inc()
	r.metrics.noticeAge.Observe(max(0, now.Sub(n.Since).Seconds()))
	text := fmt.Sprintf("The cloud takes the machine away (%s), not before %s: the node is drained until then", n.Event, n.Until.UTC().Format(time.RFC3339))
	for _, o := range []model.Object{c, model.Node{Name: node}} {
		r.say(o, kube.Warning, reason, "%s", text)
	}
}

// Unhealthy counts a node that is replaced because it does not work.
func (r *Recorder) Unhealthy(c model.Claim, s outage.Sickness) {
	r.metrics.unhealthy.WithLabelValues(snake(s.Condition), c.Pool, c.Labels[model.LabelCapacityType], c.ImageID).Inc()
}

// snake writes NodeHealthy as node_healthy.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(s[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// ClaimFinished counts a claim that is gone with everything that belonged to it.
func (r *Recorder) ClaimFinished(c model.Claim, now time.Time) {
	r.metrics.claimsTerminated.WithLabelValues(c.Pool, c.Labels[model.LabelCapacityType], c.Labels[model.LabelZone]).Inc()
	if x, ok := model.FindCondition(c.Conditions, model.InstanceTerminating); ok && x.Status == model.True {
		r.metrics.instanceTermination.WithLabelValues(c.Pool).Observe(max(0, now.Sub(x.Since).Seconds()))
	}
	if c.Deleting() {
		r.metrics.claimTermination.WithLabelValues(c.Pool).Observe(now.Sub(c.DeletedAt).Seconds())
	}
	r.log.Info("deleted nodeclaim", "NodeClaim", c.Name)
}

// mostNamed bounds how many pods or volumes an event names.
const mostNamed = 5

// Draining tells what holds a leaving node.
func (r *Recorder) Draining(n model.Node, s drain.Step) {
	var held []string
	for _, x := range s.Waiting {
		if x.Why == model.WhyPDB || x.Why == model.WhyDoNotDisrupt {
			held = append(held, fmt.Sprintf("pod %s: %s", x.Pod, orWord(x.Detail, string(x.Why))))
		}
	}
	if len(held) > 0 {
		r.say(n, kube.Warning, "FailedDraining", "Failed to drain node, %s", list(held, mostNamed))
	}
	if s.Drained && !s.Detached {
		r.say(n, kube.Normal, "AwaitingVolumeDetachment", "Awaiting deletion of VolumeAttachments bound to node: %s", list(s.Volumes, mostNamed))
	}
}

// PodRemoved tells that a pod was asked to leave its node, or why it may not.
func (r *Recorder) PodRemoved(n model.Node, x drain.Removal, err error) {
	pod := model.Pod{Namespace: x.Pod.Namespace, Name: x.Pod.Name, UID: x.UID}
	switch code := kube.CodeOf(err); code {
	case "":
		r.metrics.evictions.WithLabelValues("200").Inc()
		if x.Force {
			r.say(pod, kube.Normal, "Disrupted", "Deleted so that node %s can end at %s: %d of the pod's %d seconds of grace are left, and neither disruption budgets nor annotations count",
				n.Name, x.End.UTC().Format(time.RFC3339), *x.GraceSeconds, x.Own)
		} else {
			r.say(pod, kube.Normal, "Evicted", "Evicted pod: %s", title(x.Why))
		}
		r.metrics.podsDrained.WithLabelValues(orWord(title(x.Why), "Forceful Termination")).Inc()
		r.log.V(1).Info("evicted", "Pod", x.Pod.String(), "Node", n.Name, "force", x.Force)
	case kube.Blocked:
		r.metrics.evictions.WithLabelValues("429").Inc()
		r.say(n, kube.Warning, "FailedDraining", "Failed to drain node, pod %s: %s", x.Pod, err)
	default:
		r.metrics.evictions.WithLabelValues(httpStatus(code)).Inc()
	}
}

// httpStatus is the HTTP status that a code stands for.
func httpStatus(code kube.Code) string {
	switch code {
	case kube.NotFound:
		return "404"
	case kube.Conflict, kube.Exists:
		return "409"
	case kube.Invalid:
		return "422"
	case kube.Denied:
		return "403"
	case kube.Unavailable:
		return "503"
	}
	return "500"
}

// NodeDrained tells that no pod has to leave the node any more.
func (r *Recorder) NodeDrained(n model.Node) {
	r.metrics.nodesDrained.WithLabelValues(n.Labels[model.LabelPool]).Inc()
	r.log.Info("drained node", "Node", n.Name)
}

// NodeReleased tells that the node was let go: nothing holds it any more.
func (r *Recorder) NodeReleased(n model.Node, now time.Time) {
	pool := n.Labels[model.LabelPool]
	r.metrics.nodesTerminated.WithLabelValues(pool, n.Labels[model.LabelZone]).Inc()
	r.metrics.nodeTermination.WithLabelValues(pool).Observe(max(0, now.Sub(n.DeletedAt).Seconds()))
	r.metrics.nodeLifetime.WithLabelValues(pool).Observe(max(0, now.Sub(n.Created).Seconds()))
	r.log.Info("released node", "Node", n.Name)
}

// again is when what keeps a node is said once more although it is the same: events are kept for about so long.
const again = 50 * time.Minute

// Kept tells people which nodes stay although they could be wanted gone. Only what a person would ask about is said, when it changes and about every
// hour: at rest nothing is written for it.
func (r *Recorder) Kept(kept []disrupt.Kept, now time.Time) {
	said, pools := make(map[string]keptSaid, len(kept)), map[string]string{}
	defer func() { r.kept = said }()
	defer func() { r.budgetsBlock(pools, said, now) }()
	for _, k := range kept {
		reason, kind := "", kube.Normal
		switch k.Why {
		case model.WhyDoNotDisrupt, model.WhyPDB, model.WhyBudget, model.WhyPaused:
			reason = "DisruptionBlocked"
			if k.Why == model.WhyBudget {
				pools[r.lives.poolOf(k.Claim)] = k.Detail
			}
		case model.WhyRepairBlocked:
			reason, kind = "NodeRepairBlocked", kube.Warning
		case model.WhyObserved:
			reason = "DisruptionObserved"
		case model.WhyNoHome, model.WhyNoCheaperHome, model.WhySavingTooSmall, model.WhyUncertainHome, model.WhyConsolidateNever:
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
		r.sayAs(kind, k.Claim, k.Node, reason, orWord(k.Detail, string(k.Why)))
	}
}

// budgetsBlock tells pools that their budgets let no node leave now, each as often as a node would be told.
func (r *Recorder) budgetsBlock(pools map[string]string, said map[string]keptSaid, now time.Time) {
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		key := "pool/" + pool // a slash is in no claim's name
		last := r.kept[key]
		if pool == "" || last.why == model.WhyBudget && now.Sub(last.at) < again {
			said[key] = last
			continue
		}
		said[key] = keptSaid{model.WhyBudget, now}
		r.say(model.Pool{Name: pool}, kube.Normal, "DisruptionBlocked", "%s", orWord(pools[pool], string(model.WhyBudget)))
	}
}

// Replacing tells claims that nodes wait for them to be initialized.
func (r *Recorder) Replacing(claims []string, now time.Time) {
	next := make(map[string]time.Time, len(claims))
	for _, name := range claims {
		next[name] = r.awaited[name]
		if now.Sub(next[name]) >= again {
			next[name] = now
			r.say(model.Claim{Name: name}, kube.Normal, "DisruptionWaitingReadiness", "Nodes leave as soon as this one is initialized")
		}
	}
	r.awaited = next
}

// Untainted tells that a claim's node joined open to any pod.
func (r *Recorder) Untainted(c model.Claim, message string) {
	r.say(c, kube.Warning, "UnregisteredTaintMissing", "%s", message)
}

// Shape tells of a node that has less than was bought; of one that has all of it, the condition says so.
func (r *Recorder) Shape(c model.Claim, is model.Condition) {
	if is.Status == model.False {
		r.say(c, kube.Warning, "FailedConsistencyCheck", "%s", is.Message)
	}
}

// NoClass tells that a pool's class is not there, or is on its way out.
func (r *Recorder) NoClass(p model.Pool, why string) {
	r.say(p, kube.Warning, "NodeClassResolutionError", "%s", why)
}

// keptSaid is why a node stays, and when it was said.
type keptSaid struct {
	why model.Why
	at  time.Time
}

// sayOfBoth says something about a claim and its node, so that whoever describes one of them reads it.
func (r *Recorder) sayOfBoth(claim, node, reason, text string) {
	r.sayAs(kube.Normal, claim, node, reason, text)
}

func (r *Recorder) sayAs(kind kube.EventType, claim, node, reason, text string) {
	r.say(model.Claim{Name: claim}, kind, reason, "%s", text)
	if node != "" {
		r.say(model.Node{Name: node}, kind, reason, "%s", text)
	}
}

// MoveBegun tells that nodes are to leave, and what is bought instead.
func (r *Recorder) MoveBegun(m disrupt.Move, pools []string) {
	r.decided(m, pools)
	text := fmt.Sprintf("%s: %d nodes with %d pods, %d replacements, saves %s", title(m.Why), len(m.Nodes), m.Pods, len(m.Buy), m.Saves)
	r.log.Info("beginning to move nodes", "NodeClaims", m.Claims, "why", m.Why, "detail", m.Detail, "pods", m.Pods, "replacements", m.Record.Replacements, "saves", m.Saves.String())
	for i, claim := range m.Claims {
		if m.Why == model.WhyUnderutilized {
			r.sayOfBoth(claim, m.Nodes[i], "ConsolidationCandidate", text)
		}
	}
}

// The kinds of consolidation, and of notices, as users know them.
const (
	kindEmpty, kindSingle, kindMulti = "empty", "single", "multi"
	noticeSpot, noticeChange         = "spot_interrupted", "scheduled_change"
)

// decision is how users know a move: what is done, and which kind of consolidation it is.
func decision(why model.Why, nodes, replacements int) (word, kind string) {
	word = "delete"
	if replacements > 0 {
		word = "replace"
	}
	switch {
	case why == model.WhyEmpty:
		kind = kindEmpty
	case why == model.WhyUnderutilized && nodes > 1:
		kind = kindMulti
	case why == model.WhyUnderutilized:
		kind = kindSingle
	}
	return word, kind
}

// decided counts a decision to disrupt, and once for each pool whose nodes leave by it.
func (r *Recorder) decided(m disrupt.Move, pools []string) {
	word, kind := decision(m.Why, len(m.Claims), len(m.Record.Replacements))
	r.metrics.decisions.WithLabelValues(word, disruptionReason(m.Why), kind).Inc()
	slices.Sort(pools)
	for _, pool := range slices.Compact(pools) {
		r.metrics.decisionsByPool.WithLabelValues(word, disruptionReason(m.Why), kind, pool).Inc()
	}
}

// ReplacementCreated tells of a claim that is to replace nodes which leave.
func (r *Recorder) ReplacementCreated(c model.Claim, b place.NewClaim, m disrupt.Move) {
	r.created(c, b, disruptionReason(m.Why))
	r.say(c, kube.Normal, "DisruptionLaunching", "Launching NodeClaim: %s", title(m.Why))
}

// MoveUndone tells that nodes stay after all.
func (r *Recorder) MoveUndone(u disrupt.Undo) {
	word, kind := decision(u.Move, len(u.Claims), len(u.Cancel))
	switch u.Why {
	case model.WhyReplacementLost:
		r.metrics.queueFailures.WithLabelValues("replace", disruptionReason(u.Move), kind).Inc()
	case model.WhyMoveOutdated:
		r.metrics.invalid.WithLabelValues(kind).Add(float64(len(u.Claims)))
	}
	r.log.Info("undoing a move", "decision", word, "NodeClaims", u.Claims, "why", u.Why, "detail", u.Detail, "cancelled", u.Cancel)
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
		r.decided(m, []string{c.Pool})
	}
	r.countDisrupted(c, m.Why)
	r.log.Info("disrupting node", "NodeClaim", c.Name, "why", m.Why, "saves", m.Saves.String())
	r.terminating(c, m.Why)
}

// ClassWaits tells why a deleted class is still there.
func (r *Recorder) ClassWaits(c model.Class, users []string) {
	r.say(c, kube.Normal, "WaitingOnNodeClaimTermination", "Waiting on NodeClaim termination for %s", list(users, 5))
}

// PoolSeen has what is counted of a pool begin at zero.
func (r *Recorder) PoolSeen(p model.Pool) { r.metrics.ofPool(p.Name) }

// Orphan tells that something belonging to nobody is taken away.
func (r *Recorder) Orphan(kind, name string) {
	r.metrics.orphans.WithLabelValues(kind).Inc()
	r.log.Info("removing what belongs to no claim", "kind", kind, "name", name)
}
