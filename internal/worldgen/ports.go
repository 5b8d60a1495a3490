package worldgen

import (
	"cmp"
	"math/rand/v2"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Ports draws a world as Small does, and gives most of its pods ports of the node: few numbers, every protocol, and addresses in the ways
// that people write them, so that a port meets itself under other addresses. Those of pods that run do not meet where they run.
func Ports(seed uint64) model.World {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x706f727473)), w: Small(seed)}
	daemons := map[string][]model.HostPort{}
	for i := range g.w.Daemons {
		d := &g.w.Daemons[i]
		d.Pod.HostPorts = g.hostPorts(40)
		daemons[d.Name] = d.Pod.HostPorts
	}
	taken, like := map[string][]model.HostPort{}, map[string][]model.HostPort{}
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; p.DaemonSet {
			p.HostPorts = daemons[strings.TrimSuffix(p.Name, "-"+p.Node)]
			taken[p.Node] = append(taken[p.Node], p.HostPorts...)
		}
	}
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if p.DaemonSet {
			continue
		}
		workload, _, _ := strings.Cut(p.Name, "-")
		if ports, ok := like[workload]; ok && p.Node == "" && g.chance(80) {
			p.HostPorts = ports
			continue
		}
		if p.HostPorts = g.hostPorts(75); p.Node == "" {
			like[workload] = p.HostPorts
			continue
		}
		if meet(p.HostPorts, taken[p.Node]) {
			p.HostPorts = nil
		}
		taken[p.Node] = append(taken[p.Node], p.HostPorts...)
	}
	return g.w
}

// hostPorts draws up to three ports of one pod, at some chance any.
func (g *gen) hostPorts(percent int) []model.HostPort {
	if !g.chance(percent) {
		return nil
	}
	var out []model.HostPort
	for range 1 + g.r.IntN(3) {
		h := model.HostPort{IP: pick(g, "", "", "0.0.0.0", "::", "::", "127.0.0.1", "10.0.0.4", "::1", "fd00::4", "0:0:0:0:0:0:0:0"),
			Protocol: pick(g, "TCP", "TCP", "TCP", "UDP", "SCTP"), Port: pick(g, int32(8080), 8080, 9090)}
		if !meet(out, []model.HostPort{h}) {
			out = append(out, h)
		}
	}
	return out
}

// meet reports whether two ports are one, or one of them is on every address.
func meet(a, b []model.HostPort) bool {
	all := func(ip string) string { return cmp.Or(ip, "0.0.0.0") }
	for _, x := range a {
		for _, y := range b {
			p, q := all(x.IP), all(y.IP)
			if x.Port == y.Port && x.Protocol == y.Protocol && (p == q || p == all("") || q == all("")) {
				return true
			}
		}
	}
	return false
}
