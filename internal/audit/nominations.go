package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// nominations checks that nodes and claims really hold, together, what is expected there.
func (a *audit) nominations(p place.Plan) {
	nodes, claims := map[string][]model.PodKey{}, map[string][]model.PodKey{}
	for _, n := range p.Fits {
		if (n.Node == "") == (n.Claim == "") {
			a.bad(Target, "pod %s: want a node or a claim, have %q and %q", n.Pod, n.Node, n.Claim)
			continue
		}
		if n.Node != "" {
			nodes[n.Node] = append(nodes[n.Node], n.Pod)
		} else {
			claims[n.Claim] = append(claims[n.Claim], n.Pod)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		a.node(name, nodes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		a.claim(name, claims[name])
	}
}

func (a *audit) node(name string, pods []model.PodKey) {
	n, ok := find(a.w.Nodes, func(n model.Node) bool { return n.Name == name })
	if !ok || n.Cordoned || n.HasTaint(model.TaintDisrupted) || a.leaving(name) {
		a.bad(Target, "node %s takes no pods", name)
		return
	}
	labels, alloc, young := n.Labels, n.Allocatable, false
	var startup []model.Taint
	for _, c := range a.w.Claims {
		if c.ProviderID == "" || c.ProviderID != n.ProviderID || n.Labels[model.LabelInitialized] == "true" || c.Is(model.Initialized) {
			continue
		}
		young, startup = true, c.StartupTaints
		labels = maps.Clone(c.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, n.Labels)
		if !c.Allocatable.IsZero() {
			alloc = c.Allocatable
		}
	}
	if !young && n.Ready != model.True {
		a.bad(Target, "node %s is not ready", name)
	}
	for _, k := range pods {
		for _, t := range n.Taints {
			if t.Effect != model.PreferNoSchedule && !tolerated(t, a.pods[k].Tolerations) && !(young && goesAway(t, startup)) {
				a.bad(Taints, "pod %s does not tolerate %s of node %s", k, t, name)
			}
		}
		if !a.accepts(a.pods[k], plain(labels), nil, place.Purchase{}) {
			a.bad(Labels, "pod %s does not accept node %s", k, name)
		}
	}
	used := model.Resources{}
	for _, p := range a.w.Pods {
		if p.Node == name && !p.Terminal {
			used = used.Add(p.Requests)
		}
	}
	for _, k := range pods {
		used = used.Add(a.pods[k].Requests)
	}
	if short := used.Short(alloc); short != "" {
		a.bad(Room, "node %s has too little %s: would hold %s, has %s", name, short, used, alloc)
	}
}

func plain(labels map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range labels {
		out[canonical(k)] = v
	}
	return out
}

// goesAway reports whether a taint on a node that is not initialized yet is removed before pods need it gone.
func goesAway(t model.Taint, startup []model.Taint) bool {
	if strings.HasPrefix(t.Key, "readiness.k8s.io/") {
		return true
	}
	for _, s := range startup {
		if s.Key == t.Key && s.Effect == t.Effect {
			return true
		}
	}
	return slices.Contains([]string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
		"node.cloudprovider.kubernetes.io/uninitialized", model.TaintUnregistered}, t.Key)
}

// claim checks a claim in flight against everything that it may become.
func (a *audit) claim(name string, pods []model.PodKey) {
	c, ok := find(a.w.Claims, func(c model.Claim) bool { return c.Name == name })
	if !ok || c.Deleting() || c.NodeName != "" {
		a.bad(Target, "claim %s takes no pods", name)
		return
	}
	var sum model.Resources
	for _, k := range pods {
		sum = sum.Add(a.pods[k].Requests)
		for _, t := range c.Taints {
			if t.Effect != model.PreferNoSchedule && !tolerated(t, a.pods[k].Tolerations) {
				a.bad(Taints, "pod %s does not tolerate %s of claim %s", k, t, name)
			}
		}
	}
	as := place.Purchase{Requirements: c.Requirements}
	for k, v := range c.Labels {
		as.Requirements = append(slices.Clip(as.Requirements), model.Requirement{Key: k, Op: model.In, Values: []string{v}})
	}
	for _, t := range a.w.Catalogs[c.Class].Types {
		for _, o := range t.Offerings {
			if !c.Requests.FitsIn(t.Allocatable) || !a.mayBecome(c, t, o) {
				continue
			}
			labels := nodeLabels(model.Pool{Name: c.Pool, Class: c.Class, Labels: c.Labels}, as, t, o)
			need := sum
			for _, d := range a.w.Daemons {
				if a.daemonRuns(d.Pod, c.Taints, labels, t, as) {
					need = need.Add(d.Pod.Requests)
				}
			}
			alloc := t.Allocatable
			if !c.Allocatable.IsZero() {
				alloc = c.Allocatable
			}
			if short := need.Short(alloc); short != "" {
				a.bad(Room, "claim %s as %s has too little %s", name, o.Key(), short)
			}
			for _, k := range pods {
				if !a.accepts(a.pods[k], labels, t.Either, as) {
					a.bad(Labels, "pod %s does not accept claim %s as %s", k, name, o.Key())
				}
			}
		}
	}
}
