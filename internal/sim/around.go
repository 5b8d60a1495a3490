package sim

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// tick plays the cluster around the controller: deployments, the scheduler, kubelets, ten times a second unless the story says otherwise.
func (s *Sim) tick(ctx context.Context) {
	t := time.NewTicker(s.cfg.Tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.turn()
		}
	}
}

// stillFor is how long nobody looks at a cluster in which nothing happens.
const stillFor = 10 * time.Second

// turn moves on what is around the controller. Where nothing changed, and nothing waits for time to pass, there is nothing to do.
func (s *Sim) turn() {
	if (s.judge != nil || s.cfg.Lazy) && !s.restless && s.Store.Version() == s.turned && time.Since(s.turnedAt) < stillFor {
		return
	}
	s.Store.EndPods()
	s.replicate()
	s.attach()
	s.warm()
	s.allow()
	if !s.deaf.Load() {
		s.schedule()
	}
	s.check()
	s.turned, s.turnedAt = s.Store.Version(), time.Now()
	s.restless = len(s.disks.idle)+len(s.disks.attaching) > 0 || slices.ContainsFunc(s.see().Pods, func(p model.Pod) bool {
		return p.Deleting() || p.Node != "" && !p.PodReady || p.Node == "" && (s.cfg.Queue || s.cfg.Pace > 0)
	})
}

// see is everything that is in the cluster. It is shared, and must not be changed.
func (s *Sim) see() model.World {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.Store.Version()
	if s.seen == nil || version != s.seenAt {
		o := s.Store.Objects()
		s.seen, s.seenAt = &o, version // what changed meanwhile changes the version again
	}
	return *s.seen
}

// absent reports whether somebody stopped the controller.
func (s *Sim) absent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off
}

// Scale makes a deployment of that name keep n pods like the given one.
func (s *Sim) Scale(name string, n int, like model.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas[name] = deployment{want: n, pod: like}
}

// Pods returns the pods of a deployment that are not on their way out.
func (s *Sim) Pods(name string) []model.Pod {
	return s.podsByName()[name]
}

// podsByName returns the pods of all deployments that are not on their way out.
func (s *Sim) podsByName() map[string][]model.Pod {
	out := map[string][]model.Pod{}
	for _, p := range s.see().Pods {
		if name := p.Labels["app"]; name != "" && !p.Deleting() && !p.Terminal {
			out[name] = append(out[name], p)
		}
	}
	return out
}

// Running counts the pods of a deployment that are bound.
func (s *Sim) Running(name string) int {
	n := 0
	for _, p := range s.Pods(name) {
		if p.Node != "" {
			n++
		}
	}
	return n
}

// replicate plays the controller of replica sets: pods that terminate are not counted, so what follows them is made at once
// (FilterActivePods in k8s.io/kubernetes/pkg/controller/controller_utils.go).
func (s *Sim) replicate() {
	s.mu.Lock()
	want := maps.Clone(s.replicas)
	s.mu.Unlock()
	pods, lack := s.podsByName(), map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		d, have := want[name], pods[name]
		if d.set {
			s.ordinals(name, d)
			continue
		}
		if len(have) > d.want {
			spare(have)
		}
		for i := len(have); i > d.want; i-- {
			s.Store.DeletePod(have[i-1].Key())
		}
		lack[name] = d.want - len(have)
	}
	for _, name := range s.evicted() { // each is followed when it leaves, and its watch is told in that order
		if lack[name] > 0 {
			lack[name]--
			s.make(name, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lack)) {
		for range lack[name] {
			s.make(name, want[name])
		}
	}
}

// make makes one more pod of a deployment.
func (s *Sim) make(name string, d deployment) {
	s.mu.Lock()
	s.serial++
	serial := s.serial
	s.mu.Unlock()
	s.makeAs(name, fmt.Sprintf("%s-%05d", name, serial), d)
}

// makeAs makes a pod of that name.
func (s *Sim) makeAs(name, as string, d deployment) {
	p := d.pod
	p.Namespace, p.Name, p.Labels = "default", as, map[string]string{"app": name}
	if d.disks {
		s.claimed(&p)
	}
	s.Store.Put(p)
	if s.judge != nil {
		s.judge.made(name, p.Key(), d.set)
	}
}

// left notes that a pod was asked to leave.
func (s *Sim) left(k model.PodKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leavers = append(s.leavers, k.Name[:max(strings.LastIndexByte(k.Name, '-'), 0)])
}

