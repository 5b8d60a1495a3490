package place

import "slices"

// coming lists, per existing node that is on its way, the daemons that will run there and do not yet. One that only may run, because the
// machine is not known yet, is taken to come.
func (d *builder) coming() map[*existingNode][]*daemon {
	young := map[string]*existingNode{}
	out := map[*existingNode][]*daemon{}
	for _, s := range d.existing {
		if s.rank == 0 {
			continue
		}
		if s.node != "" {
			young[s.node] = s
		}
		for i := range d.daemons {
			if s.aboard.Has(i) {
				out[s] = append(out[s], &d.daemons[i])
			}
		}
	}
	if len(young) == 0 || len(out) == 0 {
		return out
	}
	for node, s := range young {
		for _, p := range d.world.Index.On(node).Pods {
			if !p.DaemonSet || p.Terminal || p.Deleting() {
				continue
			}
			out[s] = slices.DeleteFunc(out[s], func(m *daemon) bool { return m.made(p) })
		}
	}
	return out
}

// internCrew interns what daemons to come refuse.
func (d *builder) internCrew(coming map[*existingNode][]*daemon) {
	if len(coming) == 0 {
		return
	}
	t := d.topo
	for _, s := range d.existing {
		for _, m := range coming[s] {
			for _, x := range m.pod.PodAntiAffinity {
				t.intern(t.key(x.Key), []podSelector{podSelectorOf(x)}, "pods").owners.add(t.spots[s.spot].doms[t.key(x.Key)], 1)
			}
		}
	}
}

// countCrew counts daemons to come as if they ran.
func (d *builder) countCrew(coming map[*existingNode][]*daemon) {
	for _, s := range d.existing {
		at := d.topo.spots[s.spot]
		for _, m := range coming[s] {
			for _, x := range d.topo.matching(m.namespace, m.pod.Labels) {
				if x.elig == nil && !(x.near && at.doms[x.key] < 0) || x.elig != nil && x.elig.spots[s.spot] == surely {
					x.matched.add(at.doms[x.key], 1)
				}
			}
		}
	}
}
