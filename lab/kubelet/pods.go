package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// step is how far a pod on a machine has come.
//
//	             ┌─▶ rejected ─┐
//	bound ──admit┤             ├─▶ ended ──deleted──▶ leaving ──▶ released ──object gone──▶ forgotten
//	             └─▶ waiting ──┤▲                        ▲
//	                   │       ││ run-for is over        │
//	                   └─▶ starting ──▶ running ─────────┘
//	                        └─▶┘ until its disks are attached
type step int

const (
	waiting  step = iota // admitted, "ContainerCreating" not yet written
	starting             // admitted, will run when due
	running
	rejected // to be written as Failed
	ended    // in its last phase
	leaving  // deleted; its containers are stopping
	released // deleted for good; the object may stay for its finalizers
)

// podRun is one pod on one machine.
type podRun struct {
	pod      *corev1.Pod // as last seen; shared with the watch, never changed
	step     step
	due      time.Time // when act is next called; zero = only news changes anything
	refusal  refusal   // why it was rejected
	requests corev1.ResourceList
	ip       string
	started  time.Time           // its containers
	gates    bool                // a readiness gate changed, another wrote over the readiness, or a resize was answered: the status must be written again
	has      []corev1.Container  // with the resources that they were given last
	refused  corev1.ResourceList // what a resize asked for and found no room for; nil = nothing
	disks    map[string]string   // by claim: the volume that must be attached first; "" = none, for this claim
	lacks    string              // the claim that it was said to wait for
	last     corev1.PodStatus
	failures int // of writes, in a row
}

// before orders pods by when they are due, then by name.
func (p *podRun) before(o *podRun) bool {
	if c := p.due.Compare(o.due); c != 0 {
		return c < 0
	}
	return cmp.Or(cmp.Compare(p.pod.Namespace, o.pod.Namespace), cmp.Compare(p.pod.Name, o.pod.Name)) < 0
}

// active reports whether the pod holds resources of the machine.
func (p *podRun) active() bool {
	return p.step == waiting || p.step == starting || p.step == running || p.step == leaving && !p.started.IsZero()
}

// takePod takes news of a pod: a new one is admitted or rejected, a deleted one begins to stop, one that is gone is forgotten.
func (m *machine) takePod(n podNews, now time.Time) {
	p := m.pods[n.pod.UID]
	switch {
	case n.gone:
		if p != nil {
			m.drop(p)
		}
		return
	case p == nil:
		p = &podRun{pod: n.pod, requests: podRequests(n.pod), has: containers(n.pod)}
		m.begin(p, now)
		m.pods[n.pod.UID] = p
	default:
		p.pod = n.pod
		if p.step == running && (gatesOpen(p.pod) != gatesOpen(&corev1.Pod{Spec: p.pod.Spec, Status: p.last}) || p.overwritten()) {
			p.gates, p.due = true, now
		}
		m.resize(p, now)
	}
	if n.pod.DeletionTimestamp != nil && p.step != released {
		m.leave(p, now)
	}
}

// overwritten reports whether another says that the pod, which is ready, is not: the node controller does so with pods of a node that it
// does not think ready yet, and a kubelet then says again what is true.
func (p *podRun) overwritten() bool {
	says := func(s corev1.PodStatus, want corev1.ConditionStatus) bool {
		return s.Phase == corev1.PodRunning && slices.ContainsFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == want })
	}
	return says(p.last, corev1.ConditionTrue) && says(p.pod.Status, corev1.ConditionFalse)
}

// begin decides what to do with a pod that this machine sees for the first time.
func (m *machine) begin(p *podRun, now time.Time) {
	switch p.pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		p.step = ended
		return
	case corev1.PodRunning:
		// The machine was restarted, or its host was: the containers went on, as they do under a kubelet.
		p.step, p.started, p.ip, p.last = running, now, p.pod.Status.PodIP, p.pod.Status
		if p.pod.Status.StartTime != nil {
			p.started = p.pod.Status.StartTime.Time
		}
		m.cidr.take(p.ip)
		p.due = p.endsAt()
		m.noteCilium()
		return
	}
	if why := m.admit(p); why.reason != "" {
		p.step, p.refusal, p.due = rejected, why, now
		return
	}
	p.step, p.due = starting, now.Add(m.host.cfg.PodStart)
	// Long enough for a person to see "ContainerCreating".
	if m.host.cfg.PodStart >= time.Second || len(claimsOf(p.pod)) > 0 {
		p.step, p.due = waiting, now
	}
}

