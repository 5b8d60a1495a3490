package kubelet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/karpenter-aks/karpenter/lab"
)

// Config says how the simulated machines behave. The zero value of every field but Admin is useful: machines and pods
// then start at once.
type Config struct {
	// Admin reaches the API server with all rights. Machines never use it: it serves the one shared watch on pods and
	// nodes, and the stand-ins for the cloud's node manager and the cilium agent.
	Admin *rest.Config
	// Resolve is the machines' private DNS: from "host:port" to the address to dial; "" means no such host. Nil dials
	// host:port itself.
	Resolve func(host string) string
	// Disks attaches and detaches; nil says of every attachment that it is done.
	Disks Disks
	// Log receives what happens; nil discards it. Boot logs are kept either way.
	Log *slog.Logger

	// BootTime passes between Boot and the reading of the custom data; up to BootSpread more is drawn from Rand, which
	// must be given when BootSpread is.
	BootTime, BootSpread time.Duration
	Rand                 *rand.Rand
	// NetworkUp is how long after registration the node gets Ready.
	NetworkUp time.Duration
	// PodStart is how long a pod needs from admission to Ready; PodStop how long its containers need to stop when the
	// pod's annotation does not say.
	PodStart, PodStop time.Duration
	// NodeGone is how long after its machine was switched off the cloud's node manager deletes a node; 0 means 40 s,
	// about what AKS takes: 40 s until the node is declared unreachable, and then a look at the cloud every 5 s.
	NodeGone time.Duration
	// LeaseEvery is how often the node lease is renewed (0 means the kubelet's 10 s; the lease lasts four times as
	// long); StatusEvery how often an unchanged node status is written (0 means the kubelet's 5 minutes).
	LeaseEvery, StatusEvery time.Duration
}

// complete fills in defaults.
func (c Config) complete() (Config, error) {
	if c.Admin == nil {
		return c, errors.New("kubelet host: Config.Admin is missing")
	}
	if c.BootSpread > 0 && c.Rand == nil {
		return c, errors.New("kubelet host: Config.BootSpread needs Config.Rand")
	}
	if c.Resolve == nil {
		c.Resolve = func(host string) string { return host }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{{&c.NodeGone, 40 * time.Second}, {&c.LeaseEvery, 10 * time.Second}, {&c.StatusEvery, 5 * time.Minute}} {
		if *d.at <= 0 {
			*d.at = d.def
		}
	}
	return c, nil
}

// Host runs machines; it implements lab.Host. Its methods may be called concurrently.
//
// Cost: three watches and four goroutines for the host; for each machine one goroutine and one HTTP/2 connection.
// Locks: mu of Host may be held while mu of a machine or of a boot log is taken, never the other way round.
type Host struct {
	cfg         Config
	ctx         context.Context // ends with Close
	stop        context.CancelFunc
	running     sync.WaitGroup
	admin       corev1client.CoreV1Interface
	disks       storagev1client.StorageV1Interface
	pods, nodes cache.SharedIndexInformer
	attachments cache.SharedIndexInformer
	care        workqueue.TypedRateLimitingInterface[string] // names of nodes, and attachments with their prefix, to look at

	mu       sync.Mutex // guards the fields below
	machines map[string]*machine
	ending   map[string]*machine // switched off, their goroutine not yet ended
	slots    []bool              // taken ranges of pod addresses
	tended   map[string]*tended  // nodes that got their provider ID from us
	logs     map[string]*bootLog
	logOrder []string // names in logs, oldest first
	closed   bool
}

var _ lab.Host = (*Host)(nil)

// New starts a host without machines. It does not wait for the API server: a host may be started before it.
func New(cfg Config) (*Host, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	cfg.Admin = unlimited(cfg.Admin, "karpenter-lab-node-manager")
	admin, err := corev1client.NewForConfig(cfg.Admin)
	if err != nil {
		return nil, fmt.Errorf("kubelet host: %w", err)
	}
	disks, err := storagev1client.NewForConfig(cfg.Admin)
	if err != nil {
		return nil, fmt.Errorf("kubelet host: %w", err)
	}
	h := &Host{cfg: cfg, admin: admin, disks: disks, machines: map[string]*machine{}, ending: map[string]*machine{}, tended: map[string]*tended{},
		logs: map[string]*bootLog{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.care = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, retryLast))
	if err := h.follow(); err != nil {
		h.stop()
		h.care.ShutDown()
		return nil, fmt.Errorf("kubelet host: %w", err)
	}
	h.running.Go(func() { h.pods.RunWithContext(h.ctx) })
	h.running.Go(func() { h.nodes.RunWithContext(h.ctx) })
	h.running.Go(func() { h.attachments.RunWithContext(h.ctx) })
	h.running.Go(h.tendNodes)
	return h, nil
}

// unlimited is a copy of cfg that speaks protobuf and does not slow itself down: the host's own loops are its limit.
func unlimited(cfg *rest.Config, agent string) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter = -1, nil
	cfg.UserAgent = agent
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return cfg
}