// evicted returns the deployments of the pods that were asked to leave, in that order, each time once.
func (s *Sim) evicted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.leavers
	s.leavers = nil
	return out
}

// spare sorts pods of one deployment so that those which can be spared come last: those without a node, those that are not ready, those
// that share their node with most others, the youngest (ActivePodsWithRanks.Less in k8s.io/kubernetes/pkg/controller/controller_utils.go).
func spare(pods []model.Pod) {
	rank := map[string]int{}
	for _, p := range pods {
		rank[p.Node]++
	}
	is := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(pods, func(a, b model.Pod) int {
		return cmp.Or(cmp.Compare(is(a.Node == ""), is(b.Node == "")), cmp.Compare(is(!a.PodReady), is(!b.PodReady)),
			cmp.Compare(rank[a.Node], rank[b.Node]), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
}

// begin plays a kubelet that starts a pod, which is ready after a while.
func (s *Sim) begin(key model.PodKey, node string) {
	s.Store.BindPod(key, node)
	if s.cfg.Warm <= 0 {
		return
	}
	s.Store.EditPod(key, func(p *model.Pod) { p.PodReady = false })
	s.warming[key] = time.Now().Add(s.cfg.Warm)
}

// warm makes pods ready whose time has come.
func (s *Sim) warm() {
	if len(s.warming) == 0 {
		return
	}
	o := s.see()
	for key, at := range s.warming {
		if at.After(time.Now()) {
			continue
		}
		if i := slices.IndexFunc(o.Pods, func(p model.Pod) bool { return p.Key() == key }); i >= 0 && !mounted(o, &o.Pods[i]) {
			continue // its containers wait for its disk
		}
		s.Store.EditPod(key, func(p *model.Pod) { p.PodReady = true })
		delete(s.warming, key)
	}
}

// guard is a disruption budget of a deployment's pods: how many, or what share, may be missing at most, or must be there at least.
type guard struct {
	name, app   string
	most, least string
	always      bool // pods that are not ready may always be evicted
}

func (s *Sim) guard(g guard) {
	s.mu.Lock()
	s.guards[g.name] = g
	s.mu.Unlock()
	s.allow()
}

func (s *Sim) unguard(name string) {
	s.mu.Lock()
	delete(s.guards, name)
	s.mu.Unlock()
	s.Store.Remove(model.PDB{Namespace: "default", Name: name})
}

// allow plays the disruption controller. Shares, and what may be missing, are of the deployment's scale, a number that must be there is not; ready pods that do
// not terminate count; where no pod is expected none may go (getExpectedPodCount, countHealthyPods and updatePdbStatus in
// k8s.io/kubernetes/pkg/controller/disruption/disruption.go).
func (s *Sim) allow() {
	s.mu.Lock()
	guards, replicas := maps.Clone(s.guards), maps.Clone(s.replicas)
	s.mu.Unlock()
	if len(guards) == 0 {
		return
	}
	pods := s.podsByName()
	for _, name := range slices.Sorted(maps.Keys(guards)) {
		g := guards[name]
		expected, healthy := replicas[g.app].want, 0
		for _, p := range pods[g.app] {
			if p.PodReady {
				healthy++
			}
		}
		desired := 0
		switch {
		case g.most != "":
			desired = max(expected-part(g.most, expected), 0)
		case strings.HasSuffix(g.least, "%"):
			desired = part(g.least, expected)
		default:
			desired, expected = number(g.least), len(pods[g.app])
		}
		allowed := max(healthy-desired, 0)
		if expected == 0 {
			allowed = 0
		}
		s.Store.Put(model.PDB{Namespace: "default", Name: g.name, HasSel: true, Allowed: int32(allowed), AlwaysAllowUnready: g.always,
			Selector: []model.Requirement{{Key: "app", Op: model.In, Values: []string{g.app}}}})
	}
}

// part reads "10%" or "3"; shares are rounded up, as GetScaledValueFromIntOrPercent is asked to.
func part(text string, of int) int {
	share, percent := strings.CutSuffix(text, "%")
	n := number(share)
	if percent {
		return (n*of + 99) / 100
	}
	return n
}

// mute has the next n machines never join.
func (s *Sim) mute(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted = n
}

// fellSilent reports whether the machine of the claim never joins.
func (s *Sim) fellSilent(claim string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent[claim]
}

// wouldTake reports whether the node of the claim would take the pod if it joined.
func (s *Sim) wouldTake(o model.World, c model.Claim, p *model.Pod) bool {
	n := model.Node{Name: c.Name, Labels: maps.Clone(c.Labels), Allocatable: c.Allocatable}
	n.Labels[model.LabelHostname] = c.Name
	q := *p
	q.Nominated = ""
	o.Nodes = append(slices.Clip(o.Nodes), n)
	return newCluster(o, s.zones()).takes(&q, n.Name)
}

// boot plays a machine that starts: it reads its order, joins, becomes ready, loses its startup taints.
func (s *Sim) boot(m model.Instance) {
	s.mu.Lock()
	o, ok := s.orders[m.ClaimUID+"/"+m.Offering.String()]
	s.mu.Unlock()
	if !ok || o.Token == "" {
		s.note("machine %s runs without an order or a token: it can never join", m.Name)
		return
	}
	s.mu.Lock()
	mute := s.muted > 0
	if mute {
		s.muted--
		s.silent[m.ClaimUID] = true
	}
	s.mu.Unlock()
	if mute {
		return
	}
	late := s.late(m.Name)
	time.AfterFunc(s.cfg.Join+late, func() {
		if !s.runsStill(m) {
			return
		}
		labels := maps.Clone(o.Labels)
		labels[model.LabelHostname] = m.Name
		labels[diskZone] = labels[model.LabelZone]
		labels[model.LabelDoNotSyncTaints] = "true" // the driver's machines register with all their taints themselves
		s.Store.Put(model.Node{Name: m.Name, ProviderID: m.ID, Created: time.Now(), Labels: labels, Ready: model.False,
			Taints:   append(slices.Clone(o.Taints), model.Taint{Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}),
			Capacity: o.Type.Capacity, Allocatable: o.Type.Allocatable, KubeletVersion: "v" + o.Cluster.Version})
		if most, ok := o.Type.AttachLimits[diskDriver]; ok {
			s.Store.Put(model.CSINode{Name: m.Name, AttachLimits: map[string]int64{diskDriver: most}, TopologyKeys: map[string][]string{diskDriver: {diskZone}}})
		}
		s.daemons(m.Name)
	})
	time.AfterFunc(s.cfg.Join+late+s.cfg.Settle, func() {
		s.Store.SetNodeReady(m.Name, model.True)
		s.Store.EditNode(m.Name, func(n *model.Node) {
			n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t model.Taint) bool {
				return t.Key == "node.kubernetes.io/not-ready" || t.Key == "node.cilium.io/agent-not-ready"
			})
		})
	})
}

// late is how much later than others the machine of that name joins. It is the machine's own, whoever asks first: machines boot at the same moment, and
// goroutines take turns as they like.
func (s *Sim) late(name string) time.Duration {
	if s.cfg.JoinSpread <= 0 {
		return 0
	}
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, s.lateness)
	_, _ = h.Write([]byte(name))
	return time.Duration(rand.New(rand.NewPCG(h.Sum64(), 0)).Int64N(int64(s.cfg.JoinSpread)))
}

