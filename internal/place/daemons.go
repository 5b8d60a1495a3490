package place

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// daemons is the daemons of the cluster, by name. What they ask of machines is worked out once.
type daemons []daemon

// daemon is one of them: the pod that it puts onto every machine that suits it.
type daemon struct {
	namespace, name string
	pod             *model.Pod
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
		ts, _, _ := terms(&model.Pod{NodeSelector: p.NodeSelector, Affinity: p.Affinity})
		out = append(out, daemon{list[i].Namespace, list[i].Name, p, ts, unmet(ts, labelsOfJoining())})
	}
	slices.SortFunc(out, func(a, b daemon) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	return out
}

// pods lists the daemons' pods.
func (c daemons) pods() []*model.Pod {
	out := make([]*model.Pod, len(c))
	for i := range c {
		out[i] = c[i].pod
	}
	return out
}

// on reports whether the daemon runs on a node with these labels and taints; of one that is still joining, whether it will.
func (m *daemon) on(labels map[string]string, taints []model.Taint, joining bool) bool {
	_, bad := model.Untolerated(taints, m.pod.Tolerations)
	asks := m.terms
	if joining {
		asks = m.joined
	}
	return !bad && anyAllows(asks, labels)
}

// among returns the offerings on which it runs, of machines of the pool with these taints. Where a label is still open it is
// counted, so that room is never too large.
func (m *daemon) among(s *nodePool, from bitset.Set, taints []model.Taint) bitset.Set {
	out := bitset.New(len(s.offerings.items))
	if _, bad := model.Untolerated(taints, m.pod.Tolerations); bad {
		return out
	}
	s.suiting(from, m.joined).Each(func(i int) {
		if canHold(s.offerings.items[i].t, m.pod.Requests) {
			out.Add(i)
		}
	})
	return out
}

// canHold reports whether machines of the type have the devices that a daemon asks for; without them it never runs there.
func canHold(t *model.InstanceType, r model.Resources) bool {
	return model.Resources{Extended: r.Extended}.FitsIn(t.Allocatable)
}

// daemonConflict is a daemon next to which some pods cannot be, and why.
type daemonConflict struct {
	daemon int // position in the daemons
	why    model.Why
	key    string // the topology key that they would share; a machine without it is no problem
}

// shunned lists the daemons that keep the pod off new machines: they take its ports, or one of them refuses the other, or they
// leave no room in its spread over hosts.
func (d *problem) shunned(p *model.Pod) []daemonConflict {
	var out []daemonConflict
	for i := range d.daemons {
		m := &d.daemons[i]
		if clash(p.HostPorts, m.pod.HostPorts) {
			out = append(out, daemonConflict{i, model.WhyHostPorts, model.LabelHostname})
		}
		for _, x := range p.PodAntiAffinity {
			if d.namespaces.picks(podSelectorOf(x), m.namespace, m.pod.Labels) {
				out = append(out, daemonConflict{i, model.WhyPodAffinity, require.Key(x.Key)})
			}
		}
		for _, x := range m.pod.PodAntiAffinity {
			if d.namespaces.picks(podSelectorOf(x), p.Namespace, p.Labels) {
				out = append(out, daemonConflict{i, model.WhyPodAffinity, require.Key(x.Key)})
			}
		}
		for _, c := range p.Spread {
			if c.Hard && require.Key(c.Key) == model.LabelHostname && m.countsFor(p, c) && d.crowded(p, c) {
				out = append(out, daemonConflict{i, model.WhyTopologySpread, model.LabelHostname})
			}
		}
	}
	return out
}

// countsFor reports whether the daemon's pods count for a spread constraint of the pod.
func (m *daemon) countsFor(p *model.Pod, c model.Spread) bool {
	return m.namespace == p.Namespace && c.Selector.Matches(m.pod.Labels)
}

// counted says how many daemons count for a spread constraint of the pod.
func (d *problem) counted(p *model.Pod, c model.Spread) int32 {
	n := int32(0)
	for i := range d.daemons {
		if d.daemons[i].countsFor(p, c) {
			n++
		}
	}
	return n
}

// crowded reports whether those daemons alone leave the pod no room on a machine.
func (d *problem) crowded(p *model.Pod, c model.Spread) bool {
	n := d.counted(p, c)
	if c.Selector.Matches(p.Labels) {
		n++
	}
	return n > c.MaxSkew
}

// without returns the offerings on which none of the daemons runs that the pods cannot be with.
func (s *nodePool) without(shuns []daemonConflict) bitset.Set {
	out := s.offerings.all
	for _, x := range shuns {
		out = out.Minus(s.beside(x))
	}
	return out
}

// beside returns the offerings on which the pods would meet the daemon.
func (s *nodePool) beside(x daemonConflict) bitset.Set {
	on := s.runs[x.daemon]
	c := s.offerings.keys[x.key]
	switch {
	case x.key == model.LabelHostname || on.First() < 0:
		return on
	case c != nil:
		return on.Minus(c.absent)
	}
	if _, defined := s.own.Get(x.key); !defined {
		return bitset.New(len(s.offerings.items))
	}
	return on
}

// made reports whether the pod may be one of the daemon's.
func (m *daemon) made(p *model.Pod) bool {
	if p.Namespace != m.namespace {
		return false
	}
	for k, v := range m.pod.Labels {
		if p.Labels[k] != v {
			return false
		}
	}
	return true
}
