package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	return s.podsByName()[name]
}

// podsByName returns the pods of all deployments that are not on their way out.
func (s *Sim) podsByName() map[string][]model.Pod {
	out := map[string][]model.Pod{}
	for _, p := range s.Store.Objects().Pods {
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

func (s *Sim) replicate() {
	s.mu.Lock()
	want := maps.Clone(s.replicas)
	s.mu.Unlock()
	pods := s.podsByName()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		d, have := want[name], pods[name]
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
		for _, p := range s.Store.Objects().Pods {
			if p.Node == m.Name {
				s.Store.EndPod(p.Key())
			}
		}
		_ = s.Store.DeleteNode(context.Background(), m.Name)
	})
}

// switchedOff plays a machine whose kubelet falls silent: kube-controller-manager's grace is 40 seconds.
func (s *Sim) switchedOff(m model.Instance) {
	time.AfterFunc(40*time.Second, func() { s.Store.SetNodeReady(m.Name, model.Unknown) })
}
