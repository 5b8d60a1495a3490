package topology

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
)

// coming lists, per existing node that is on its way, the daemons that will run there and do not yet. One that only may run, because the
// machine is not known yet, is taken to come.
func (d *builder) coming() map[*problem.ExistingNode][]*problem.Daemon {
	young := map[string]*problem.ExistingNode{}
	out := map[*problem.ExistingNode][]*problem.Daemon{}
	for _, s := range d.Existing {
		if s.Rank == 0 {
			continue
		}
		if s.Node != "" {
			young[s.Node] = s
		}
		for i := range d.Daemons {
			if s.Aboard.Has(i) {
				out[s] = append(out[s], &d.Daemons[i])
			}
		}
	}
	if len(young) == 0 || len(out) == 0 {
		return out
	}
	for node, s := range young {
		for _, p := range d.World.Index.On(node).Pods {
			if !p.DaemonSet || p.Terminal || p.Deleting() {
				continue
			}
			out[s] = slices.DeleteFunc(out[s], func(m *problem.Daemon) bool { return m.Made(p) })
		}
	}
	return out
}

// internCrew interns what daemons to come refuse.
func (d *builder) internCrew(coming map[*problem.ExistingNode][]*problem.Daemon) {
	if len(coming) == 0 {
		return
	}
	t := d.Topo
	for _, s := range d.Existing {
		for _, m := range coming[s] {
			for _, x := range m.Pod.PodAntiAffinity {
				y := t.Refused(x)
				y.Owners.Add(t.Spots[s.Spot].Doms[y.Key], 1)
			}
		}
	}
}

// countCrew counts daemons to come as if they ran.
func (d *builder) countCrew(coming map[*problem.ExistingNode][]*problem.Daemon) {
	for _, s := range d.Existing {
		at := d.Topo.Spots[s.Spot]
		for _, m := range coming[s] {
			for _, x := range d.Topo.Matching(m.Namespace, m.Pod.Labels) {
				if x.Elig == nil && !(x.Near && at.Doms[x.Key] < 0) ||
					x.Elig != nil && x.Elig.Spots[s.Spot] == Surely {
					x.Matched.Add(at.Doms[x.Key], 1)
				}
			}
		}
	}
}