// leave starts or shortens the stopping of a deleted pod: at most its grace, at most what its containers need.
func (m *machine) leave(p *podRun, now time.Time) {
	grace := time.Duration(0)
	if g := p.pod.DeletionGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	if p.started.IsZero() || p.step == ended {
		grace = 0
	}
	due := now.Add(min(grace, annotated(p.pod, StopAfterAnnotation, m.host.cfg.PodStop)))
	if p.step != leaving || due.Before(p.due) {
		p.due = due
	}
	p.step = leaving
}

// endsAt is when the pod's containers end by themselves; zero = never.
func (p *podRun) endsAt() time.Time {
	if p.pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		return time.Time{}
	}
	if d := annotated(p.pod, RunForAnnotation, -1); d >= 0 {
		return p.started.Add(d)
	}
	if d, ok := runTime(p.pod); ok {
		return p.started.Add(d)
	}
	return time.Time{}
}

// annotated reads a duration from an annotation; one that cannot be read counts as not there.
func annotated(pod *corev1.Pod, key string, def time.Duration) time.Duration {
	if d, err := time.ParseDuration(pod.Annotations[key]); err == nil && d >= 0 {
		return d
	}
	return def
}

// act does what is due for a pod: one write to the API server, with the node's own rights.
func (m *machine) act(ctx context.Context, p *podRun, now time.Time) {
	p.due = time.Time{}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	var err error
	before := p.step
	switch p.step {
	case waiting:
		if err = m.write(ctx, p, m.creatingStatus(p, now)); err == nil {
			p.step, p.due = starting, now.Add(m.host.cfg.PodStart)
		}
	case starting:
		err = m.start(ctx, p, now)
	case running:
		if p.gates {
			p.gates, p.due = false, p.endsAt()
			err = m.write(ctx, p, m.runningStatus(p, p.started))
			break
		}
		if err = m.write(ctx, p, finalStatus(p, now)); err == nil {
			p.step = ended
			m.noteCilium()
		}
	case rejected:
		if m.changedMind(ctx, p) {
			p.step, p.due = starting, now.Add(m.host.cfg.PodStart)
			break
		}
		if err = m.write(ctx, p, p.refusal.status()); err == nil {
			p.step = ended
			m.log.say("pod %s/%s rejected: %s", p.pod.Namespace, p.pod.Name, p.refusal.message)
		}
	case leaving:
		if err = m.release(ctx, p, now); err == nil {
			p.step = released
			m.noteCilium()
		}
	}
	m.acted(p, before, err, now)
}

// start runs the pod's containers, or has it wait for its disks.
func (m *machine) start(ctx context.Context, p *podRun, now time.Time) error {
	claim, err := m.lacks(ctx, p)
	if err != nil {
		return err
	}
	if claim != "" {
		if p.lacks != claim {
			p.lacks = claim
			m.log.say("pod %s/%s waits for the disk of claim %s", p.pod.Namespace, p.pod.Name, claim)
		}
		p.due = now.Add(attachLook)
		return nil
	}
	if p.ip == "" && !p.pod.Spec.HostNetwork {
		p.ip = m.cidr.next()
	}
	p.started = now
	if err := m.write(ctx, p, m.runningStatus(p, now)); err != nil {
		p.started = time.Time{}
		return err
	}
	p.step, p.due = running, p.endsAt()
	m.noteCilium()
	return nil
}

// changedMind reads the node anew before a pod is rejected for what the node says of itself: the scheduler may have seen a
// taint go that this machine's watch has not. Source: kubelet's admission asks the API server again in this case.
func (m *machine) changedMind(ctx context.Context, p *podRun) bool {
	if p.refusal.reason != reasonAffinity && p.refusal.reason != reasonTaint {
		return false
	}
	node, err := m.kube.core.Nodes().Get(ctx, m.Name, metav1.GetOptions{})
	return err == nil && suits(p, node).reason == ""
}