// Boot switches a machine on. It returns at once.
func (h *Host) Boot(m lab.Machine) {
	m.Name = strings.ToLower(m.Name) // as a kubelet does with its host name
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.machines[m.Name] != nil {
		return
	}
	log := h.newLog(m.Name)
	slot := h.takeSlot()
	if slot < 0 {
		log.say("power on refused: %d machines are on, and there is no pod address range left", machineLimit)
		return
	}
	delay := h.cfg.BootTime
	if h.cfg.BootSpread > 0 {
		delay += time.Duration(h.cfg.Rand.Int64N(int64(h.cfg.BootSpread)))
	}
	ctx, cancel := context.WithCancel(h.ctx)
	mc := &machine{Machine: m, host: h, log: log, slot: slot, halt: cancel, done: make(chan struct{}),
		wake: make(chan struct{}, 1), inbox: map[podID]podNews{}, pods: map[podID]*podRun{}}
	before := h.ending[m.Name]
	h.machines[m.Name] = mc
	if t := h.tended[m.Name]; t != nil {
		t.gone = time.Time{}
	}
	h.running.Go(func() {
		defer h.ended(mc)
		if before != nil {
			<-before.done // one machine per name: the last one's requests are over before the next begins
		}
		mc.run(ctx, delay)
	})
}

// Halt switches a machine off: its requests are cut short, and nothing is said to the cluster.
func (h *Host) Halt(name string) {
	name = strings.ToLower(name)
	h.mu.Lock()
	defer h.mu.Unlock()
	mc := h.machines[name]
	if mc == nil {
		return
	}
	mc.log.say("power off")
	delete(h.machines, name)
	h.ending[name] = mc
	mc.halt()
	if isDone(mc.done) {
		h.forget(mc)
	}
	if t := h.tended[name]; t != nil {
		t.gone = time.Now()
	}
	h.care.Add(name)
}

// Warn passes a scheduled event on to the machine's agent, which shows it as a condition of the node. A machine that
// is off hears nothing; one that has not joined yet shows it when it does.
func (h *Host) Warn(name, event string, at time.Time) {
	h.mu.Lock()
	mc := h.machines[strings.ToLower(name)]
	h.mu.Unlock()
	if mc != nil {
		mc.log.say("scheduled event %s, not before %s", event, at.UTC().Format(time.RFC3339))
		mc.warn(event, at)
	}
}

// Close switches every machine off and returns when nothing of the host runs any more.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.care.ShutDown()
	h.running.Wait()
}

// On lists the machines that are switched on, sorted.
func (h *Host) On() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return sortedKeys(h.machines)
}

// BootLog returns what the machine of that name wrote to its console, oldest first, at most 200 lines; it is kept after
// the machine is gone, for the last 1000 machines. Secrets are not in it.
func (h *Host) BootLog(name string) []string {
	h.mu.Lock()
	log := h.logs[strings.ToLower(name)]
	h.mu.Unlock()
	if log == nil {
		return nil
	}
	return log.read()
}

// ended is called when a machine's goroutine ends: because it was halted, or because it will never join.
func (h *Host) ended(mc *machine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(mc.done)
	if h.machines[mc.Name] != mc {
		h.forget(mc)
	}
}

// forget drops a machine that is off and at rest. mu is held.
func (h *Host) forget(mc *machine) {
	if mc.slot >= 0 {
		h.slots[mc.slot] = false
		mc.slot = -1
	}
	if h.ending[mc.Name] == mc {
		delete(h.ending, mc.Name)
	}
}

// takeSlot reserves a range of pod addresses, -1 when there is none. mu is held.
func (h *Host) takeSlot() int {
	for i, taken := range h.slots {
		if !taken {
			h.slots[i] = true
			return i
		}
	}
	if len(h.slots) >= machineLimit {
		return -1
	}
	h.slots = append(h.slots, true)
	return len(h.slots) - 1
}

// newLog makes or continues the log of a machine. mu is held.
func (h *Host) newLog(name string) *bootLog {
	if log := h.logs[name]; log != nil {
		return log
	}
	if len(h.logOrder) >= logMachines {
		// The oldest may still be on: it goes on writing to a log that nobody can read, which harms nothing.
		delete(h.logs, h.logOrder[0])
		h.logOrder = h.logOrder[1:]
	}
	log := &bootLog{machine: name, to: h.cfg.Log}
	h.logs[name] = log
	h.logOrder = append(h.logOrder, name)
	return log
}

// machine returns the machine of that name if it is on.
func (h *Host) machine(name string) *machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.machines[name]
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
