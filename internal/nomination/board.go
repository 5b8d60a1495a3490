package nomination

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// board knows where pods are, as kube-scheduler counts them: those that are bound, and on one node those that were told of it.
type board struct {
	w    *model.World
	told map[string][]*model.Pod // by node
	// counts are the bound pods that a selector picks, per domain, by namespace, key and selector; each domain that is there
	// has an entry.
	counts map[string]map[string]int
	// free is what is left of the nodes that are landed on beside the pods that are bound, and those that were told of them.
	free map[string]model.Resources
}

func newBoard(w *model.World, sites []*site) *board {
	b := &board{w: w, told: map[string][]*model.Pod{}, counts: map[string]map[string]int{},
		free: make(map[string]model.Resources, len(sites))}
	for _, s := range sites {
		if s.node != nil {
			b.free[s.node.Name] = s.node.Allocatable.Sub(w.Index.On(s.node.Name).Used)
		}
	}
	for p := range w.Index.Unbound().All() {
		if p.Promised != "" {
			b.tell(p, w.Index.Node(p.Promised))
		}
	}
	return b
}

// tell notes that the pod was told of the node.
func (b *board) tell(p *model.Pod, n *model.Node) {
	if n == nil {
		return
	}
	b.told[n.Name] = append(b.told[n.Name], p)
	b.take(p, n.Name)
}

func (b *board) take(p *model.Pod, node string) {
	if free, ok := b.free[node]; ok {
		b.free[node] = free.Sub(p.Requests)
	}
}

// count returns how many bound pods of the namespace the selector picks, per domain of the key.
func (b *board) count(ns, key string, sel *model.Selector) map[string]int {
	id := fmt.Sprintf("%s|%s|%v", ns, key, sel)
	if c, ok := b.counts[id]; ok {
		return c
	}
	c := map[string]int{}
	for i := range b.w.Nodes {
		if d, ok := b.w.Nodes[i].Labels[key]; ok {
			c[d] += 0
		}
	}
	for kind := range b.w.Index.Kinds().All() {
		if p := kind.Pod(); p.Namespace != ns || !sel.Matches(p.Labels) {
			continue
		}
		for p := range kind.Pods.All() {
			if n := b.w.Index.Node(p.Node); n != nil {
				if d, ok := n.Labels[key]; ok {
					c[d]++
				}
			}
		}
	}
	b.counts[id] = c
	return c
}

// holds reports whether room may be kept on the node for the pod: there is some beside those that run there and those that were told, and the pods that it must
// be with are not elsewhere.
func (b *board) holds(p *model.Pod, n *model.Node) bool {
	return p.Requests.FitsIn(b.free[n.Name]) && !slices.ContainsFunc(p.PodAffinity, func(t model.PodTerm) bool { return !b.joins(p, n, &t) })
}

// admits reports whether kube-scheduler would let a pod onto the node now for which room may be kept there. A pod that is told too
// early loses the node at its first try, and its mates on the same node keep each other out.
func (b *board) admits(p *model.Pod, n *model.Node) bool {
	return !slices.ContainsFunc(p.Spread, func(s model.Spread) bool { return s.Hard && !b.evens(p, n, &s) })
}

// evens reports whether the spread constraint lets the pod onto the node together with all pods that were told of it.
func (b *board) evens(p *model.Pod, n *model.Node, s *model.Spread) bool {
	here, ok := n.Labels[s.Key]
	if !ok {
		return false
	}
	counts := b.count(p.Namespace, s.Key, s.Selector)
	mates := 0
	for _, q := range b.told[n.Name] {
		if q.Namespace == p.Namespace && s.Selector.Matches(q.Labels) {
			mates++
		}
	}
	low := counts[here] + mates
	for _, c := range counts {
		low = min(low, c)
	}
	if len(counts) < int(s.MinDomains) {
		low = 0
	}
	self := 0
	if s.Selector.Matches(p.Labels) {
		self = 1
	}
	return counts[here]+mates+self-low <= int(s.MaxSkew)
}

// total counts the bound pods that the term picks.
func (b *board) total(t *model.PodTerm) int {
	n := 0
	for _, ns := range t.Namespaces {
		for _, c := range b.count(ns, t.Key, t.Selector) {
			n += c
		}
	}
	return n
}

// joins reports whether a pod that the term picks runs where the node is, or none runs anywhere and the pod is the first of its kind.
func (b *board) joins(p *model.Pod, n *model.Node, t *model.PodTerm) bool {
	here, ok := n.Labels[t.Key]
	if !ok {
		return false
	}
	for _, ns := range t.Namespaces {
		if b.count(ns, t.Key, t.Selector)[here] > 0 {
			return true
		}
	}
	return b.total(t) == 0 && slices.Contains(t.Namespaces, p.Namespace) && t.Selector.Matches(p.Labels)
}