// runsStill reports whether a machine is there and switched on.
func (s *Sim) runsStill(m model.Instance) bool {
	return slices.ContainsFunc(s.Cloud.Machines(), func(x model.Instance) bool {
		return x.ID == m.ID && x.ClaimUID == m.ClaimUID && x.State == model.Running
	})
}

func (s *Sim) daemons(node string) {
	for _, d := range s.Store.Daemons() {
		p := d.Pod
		p.Namespace, p.Name, p.DaemonSet = d.Namespace, d.Name+"-"+node, true
		if s.cfg.Admit != nil {
			s.cfg.Admit(&p)
		}
		s.Store.Put(p)
		s.Store.BindPod(p.Key(), node)
	}
}

// halt plays a machine that is gone: its pods end with it, and the cloud's node manager deletes the node.
func (s *Sim) halt(m model.Instance) {
	s.Store.SetNodeReady(m.Name, model.Unknown)
	time.AfterFunc(10*time.Second, func() {
		for _, key := range s.Store.PodsOn(m.Name) {
			s.Store.EndPod(key)
		}
		s.Store.Delete(model.Node{Name: m.Name})
	})
}

// switchedOff plays a machine whose kubelet falls silent: kube-controller-manager's grace is 40 seconds.
func (s *Sim) switchedOff(m model.Instance) {
	time.AfterFunc(40*time.Second, func() { s.Store.SetNodeReady(m.Name, model.Unknown) })
}
