package problem

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// daemons is the daemons of the cluster, by name. What they ask of machines is worked out once.
type daemons []Daemon

// Daemon is one of them: the pod that it puts onto every machine that suits it.
type Daemon struct {
	Namespace, Name string
	Pod             *model.Pod
	terms           []require.Set
	// joined are the terms without the labels that a node gets from us as it joins: a daemon that waits for these is on every node of
	// ours in the end.
	joined []require.Set
}

// labelsOfJoining are what a node of ours gets when it is registered, and when it is initialized.
func labelsOfJoining() map[string]string {
	return map[string]string{model.LabelRegistered: "true", model.LabelInitialized: "true"}
}

// unmet returns the sets without requirements that the labels fulfil.
func unmet(sets []require.Set, labels map[string]string) []require.Set {
	out := make([]require.Set, len(sets))
	for i, t := range sets {
		out[i] = t.Only(func(key string) bool {
			label, given := labels[key]
			v, asked := t.Get(key)
			return !given || !asked || !v.Has(label)
		})
	}
	return out
}

func newDaemons(list []model.Daemon) daemons {
	out := make(daemons, 0, len(list))
	for i := range list {
		p := &list[i].Pod
		ts, _, _ := alike.Terms(&model.Pod{NodeSelector: p.NodeSelector, Affinity: p.Affinity})
		out = append(out,
			Daemon{list[i].Namespace, list[i].Name, p, ts, unmet(ts, labelsOfJoining())})
	}
	slices.SortFunc(out, func(a, b Daemon) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

// pods lists the daemons' pods.
func (c daemons) pods() []*model.Pod {
	out := make([]*model.Pod, len(c))
	for i := range c {
		out[i] = c[i].Pod
	}
	return out
}

// on reports whether the daemon runs on a node with these labels and taints; of one that is still joining, whether it will.
func (m *Daemon) on(labels map[string]string, taints []model.Taint, joining bool) bool {
	_, bad := model.Untolerated(taints, m.Pod.Tolerations)
	asks := m.terms
	if joining {
		asks = m.joined
	}
	return !bad && AnyAllows(asks, labels)
}

// among returns the offerings on which it runs, of machines of the pool with these taints. Where a label is still open it is
// counted, so that room is never too large.
func (m *Daemon) among(s *NodePool, from bitset.Set, taints []model.Taint) bitset.Set {
	if _, bad := model.Untolerated(taints, m.Pod.Tolerations); bad {
		return bitset.New(len(s.Offerings.Items))
	}
	return s.Suiting(from, m.joined).Where(func(i int) bool {
		return canHold(s.Offerings.Items[i].Type, m.Pod.Requests)
	})
}

// canHold reports whether machines of the type have the devices that a daemon asks for; without them it never runs there.
func canHold(t *model.InstanceType, r model.Resources) bool {
	return model.Resources{Extended: r.Extended}.FitsIn(t.Allocatable)
}

// DaemonConflict is a daemon next to which some pods cannot be, and why.
type DaemonConflict struct {
	Daemon int // position in the daemons
	Why    model.Why
	Key    string // the topology key that they would share; a machine without it is no problem
}

// shunned lists the daemons that keep the pod off new machines: they take its ports, or one of them refuses the other, or they
// leave no room in its spread over hosts.
func (d *Problem) shunned(p *model.Pod) []DaemonConflict {
	var out []DaemonConflict
	for i := range d.Daemons {
		m := &d.Daemons[i]
		if alike.Clash(p.HostPorts, m.Pod.HostPorts) {
			out = append(out, DaemonConflict{i, model.WhyHostPorts, model.LabelHostname})
		}
		for _, x := range p.PodAntiAffinity {
			if d.Namespaces.Picks(alike.PodSelectorOf(x), m.Namespace, m.Pod.Labels) {
				out = append(out, DaemonConflict{i, model.WhyPodAffinity, require.Key(x.Key)})
			}
		}
		for _, x := range m.Pod.PodAntiAffinity {
			if d.Namespaces.Picks(alike.PodSelectorOf(x), p.Namespace, p.Labels) {
				out = append(out, DaemonConflict{i, model.WhyPodAffinity, require.Key(x.Key)})
			}
		}
		for _, c := range p.Spread {
			if c.Hard && require.Key(c.Key) == model.LabelHostname && m.countsFor(p, c) &&
				d.Crowded(p, c) {
				out = append(out, DaemonConflict{i, model.WhyTopologySpread, model.LabelHostname})
			}
		}
	}
	return out
}

// countsFor reports whether the daemon's pods count for a spread constraint of the pod.
func (m *Daemon) countsFor(p *model.Pod, c model.Spread) bool {
	return m.Namespace == p.Namespace && c.Selector.Matches(m.Pod.Labels)
}

// Counted says how many daemons count for a spread constraint of the pod.
func (d *Problem) Counted(p *model.Pod, c model.Spread) int32 {
	n := int32(0)
	for i := range d.Daemons {
		if d.Daemons[i].countsFor(p, c) {
			n++
		}
	}
	return n
}

// Crowded reports whether those daemons alone leave the pod no room on a machine.
func (d *Problem) Crowded(p *model.Pod, c model.Spread) bool {
	n := d.Counted(p, c)
	if c.Selector.Matches(p.Labels) {
		n++
	}
	return n > c.MaxSkew
}

// without returns the offerings on which none of the daemons runs that the pods cannot be with.
func (s *NodePool) without(shuns []DaemonConflict) bitset.Set {
	out := s.Offerings.All
	for _, x := range shuns {
		out = out.Minus(s.Beside(x))
	}
	return out
}

// Beside returns the offerings on which the pods would meet the daemon.
func (s *NodePool) Beside(x DaemonConflict) bitset.Set {
	on := s.Runs[x.Daemon]
	c := s.Offerings.Keys[x.Key]
	switch {
	case x.Key == model.LabelHostname || on.First() < 0:
		return on
	case c != nil:
		return on.Minus(c.Absent)
	}
	if _, defined := s.Own.Get(x.Key); !defined {
		return bitset.New(len(s.Offerings.Items))
	}
	return on
}

// Made reports whether the pod may be one of the daemon's.
func (m *Daemon) Made(p *model.Pod) bool {
	if p.Namespace != m.Namespace {
		return false
	}
	for k, v := range m.Pod.Labels {
		if p.Labels[k] != v {
			return false
		}
	}
	return true
}
