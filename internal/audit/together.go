package audit

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// together checks what pods of one machine take from each other beside room: ports of the node, and places for volumes.
func (a *audit) together(m *machine) {
	a.ports(m)
	a.attached(m)
}

// taken is a port and who takes it.
type taken struct {
	port model.HostPort
	who  string
}

func (a *audit) ports(m *machine) {
	if !slices.ContainsFunc(m.planned, func(p *subject) bool { return len(p.HostPorts) > 0 }) {
		return
	}
	var have []taken
	for _, p := range m.running {
		for _, h := range p.HostPorts {
			have = append(have, taken{h, "pod " + p.Key().String()})
		}
	}
	for _, f := range m.form.faces {
		for _, d := range f.crew {
			for _, h := range d.Pod.HostPorts {
				have = append(have, taken{h, "daemon " + d.Name})
			}
		}
	}
	for _, p := range m.planned {
		for _, h := range p.HostPorts {
			for _, x := range have {
				if clash(h, x.port) {
					a.bad(Ports, "%s: pod %s wants port %d, which %s takes", m.name, p.Key(), h.Port, x.who)
				}
			}
		}
		for _, h := range p.HostPorts {
			have = append(have, taken{h, "pod " + p.Key().String()})
		}
	}
}

// clash reports whether two ports exclude each other on one node: same protocol and number, and the same address or one
// that stands for all of them. As kube-scheduler reads it, "" and 0.0.0.0 do, :: does not.
func clash(x, y model.HostPort) bool {
	any := func(ip string) bool { return ip == "" || ip == "0.0.0.0" }
	return x.Port == y.Port && cmp.Or(x.Protocol, "TCP") == cmp.Or(y.Protocol, "TCP") && (x.IP == y.IP || any(x.IP) || any(y.IP))
}

// onePod checks that a pod of the plan is the only one to use a volume that one pod may use at a time. Who runs uses it until it is gone, but for those
// that the plan speaks of: their nodes leave.
func (a *audit) onePod() {
	users := map[string]*model.Pod{}
	for _, m := range a.machines {
		for _, p := range m.planned {
			for _, v := range p.Volumes {
				if !v.OnePod {
					continue
				}
				if users[v.ID] == nil {
					for _, o := range a.w.Index.VolumeUsers(v.ID) {
						if o.Node != "" && !o.Terminal && !a.moves[o] {
							users[v.ID] = o
						}
					}
				}
				if o := users[v.ID]; o != nil {
					a.bad(Volumes, "%s: pod %s uses %s, which one pod may use at a time, and so does %s", m.name, p.Key(), v, o.Key())
				}
				users[v.ID] = p.Pod
			}
		}
	}
}

// unmade checks that pods on several machines which use a volume that is yet to be made are alike by the labels that say where it will be reached from.
func (a *audit) unmade() {
	type place struct{ volume, key string }
	type user struct {
		m *machine
		p *subject
	}
	first := map[place]user{}
	for _, m := range a.machines {
		for _, p := range m.planned {
			for _, v := range p.Volumes {
				for _, k := range v.Within {
					k = canonical(k)
					u, used := first[place{v.ID, k}]
					if !used {
						first[place{v.ID, k}] = user{m, p}
						continue
					}
					x, sure := u.m.domain(k)
					y, too := m.domain(k)
					if u.m != m && (!sure || !too || x != y) {
						a.bad(Volumes, "%s: pod %s uses %s, which is yet to be made, and so does %s on %s: they may differ in %s", m.name, p.Key(), v, u.p.Key(), u.m.name, k)
					}
				}
			}
		}
	}
}

// domain is the value of a label that the machine has whatever it turns out to be.
func (m *machine) domain(key string) (value string, sure bool) {
	for i, f := range m.form.faces {
		v, there := f.labels[key]
		if !there || len(f.either[key]) > 1 || i > 0 && v != value {
			return "", false
		}
		value = v
	}
	return value, len(m.form.faces) > 0
}

// attached checks the number of volumes per driver, each counted once however many pods share it. Pods that bring no new
// volume are welcome on a full node.
func (a *audit) attached(m *machine) {
	if !slices.ContainsFunc(m.planned, func(p *subject) bool { return len(p.Volumes) > 0 }) {
		return
	}
	there := map[string]map[string]bool{}
	mount := func(p *model.Pod) (fresh []string) {
		for _, v := range p.Volumes {
			if there[v.Driver] == nil {
				there[v.Driver] = map[string]bool{}
			}
			if v.Driver != "" && !there[v.Driver][v.ID] {
				there[v.Driver][v.ID] = true
				fresh = append(fresh, v.Driver)
			}
		}
		return fresh
	}
	for _, p := range m.running {
		mount(p)
	}
	for _, p := range m.planned {
		for _, driver := range mount(p.Pod) {
			for _, f := range m.form.faces {
				if most, ok := f.attach[driver]; ok && int64(len(there[driver])) > most {
					a.bad(Attach, "%s: pod %s is one volume too many: %s attaches %d of driver %s", m.name, p.Key(), f.what, most, driver)
					return
				}
			}
		}
	}
}
