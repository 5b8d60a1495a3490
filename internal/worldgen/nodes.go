package worldgen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// node adds a ready node of one of the types, mostly bought for a pool (then with its claim).
func (g *gen) node(i int) {
	t := pick(g, g.w.Catalogs[Class()].Types...)
	o := pick(g, t.Offerings...)
	name := fmt.Sprintf("node-%d", i)
	labels := map[string]string{model.LabelHostname: name}
	maps.Copy(labels, t.Labels)
	maps.Copy(labels, o.Labels)
	if g.chance(30) {
		labels[LabelRack] = pick(g, "a", "b")
	}
	n := model.Node{Name: name, UID: "uid-" + name, ProviderID: "test:///" + name, Created: Epoch(), Labels: labels,
		Capacity: t.Capacity, Allocatable: t.Allocatable, Ready: model.True, ReadySince: Epoch(), AttachLimits: t.AttachLimits}
	if g.free == nil {
		g.free = map[string]model.Resources{}
	}
	g.free[name] = t.Allocatable
	switch {
	case g.chance(15): // somebody else's node; it may lack what ours always have
		delete(labels, model.LabelCapacityType)
		if g.chance(50) {
			delete(labels, model.LabelZone)
		}
		if g.chance(30) {
			n.Taints = append(n.Taints, model.Taint{Key: "foreign", Effect: model.NoSchedule})
		}
	default:
		c := g.owned(&n, pick(g, g.w.Pools...), fmt.Sprintf("old-%d", i))
		c.NodeName, c.ProviderID = n.Name, n.ProviderID
		for _, typ := range []string{model.Registered, model.Initialized, model.Ready} {
			c.Conditions = append(c.Conditions, model.Condition{Type: typ, Status: model.True})
		}
		g.w.Claims = append(g.w.Claims, c)
	}
	if g.chance(10) {
		n.Cordoned = true
		n.Taints = append(n.Taints, model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule})
	}
	g.w.Nodes = append(g.w.Nodes, n)
}

// owned marks the node as bought for the pool and returns the claim it was bought with.
func (g *gen) owned(n *model.Node, p model.Pool, claim string) model.Claim {
	maps.Copy(n.Labels, p.Labels)
	maps.Copy(n.Labels, map[string]string{model.LabelPool: p.Name, model.LabelRegistered: "true", model.LabelInitialized: "true",
		"karpenter.azure.com/aksnodeclass": "default"})
	n.Taints = append(n.Taints, p.Taints...)
	labels := maps.Clone(n.Labels)
	for _, k := range []string{model.LabelHostname, model.LabelRegistered, model.LabelInitialized, LabelRack} {
		delete(labels, k)
	}
	return model.Claim{Name: claim, UID: "uid-" + claim, Pool: p.Name, PoolUID: p.UID, Class: Class(), Labels: labels, Finalizers: []string{model.Finalizer},
		Created: Epoch(), Taints: p.Taints, StartupTaints: p.StartupTaints, Capacity: n.Capacity, Allocatable: n.Allocatable,
		Conditions: []model.Condition{{Type: model.Launched, Status: model.True}}}
}

// claimInFlight adds, sometimes, a machine that was bought and has not joined: which one is known.
func (g *gen) claimInFlight() {
	if !g.chance(20) {
		return
	}
	t := pick(g, g.w.Catalogs[Class()].Types...)
	o := pick(g, t.Offerings...)
	n := model.Node{Labels: map[string]string{}, Capacity: t.Capacity, Allocatable: t.Allocatable}
	maps.Copy(n.Labels, t.Labels)
	maps.Copy(n.Labels, o.Labels)
	c := g.owned(&n, pick(g, g.w.Pools...), "young-0")
	c.ProviderID = "test:///young-0"
	c.Requirements = []model.Requirement{req(model.LabelInstanceType, model.In, t.Name), req(model.LabelZone, model.In, o.Zone),
		req(model.LabelCapacityType, model.In, o.CapacityType)}
	g.w.Claims = append(g.w.Claims, c)
}

// running binds a few pods to the nodes. They were placed under other circumstances: what they ask for need not hold, but
// they fit, tolerate, and leave each other's ports and volumes alone.
func (g *gen) running() {
	if len(g.w.Nodes) == 0 {
		return
	}
	for range g.r.IntN(7) {
		n := pick(g, g.w.Nodes...)
		p := g.shape("run")
		p.Requests = model.Resources{CPU: 300, Memory: gib / 2, Pods: 1}
		p.NodeSelector, p.Affinity, p.Volumes, p.Prefers, p.Spread, p.PodAffinity = nil, nil, nil, nil, nil, nil
		p.Tolerations = []model.Toleration{{Op: "Exists"}}
		if !p.Requests.FitsIn(g.free[n.Name]) || g.portsTaken(n.Name, p.HostPorts) {
			continue
		}
		if n.Labels[model.LabelZone] != "" && g.chance(25) && g.attached(n.Name) < n.AttachLimits[Driver] {
			p.Volumes = []model.Volume{{ID: fmt.Sprintf("vol-run-%d", g.n), Driver: Driver, Terms: []model.Term{{req(model.LabelZone, model.In, n.Labels[model.LabelZone])}}}}
		}
		g.free[n.Name] = g.free[n.Name].Sub(p.Requests)
		p.Node, p.Unschedulable, p.PodReady, p.Started = n.Name, false, true, Epoch()
		g.add(p)
	}
}

// daemons puts the daemons' pods onto the nodes that they select and tolerate, and takes away whoever then finds no room there.
func (g *gen) daemons() {
	for _, n := range g.w.Nodes {
		free := n.Allocatable
		for _, d := range g.w.Daemons {
			if _, bad := model.Untolerated(n.Taints, d.Pod.Tolerations); bad || !runsOn(d.Pod.NodeSelector, n.Labels) {
				continue
			}
			p := d.Pod
			p.Name = d.Name + "-" + n.Name
			p.UID, p.Node, p.PodReady, p.Created, p.Started = "uid-"+p.Name, n.Name, true, Epoch(), Epoch()
			free = free.Sub(p.Requests)
			g.w.Pods = append(g.w.Pods, p)
		}
		g.w.Pods = slices.DeleteFunc(g.w.Pods, func(p model.Pod) bool {
			if p.Node != n.Name || p.DaemonSet {
				return false
			}
			if !p.Requests.FitsIn(free) {
				return true
			}
			free = free.Sub(p.Requests)
			return false
		})
	}
}

func runsOn(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func (g *gen) portsTaken(node string, ports []model.HostPort) bool {
	if len(ports) == 0 {
		return false
	}
	for _, d := range g.w.Daemons {
		if len(d.Pod.HostPorts) > 0 {
			return true
		}
	}
	for _, p := range g.w.Pods {
		if p.Node == node && len(p.HostPorts) > 0 {
			return true
		}
	}
	return false
}

// attached counts the volumes on the node.
func (g *gen) attached(node string) int64 {
	var n int64
	for _, p := range g.w.Pods {
		if p.Node == node {
			n += int64(len(p.Volumes))
		}
	}
	return n
}