// acted deals with the outcome of a write: a pod that is not there any more is forgotten, anything else is tried again. As long as the watch shows
// the pod, an answer that it is gone is not believed: a kubelet forgets pods when its watch does.
func (m *machine) acted(p *podRun, before step, err error, now time.Time) {
	switch {
	case err == nil:
		p.failures = 0
	case (apierrors.IsNotFound(err) || apierrors.IsConflict(err)) && !m.host.shows(p.pod):
		m.drop(p)
	default:
		p.step, p.gates = before, before == running && (p.endsAt().IsZero() || p.endsAt().After(now))
		p.failures++
		p.due = now.Add(min(retryFirst<<min(p.failures, 6), retryLast))
		if errors.Is(err, context.Canceled) {
			return // that is Halt
		}
		m.log.say("pod %s/%s: not written, will be tried again: %v", p.pod.Namespace, p.pod.Name, err)
	}
}

// release deletes a stopped pod for good. A pod that someone counts (a job's, or one with finalizers) gets its last
// phase first, as kubelets do; for the others this write would only be read by nobody.
func (m *machine) release(ctx context.Context, p *podRun, now time.Time) error {
	phase := p.pod.Status.Phase
	final := phase == corev1.PodSucceeded || phase == corev1.PodFailed
	if !final && (p.pod.Spec.RestartPolicy != corev1.RestartPolicyAlways || len(p.pod.Finalizers) > 0) {
		status := finalStatus(p, now)
		if p.started.IsZero() || p.endsAt().IsZero() || p.endsAt().After(now) {
			status.Phase = corev1.PodFailed // stopped, not finished
		}
		if err := m.write(ctx, p, status); err != nil {
			return err
		}
	}
	none := int64(0)
	return m.kube.core.Pods(p.pod.Namespace).Delete(ctx, p.pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &none, Preconditions: &metav1.Preconditions{UID: &p.pod.UID},
	})
}

// write patches the status of this very pod.
func (m *machine) write(ctx context.Context, p *podRun, status corev1.PodStatus) error {
	status.ObservedGeneration = p.pod.Generation
	patch, err := statusPatch(p.pod.UID, status)
	if err != nil {
		return err
	}
	_, err = m.kube.core.Pods(p.pod.Namespace).Patch(ctx, p.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err == nil {
		p.last = status
	}
	return err
}

// drop forgets a pod.
func (m *machine) drop(p *podRun) {
	delete(m.pods, p.pod.UID)
	m.cidr.free(p.ip)
	m.noteCilium()
}

// noteCilium keeps track of whether a cilium agent runs here, for the stand-in that removes its taint.
func (m *machine) noteCilium() {
	up := false
	for _, p := range m.pods {
		if p.step == running && p.pod.Namespace == "kube-system" && p.pod.Labels["k8s-app"] == "cilium" {
			up = true
		}
	}
	if m.cilium.Swap(up) != up && up {
		m.log.say("cilium is up")
		m.host.care.Add(m.Name)
	}
}

// podRange hands out the pod addresses of one machine: those of 10.244.0.0/24 plus its slot, except .0, .1 and .255.
type podRange struct {
	slot int
	used [256]bool
}

func (r *podRange) prefix() string { return fmt.Sprintf("10.%d.%d.", 244+r.slot/256, r.slot%256) }

// next is the lowest free address. A machine takes at most 250 pods (--max-pods, the most AKS allows), so one is free
// unless a flag said otherwise; then the last one is shared.
func (r *podRange) next() string {
	for i := 2; i < 255; i++ {
		if !r.used[i] {
			r.used[i] = true
			return fmt.Sprintf("%s%d", r.prefix(), i)
		}
	}
	return r.prefix() + "254"
}

func (r *podRange) take(ip string) { r.mark(ip, true) }
func (r *podRange) free(ip string) { r.mark(ip, false) }

func (r *podRange) mark(ip string, used bool) {
	var i int
	if last, ok := strings.CutPrefix(ip, r.prefix()); ok {
		if _, err := fmt.Sscanf(last, "%d", &i); err == nil && i > 0 && i < 256 {
			r.used[i] = used
		}
	}
}
