package kubelet

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-aks/karpenter/lab"
)

type podID = types.UID

// podNews is the latest that the shared watch said of a pod.
type podNews struct {
	pod  *corev1.Pod
	gone bool
}

// machine is one simulated machine. One goroutine lives its life:
//
//	off ──Boot──▶ provisioning ──▶ kubelet starts ──▶ joining ──certificate──▶ registering ──▶ serving
//	                 │ exit code        │ it exits,       (each is tried until it works)        │
//	                 ▼                  ▼ for ever                                              │
//	              on, and will never join                Halt, from anywhere ──▶ off ◀──────────┘
type machine struct {
	lab.Machine
	host *Host
	log  *bootLog
	halt context.CancelFunc
	done chan struct{} // closed when the goroutine has ended
	wake chan struct{} // of one: there is news
	slot int           // its range of pod addresses; -1 after it was given back. Host.mu guards it

	cilium atomic.Bool // a cilium pod runs here

	mu       sync.Mutex // guards the fields below
	inbox    map[podID]podNews
	warnings []corev1.NodeCondition

	// Only the machine's own goroutine touches what follows.
	spec  bootSpec
	kube  *clients
	node  nodeState
	pods  map[podID]*podRun
	cidr  podRange
	alloc corev1.ResourceList
}

// run lives the machine's life. It returns when the machine was halted or will never join.
func (m *machine) run(ctx context.Context, delay time.Duration) {
	m.log.say("power on: %s, %d cpus, %d MiB, %s, in %s zone %q, image %s", m.Size, m.CPUs, m.MemoryMiB, m.Arch, m.Region, m.Zone, m.Image)
	m.host.mu.Lock()
	m.cidr = podRange{slot: m.slot}
	m.host.mu.Unlock()
	m.host.deliverAll(m)
	if !sleep(ctx, delay) {
		return
	}
	spec, ok := m.provision(ctx)
	if !ok {
		return
	}
	m.spec = spec
	m.log.say("%s", spec.describe())
	kube, err := m.join(ctx, spec)
	if err != nil {
		if ctx.Err() == nil {
			m.log.say("provisioning failed: %v", err)
		}
		return
	}
	defer kube.close()
	m.kube = kube
	m.log.say("joined: certificate issued")
	if !spec.register {
		m.log.say("--register-node=false: no node is registered, and no pod can come here")
		return
	}
	if m.register(ctx) {
		m.serve(ctx)
	}
}

// serve is the kubelet's main loop: it does the one thing that is due first, or waits for news.
func (m *machine) serve(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		now := time.Now()
		m.takeNews(now)
		at, do := m.next(now)
		if !at.After(now) {
			do(ctx, now)
			continue
		}
		timer.Reset(at.Sub(now))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-m.wake:
		}
	}
}

// next says what is due first: the lease, then the status, then pods in the order in which they are due, by name last.
// O(pods on the machine), at most a few hundred.
func (m *machine) next(now time.Time) (time.Time, func(context.Context, time.Time)) {
	at, do := m.node.leaseDue, m.renewLease
	if m.node.statusDue.Before(at) {
		at, do = m.node.statusDue, m.reportStatus
	}
	var first *podRun
	for _, p := range m.pods {
		if !p.due.IsZero() && (first == nil || p.before(first)) {
			first = p
		}
	}
	// Heartbeats go first when both are late: a node that only starts pods must not be declared dead.
	if first != nil && at.After(now) && first.due.Before(at) {
		return first.due, func(ctx context.Context, now time.Time) { m.act(ctx, first, now) }
	}
	return at, do
}

// takeNews moves what others said into the machine's own state.
func (m *machine) takeNews(now time.Time) {
	m.mu.Lock()
	news, warnings := m.inbox, m.warnings
	if len(news) > 0 {
		m.inbox = map[podID]podNews{}
	}
	m.warnings = nil
	m.mu.Unlock()
	if len(warnings) > 0 {
		for _, w := range warnings {
			m.node.set(w.Type, w.Status, w.Reason, w.Message, now)
		}
		m.node.statusDue = now
	}
	// Oldest pods first, as a kubelet admits them.
	ids := slices.SortedFunc(maps.Keys(news), func(a, b podID) int {
		p, q := news[a].pod, news[b].pod
		if c := p.CreationTimestamp.Compare(q.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(p.Namespace+"/"+p.Name, q.Namespace+"/"+q.Name)
	})
	for _, id := range ids {
		m.takePod(news[id], now)
	}
}

// deliver tells the machine of a pod bound to it. Only the latest news of each pod is kept.
func (m *machine) deliver(n podNews) {
	m.mu.Lock()
	m.inbox[n.pod.UID] = n
	m.mu.Unlock()
	m.nudge()
}

// warn tells the machine of a scheduled event.
func (m *machine) warn(event string, at time.Time) {
	// The notation of the time is that of NotBefore in the metadata service's scheduled events.
	when := at.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	c := corev1.NodeCondition{Type: EventCondition, Status: corev1.ConditionTrue, Reason: event + "Scheduled", Message: event + " scheduled, not before " + when}
	if event == "Preempt" {
		c.Type, c.Reason, c.Message = PreemptionCondition, "SpotEvictionIncoming", "spot eviction is coming, not before "+when
	}
	m.mu.Lock()
	if len(m.warnings) < 16 { // the metadata service repeats itself; a machine that is not serving yet keeps the first few
		m.warnings = append(m.warnings, c)
	}
	m.mu.Unlock()
	m.nudge()
}

func (m *machine) nudge() {
	select {
	case m.wake <- struct{}{}:
	default: // it has been told already
	}
}
