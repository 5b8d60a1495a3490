package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// tick plays the cluster around the controller: deployments, the scheduler, kubelets, ten times a second.
func (s *Sim) tick(ctx context.Context) {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.Store.EndPods()
			s.replicate()
			if !s.deaf.Load() {
				s.schedule()
			}
			s.check()
		}
	}
}

// Scale makes a deployment of that name keep n pods like the given one.
func (s *Sim) Scale(name string, n int, like model.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas[name] = deployment{want: n, pod: like}
}

// Pods returns the pods of a deployment that are not on their way out.
func (s *Sim) Pods(name string) []model.Pod {
	var out []model.Pod
	for _, p := range s.Store.Objects().Pods {
		if p.Labels["app"] == name && !p.Deleting() && !p.Terminal {
			out = append(out, p)
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

func (s *Sim) replicate() {
	s.mu.Lock()
	want := maps.Clone(s.replicas)
	s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		d, have := want[name], s.Pods(name)
		for i := len(have); i > d.want; i-- {
			s.Store.DeletePod(have[i-1].Key())
		}
		for i := len(have); i < d.want; i++ {
			s.mu.Lock()
			s.serial++
			p := d.pod
			p.Namespace, p.Name = "default", fmt.Sprintf("%s-%05d", name, s.serial)
			s.mu.Unlock()
			p.Labels = map[string]string{"app": name}
			s.Store.Put(p)
		}
	}
}

// schedule binds waiting pods to the node that has most room for them, as kube-scheduler does by default, and marks the
// others unschedulable. Like kube-scheduler it keeps the room of pods for which a node is nominated, tries that node first, and takes the nomination away from a
// pod that it tried in vain.
func (s *Sim) schedule() {
	o := s.Store.Objects()
	s.queue.wake(o)
	free, kept := map[string]model.Resources{}, map[string]model.Resources{}
	for _, n := range o.Nodes {
		free[n.Name] = n.Allocatable
	}
	for _, p := range o.Pods {
		switch {
		case p.Node != "" && !p.Terminal:
			free[p.Node] = free[p.Node].Sub(p.Requests)
		case p.Nominated != "":
			kept[p.Nominated] = kept[p.Nominated].Add(p.Requests)
		}
	}
	if r := s.cfg.Rand; r != nil {
		r.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
	}
	for _, p := range o.Pods {
		if p.Node != "" || p.Gated || p.Deleting() || p.Terminal || s.queue.aside(p) {
			continue
		}
		if p.Nominated != "" {
			kept[p.Nominated] = kept[p.Nominated].Sub(p.Requests)
		}
		var fits []model.Node
		for _, n := range o.Nodes {
			if admits(n, p) && p.Requests.FitsIn(free[n.Name].Sub(kept[n.Name])) {
				fits = append(fits, n)
			}
		}
		if len(fits) == 0 {
			if s.cfg.Queue {
				s.queue.put(p)
			}
			if !p.Unschedulable || p.Nominated != "" {
				s.Store.EditPod(p.Key(), func(p *model.Pod) { p.Unschedulable, p.Nominated = true, "" })
			}
			continue
		}
		best := slices.MaxFunc(fits, func(a, b model.Node) int {
			return cmp.Or(told(a, p)-told(b, p), cmp.Compare(free[a.Name].CPU, free[b.Name].CPU), cmp.Compare(b.Name, a.Name))
		})
		s.Store.BindPod(p.Key(), best.Name)
		free[best.Name] = free[best.Name].Sub(p.Requests)
	}
}

func told(n model.Node, p model.Pod) int {
	if n.Name == p.Nominated {
		return 1
	}
	return 0
}

// admits says whether the scheduler would let the pod onto the node, room aside. It is written from the Kubernetes
// documentation and shares nothing with the engine.
func admits(n model.Node, p model.Pod) bool {
	if n.Deleting() || n.Cordoned {
		return false
	}
	if _, bad := model.Untolerated(n.Taints, p.Tolerations); bad {
		return false
	}
	for k, v := range p.NodeSelector {
		if n.Labels[k] != v {
			return false
		}
	}
	if p.Affinity == nil {
		return true
	}
	return slices.ContainsFunc(p.Affinity, func(t model.Term) bool {
		return len(t) > 0 && !slices.ContainsFunc(t, func(r model.Requirement) bool { return !matches(n.Labels, r) })
	})
}

func matches(labels map[string]string, r model.Requirement) bool {
	v, ok := labels[r.Key]
	switch r.Op {
	case model.In:
		return ok && slices.Contains(r.Values, v)
	case model.NotIn:
		return !ok || !slices.Contains(r.Values, v)
	case model.Exists:
		return ok
	case model.DoesNotExist:
		return !ok
	}
	have, err := strconv.Atoi(v)
	if !ok || err != nil || len(r.Values) != 1 {
		return false
	}
	want, err := strconv.Atoi(r.Values[0])
	return err == nil && (r.Op == model.Gt && have > want || r.Op == model.Lt && have < want)
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
	late := time.Duration(0)
	if s.cfg.JoinSpread > 0 {
		s.mu.Lock()
		late = time.Duration(s.cfg.Rand.Int64N(int64(s.cfg.JoinSpread)))
		s.mu.Unlock()
	}
	time.AfterFunc(s.cfg.Join+late, func() {
		labels := maps.Clone(o.Labels)
		labels[model.LabelHostname] = m.Name
		labels[model.LabelDoNotSyncTaints] = "true" // the driver's machines register with all their taints themselves
		s.Store.Put(model.Node{Name: m.Name, ProviderID: m.ID, Created: time.Now(), Labels: labels, Ready: model.False,
			Taints:   append(slices.Clone(o.Taints), model.Taint{Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}),
			Capacity: o.Type.Capacity, Allocatable: o.Type.Allocatable, KubeletVersion: "v" + o.Cluster.Version})
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

func (s *Sim) daemons(node string) {
	for _, d := range s.Store.Objects().Daemons {
		p := d.Pod
		p.Namespace, p.Name, p.DaemonSet = d.Namespace, d.Name+"-"+node, true
		s.Store.Put(p)
		s.Store.BindPod(p.Key(), node)
	}
}

// halt plays a machine that is gone: its pods end with it, and the cloud's node manager deletes the node.
func (s *Sim) halt(m model.Instance) {
	s.Store.SetNodeReady(m.Name, model.Unknown)
	time.AfterFunc(10*time.Second, func() {
		for _, p := range s.Store.Objects().Pods {
			if p.Node == m.Name {
				s.Store.EndPod(p.Key())
			}
		}
		_ = s.Store.DeleteNode(context.Background(), m.Name)
	})
}
