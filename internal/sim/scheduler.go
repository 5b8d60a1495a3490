package sim

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// schedule plays kube-scheduler for one tick: it tries pods that wait, one after the other, binds those that some node takes to the emptiest one,
// and marks the others unschedulable. Like kube-scheduler it keeps the room of pods for which a node is nominated and counts them there, tries
// that node first, and takes the nomination away from a pod that it tried in vain.
func (s *Sim) schedule() {
	o := s.see()
	if !slices.ContainsFunc(o.Pods, func(p model.Pod) bool { return p.Node == "" }) {
		return
	}
	o.Pods = slices.Clone(o.Pods)
	s.queue.wake(o)
	slices.SortStableFunc(o.Pods, func(a, b model.Pod) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(serialOf(a), serialOf(b)))
	})
	if r := s.cfg.Rand; r != nil && s.cfg.Shuffle {
		r.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
	}
	c := newCluster(o, s.zones())
	tries := 0
	for i := range o.Pods {
		p := &o.Pods[i]
		if p.Node != "" || p.Gated || p.Deleting() || p.Terminal || s.queue.aside(*p) {
			continue
		}
		if tries++; s.cfg.Pace > 0 && tries > s.cfg.Pace {
			return
		}
		node := c.pick(p)
		if node == "" {
			if s.cfg.Queue {
				s.queue.put(*p)
			}
			if !p.Unschedulable || p.Nominated != "" {
				c.forget(p)
				s.Store.EditPod(p.Key(), func(p *model.Pod) { p.Unschedulable, p.Nominated = true, "" })
			}
			continue
		}
		s.provision(p, c.nodes[node])
		for _, claim := range claimsOf(p) {
			c.zones[claim] = c.nodes[node].Labels[model.LabelZone]
		}
		s.begin(p.Key(), node)
		c.forget(p)
		c.bind(p, node)
	}
}

// serialOf is the number of a deployment's pod, which grows as pods are made; others come first.
func serialOf(p model.Pod) int {
	return number(p.Name[strings.LastIndexByte(p.Name, '-')+1:])
}

// cluster is what the scheduler knows of nodes and pods. It is written from the Kubernetes documentation and shares nothing with the engine.
type cluster struct {
	nodes map[string]*model.Node
	names []string
	free  map[string]model.Resources
	bound map[string][]*model.Pod // by node
	told  map[string][]*model.Pod // by node
	// counts are the bound pods per value of a label.
	counts map[question]map[string]int
	evens  map[evenness]*even
	zones  map[string]string // of the claims' disks
}

func newCluster(o model.World, zones map[string]string) *cluster {
	c := &cluster{nodes: map[string]*model.Node{}, free: map[string]model.Resources{}, bound: map[string][]*model.Pod{}, told: map[string][]*model.Pod{},
		counts: map[question]map[string]int{}, evens: map[evenness]*even{}, zones: zones}
	for i := range o.Nodes {
		n := &o.Nodes[i]
		c.nodes[n.Name], c.free[n.Name] = n, n.Allocatable
	}
	c.names = slices.Sorted(maps.Keys(c.nodes))
	for i := range o.Pods {
		p := &o.Pods[i]
		switch {
		case p.Node != "" && !p.Terminal:
			c.bind(p, p.Node)
		case p.Nominated != "" && p.Node == "":
			c.told[p.Nominated] = append(c.told[p.Nominated], p)
		}
	}
	return c
}

func (c *cluster) bind(p *model.Pod, node string) {
	c.free[node] = c.free[node].Sub(p.Requests)
	c.bound[node] = append(c.bound[node], p)
	if n := c.nodes[node]; n != nil {
		for id, counts := range c.counts {
			if id.picks(p) {
				counts[n.Labels[id.key]]++
			}
		}
		for _, e := range c.evens {
			e.add(n, p)
		}
	}
}

// forget takes the nomination of the pod away.
func (c *cluster) forget(p *model.Pod) {
	c.told[p.Nominated] = slices.DeleteFunc(c.told[p.Nominated], func(q *model.Pod) bool { return q.Key() == p.Key() })
	p.Nominated = ""
}

// pick returns the node for the pod: the nominated one if that takes it, else the emptiest; "" when none does.
func (c *cluster) pick(p *model.Pod) string {
	if p.Nominated != "" && c.nodes[p.Nominated] != nil && c.takes(p, p.Nominated) {
		return p.Nominated
	}
	best, most := "", 0.0
	for _, n := range c.names {
		if score := c.left(p, n); (best == "" || score > most) && c.takes(p, n) {
			best, most = n, score
		}
	}
	return best
}

