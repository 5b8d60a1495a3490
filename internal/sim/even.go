package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// even is one hard spread constraint of a pod: how many pods count for it, by domain. As in kube-scheduler's filter only nodes are looked at that
// have all labels which the pod's hard constraints name, and that the pod's selector, affinity and tolerations accept as far as the
// constraint honours these; pods on others neither count nor make a domain.
type even struct {
	pod    *model.Pod
	spread *model.Spread
	n      map[string]int // has every domain, the empty ones, too
}

// evenness tells constraints apart that count differently.
type evenness struct {
	ns, key string
	sel     *model.Selector
	among   string // which nodes count
}

// even returns the counts of a constraint of the pod, made when first asked for.
func (c *cluster) even(p *model.Pod, s *model.Spread) *even {
	var among strings.Builder
	for i := range p.Spread {
		if p.Spread[i].Hard {
			among.WriteString(p.Spread[i].Key + " ")
		}
	}
	if s.HonorAffinity && (len(p.NodeSelector) > 0 || p.Affinity != nil) {
		fmt.Fprint(&among, p.NodeSelector, p.Affinity)
	}
	if s.HonorTaints {
		fmt.Fprint(&among, "taints", p.Tolerations)
	}
	id := evenness{p.Namespace, s.Key, s.Selector, among.String()}
	if e := c.evens[id]; e != nil {
		return e
	}
	e := &even{p, s, map[string]int{}}
	c.evens[id] = e
	for _, name := range c.names {
		if n := c.nodes[name]; e.counts(n) {
			e.n[n.Labels[s.Key]] += 0
			for _, q := range c.bound[name] {
				e.add(n, q)
			}
		}
	}
	return e
}

// counts reports whether the constraint looks at the node.
func (e *even) counts(n *model.Node) bool {
	for i := range e.pod.Spread {
		if _, ok := n.Labels[e.pod.Spread[i].Key]; e.pod.Spread[i].Hard && !ok {
			return false
		}
	}
	if e.spread.HonorAffinity && !selects(*e.pod, *n) {
		return false
	}
	taints := n.Taints
	if n.Cordoned {
		taints = append(slices.Clip(taints), model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule})
	}
	_, bad := model.Untolerated(taints, e.pod.Tolerations)
	return !e.spread.HonorTaints || !bad
}

func (e *even) picks(q *model.Pod) bool {
	return !q.Deleting() && q.Namespace == e.pod.Namespace && e.spread.Selector.Matches(q.Labels)
}

// add counts a pod on a node.
func (e *even) add(n *model.Node, q *model.Pod) {
	if e.picks(q) && e.counts(n) {
		e.n[n.Labels[e.spread.Key]]++
	}
}

// lets reports whether the constraint lets one of its pods onto the node, with others as if they ran there.
func (e *even) lets(p *model.Pod, n *model.Node, others []*model.Pod) bool {
	if !e.counts(n) {
		return false
	}
	domain, more := n.Labels[e.spread.Key], 0
	for _, q := range others {
		if e.picks(q) {
			more++
		}
	}
	low, first := 0, true
	for d, k := range e.n {
		if d == domain {
			k += more
		}
		if first || k < low {
			low, first = k, false
		}
	}
	if int32(len(e.n)) < e.spread.MinDomains {
		low = 0
	}
	self := 0
	if e.spread.Selector.Matches(p.Labels) {
		self = 1
	}
	return e.n[domain]+more+self-low <= int(e.spread.MaxSkew)
}
