package topology

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/model"
)

// notePorts lists the addresses under which each port that a waiting pod asks for is asked for, and counts running users. A port
// of every address meets all users of the port; two addresses do not meet each other. Each address is a count of its own, and
// "every address" is one more.
func (d *builder) notePorts() {
	d.portIPs = map[string][]string{}
	wanted := false
	note := func(p *model.Pod) {
		for _, h := range p.HostPorts {
			ip := h.IP
			if alike.Everywhere(ip) {
				ip = ""
			}
			if k := alike.PortKey(h); !slices.Contains(d.portIPs[k], ip) {
				d.portIPs[k] = append(d.portIPs[k], ip)
			}
		}
	}
	for _, g := range d.classes {
		wanted = wanted || len(g.First().HostPorts) > 0
		note(g.First())
	}
	if !wanted {
		return
	}
	for p := range d.World.Index.WithPorts().All() {
		note(p)
	}
	for i := range d.Daemons {
		note(d.Daemons[i].Pod)
	}
	for k, list := range d.portIPs {
		if !slices.Contains(list, "") {
			list = append(list, "")
		}
		slices.Sort(list)
		d.portIPs[k] = list
	}
}

// countPorts counts the users of host ports that run, and daemons that are to come.
func (d *builder) countPorts(placing map[model.PodKey]bool) {
	t := d.Topo
	if len(d.portIPs) == 0 {
		return
	}
	for p := range d.World.Index.WithPorts().All() {
		at, ok := t.SpotOf[p.Node]
		if !ok || p.Terminal || placing[p.Key()] {
			continue
		}
		for _, h := range p.HostPorts {
			for _, x := range t.portTerms(h, d.portIPs) {
				x.Matched.Add(at, 1)
			}
		}
	}
	for i := range d.Daemons {
		for _, s := range d.Existing {
			if !s.Aboard.Has(i) {
				continue
			}
			for _, h := range d.Daemons[i].Pod.HostPorts {
				for _, x := range t.portTerms(h, d.portIPs) {
					if x.Matched.At(s.Spot) == 0 {
						x.Matched.Add(s.Spot, 1)
					}
				}
			}
		}
	}
}
