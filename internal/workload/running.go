package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Cluster returns a world of about the given number of ready nodes from Families with pods bound to them until pods are
// bound or the nodes are full. With topology, pods have the constraints of Topology, and stand so that zones are even and
// nobody who wants to be alone is not. Every node has its claim. O(nodes + pods).
func Cluster(nodes, pods int, topology bool, seed uint64) model.World {
	m := newMaker(seed)
	w := World(Families(), nil)
	var free []model.Resources
	for i := range nodes {
		n, c := m.node(i, w.Catalogs[Class()])
		w.Nodes, w.Claims, free = append(w.Nodes, n), append(w.Claims, c), append(free, n.Allocatable)
	}
	if topology {
		m.pods = Topology(pods, seed)
	} else {
		m.pods = Shapes(pods, seed)
	}
	at := map[string]int{} // where the next pod of a workload is tried
	for i := range m.pods {
		p := &m.pods[i]
		app := p.Labels["app"]
		from, seen := at[app]
		if !seen {
			from = i * 7 % nodes
		}
		step := 1
		if len(p.PodAffinity) > 0 {
			step = len(zones()) // nodes go round the zones
		}
		for try := range maxTries {
			n := (from + try*step) % nodes
			if p.Requests.FitsIn(free[n]) {
				free[n] = free[n].Sub(p.Requests)
				p.Node, p.Unschedulable, p.PodReady, p.Started = w.Nodes[n].Name, false, true, Epoch().Add(time.Hour)
				at[app] = n + step
				break
			}
			if len(p.Spread) > 0 && p.Spread[0].Key == model.LabelZone {
				step = len(zones()) // a full node must not break the zones' turn
			}
		}
	}
	w.Pods = slices.DeleteFunc(m.pods, func(p model.Pod) bool { return p.Node == "" })
	slices.SortFunc(w.Pods, func(a, b model.Pod) int { return strings.Compare(a.Name, b.Name) })
	return w
}

// maxTries bounds how many nodes are asked for one bound pod.
const maxTries = 60

// node makes the i-th node, of 16 to 48 cores, and its claim. Zones take turns.
func (m *maker) node(i int, cat model.Catalog) (model.Node, model.Claim) {
	var from []model.InstanceType
	for _, t := range cat.Types {
		if t.Capacity.CPU >= 16_000 && t.Capacity.CPU <= 48_000 {
			from = append(from, t)
		}
	}
	t, zone := pick(m.r, from...), zones()[i%len(zones())]
	name := fmt.Sprintf("node-%05d", i)
	labels := map[string]string{model.LabelPool: "general", model.LabelZone: zone, model.LabelCapacityType: model.OnDemand, model.LabelHostname: name,
		model.LabelRegistered: "true", model.LabelInitialized: "true", "karpenter.azure.com/aksnodeclass": "default"}
	for k, v := range t.Labels {
		labels[k] = v
	}
	var is []model.Condition
	for _, c := range []string{model.Launched, model.Registered, model.Initialized, model.Ready} {
		is = append(is, model.Condition{Type: c, Status: model.True})
	}
	n := model.Node{Name: name, UID: "uid-" + name, ProviderID: "azure:///" + name, Created: Epoch(), Labels: labels,
		Capacity: t.Capacity, Allocatable: t.Allocatable, Ready: model.True, ReadySince: Epoch()}
	c := model.Claim{Name: fmt.Sprintf("general-%05d", i), UID: "claim-" + name, Pool: "general", PoolUID: "pool-general", Class: Class(), Labels: labels,
		Finalizers: []string{model.Finalizer}, Created: Epoch(), ProviderID: n.ProviderID, NodeName: name, Capacity: t.Capacity, Allocatable: t.Allocatable, Conditions: is}
	return n, c
}