// left is what share of the node would be left with the pod on it, of cpu and of memory added up: NodeResourcesFit with LeastAllocated, kube-scheduler's default
// (leastResourceScorer in k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources/least_allocated.go).
func (c *cluster) left(p *model.Pod, node string) float64 {
	share := func(free, asked, all int64) float64 { return float64(free-asked) / float64(max(all, 1)) }
	free, all := c.free[node], c.nodes[node].Allocatable
	return share(free.CPU, p.Requests.CPU, all.CPU) + share(free.Memory, p.Requests.Memory, all.Memory)
}

// takes reports whether the node takes the pod, with and without the pods that were told of it.
func (c *cluster) takes(p *model.Pod, node string) bool {
	n := c.nodes[node]
	if !admits(*n, *p) {
		return false
	}
	others := slices.DeleteFunc(slices.Clone(c.told[node]), func(q *model.Pod) bool { return q.Key() == p.Key() || q.Priority < p.Priority })
	return c.fits(p, n, nil) && (len(others) == 0 || c.fits(p, n, others))
}

// fits reports whether the pod fits onto the node beside what runs there, and the others.
func (c *cluster) fits(p *model.Pod, n *model.Node, others []*model.Pod) bool {
	free := c.free[n.Name]
	for _, q := range others {
		free = free.Sub(q.Requests)
	}
	if !p.Requests.FitsIn(free) || !c.reaches(p, n, others) {
		return false
	}
	for _, q := range slices.Concat(c.bound[n.Name], others) {
		if slices.ContainsFunc(p.HostPorts, func(h model.HostPort) bool { return slices.Contains(q.HostPorts, h) }) {
			return false
		}
	}
	for i := range p.Spread {
		if s := &p.Spread[i]; s.Hard && !c.even(p, s).lets(p, n, others) {
			return false
		}
	}
	for i := range p.PodAntiAffinity {
		if t := &p.PodAntiAffinity[i]; c.count(p.Namespace, t.Key, t.Selector, n, others)[n.Labels[t.Key]] > 0 {
			return false
		}
	}
	for i := range p.PodAffinity {
		t := &p.PodAffinity[i]
		counts := c.count(p.Namespace, t.Key, t.Selector, n, others)
		total := 0
		for _, k := range counts {
			total += k
		}
		if counts[n.Labels[t.Key]] == 0 && (total > 0 || !t.Selector.Matches(p.Labels)) {
			return false
		}
	}
	return true
}

// count counts the pods that the selector picks, by the key's value; the others as if they ran on n.
func (c *cluster) count(ns, key string, sel *model.Selector, n *model.Node, others []*model.Pod) map[string]int {
	id := question{ns, key, sel}
	out, known := c.counts[id]
	if !known {
		out = map[string]int{}
		for node, pods := range c.bound {
			if x := c.nodes[node]; x != nil {
				for _, q := range pods {
					if id.picks(q) {
						out[x.Labels[key]]++
					}
				}
			}
		}
		c.counts[id] = out
	}
	copied := false
	for _, q := range others {
		if id.picks(q) {
			if !copied {
				out, copied = maps.Clone(out), true
			}
			out[n.Labels[key]]++
		}
	}
	return out
}

// question is whose pods are counted, by which label of their nodes.
type question struct {
	ns, key string
	sel     *model.Selector
}

func (x question) picks(q *model.Pod) bool { return q.Namespace == x.ns && x.sel.Matches(q.Labels) }

// admits says whether the scheduler would let the pod onto the node, room aside. It is written from the Kubernetes
// documentation and shares nothing with the engine.
func admits(n model.Node, p model.Pod) bool {
	if n.Deleting() || n.Cordoned {
		return false
	}
	if _, bad := model.Untolerated(n.Taints, p.Tolerations); bad {
		return false
	}
	return selects(p, n)
}

// selects says whether the pod's node selector and required node affinity accept the node.
func selects(p model.Pod, n model.Node) bool {
	for k, v := range p.NodeSelector {
		if n.Labels[k] != v {
			return false
		}
	}
	if p.Affinity == nil {
		return true
	}
	return slices.ContainsFunc(p.Affinity, func(t model.Term) bool {
		return len(t) > 0 && !slices.ContainsFunc(t, func(r model.Requirement) bool { return !matches(n.Labels, r) })
	})
}

func matches(labels map[string]string, r model.Requirement) bool {
	v, ok := labels[r.Key]
	switch r.Op {
	case model.In:
		return ok && slices.Contains(r.Values, v)
	case model.NotIn:
		return !ok || !slices.Contains(r.Values, v)
	case model.Exists:
		return ok
	case model.DoesNotExist:
		return !ok
	}
	have, err := strconv.Atoi(v)
	if !ok || err != nil || len(r.Values) != 1 {
		return false
	}
	want, err := strconv.Atoi(r.Values[0])
	return err == nil && (r.Op == model.Gt && have > want || r.Op == model.Lt && have < want)
}
