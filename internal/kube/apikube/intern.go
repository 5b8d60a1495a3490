package apikube

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"github.com/karpenter-aks/karpenter/model"
)

// InternLimit bounds each generation of each kind of thing that is kept for sharing. A cluster has a few thousand shapes of
// pods; beyond the limit, and what nobody asked for during a whole generation, is shared no more, which costs memory only.
const InternLimit = 1 << 16

// interner lets pods made from one template share what the template says, so that a hundred thousand pods cost little more
// than their names. What it gives out is shared by many and never changed.
type interner struct {
	mu     sync.Mutex // guards the fields below
	key    []byte     // scratch
	words  shelf[string]
	labels shelf[map[string]string]
	shapes shelf[shape]
}

// shape is what a pod has from its template.
type shape struct {
	selector     map[string]string
	extended     map[string]int64
	affinity     []model.Term
	tolerations  []model.Toleration
	spread       []model.Spread
	with, apart  []model.PodTerm
	prefers      []model.Preference
	ports        []model.HostPort
	needs        []model.Why
	volumeClaims []string
}

// shelf keeps things by key in two generations: when the young one is full, it becomes the old one, and the old one goes.
type shelf[T any] struct{ young, old map[string]T }

// get returns the thing of that key, which fresh is when there was none.
func (s *shelf[T]) get(key []byte, fresh T) T {
	if v, ok := s.young[string(key)]; ok {
		return v
	}
	if v, ok := s.old[string(key)]; ok {
		fresh = v
	}
	if s.young == nil || len(s.young) >= InternLimit {
		s.old, s.young = s.young, map[string]T{}
	}
	s.young[string(key)] = fresh
	return fresh
}

// pod replaces what the pod shares with others by the shared thing. O(size of the pod).
func (n *interner) pod(p model.Pod) model.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range []*string{&p.Namespace, &p.Node, &p.Nominated, &p.DoNotDisrupt} {
		if *s != "" {
			n.key = append(n.key[:0], *s...)
			*s = n.words.get(n.key, *s)
		}
	}
	if p.Labels != nil {
		n.key = n.key[:0]
		n.pairs(p.Labels)
		p.Labels = n.labels.get(n.key, p.Labels)
	}
	n.key = n.key[:0]
	n.shape(&p)
	s := n.shapes.get(n.key, shape{
		p.NodeSelector, p.Requests.Extended, p.Affinity, p.Tolerations, p.Spread, p.PodAffinity, p.PodAntiAffinity, p.Prefers,
		p.HostPorts, p.Needs, p.VolumeClaims,
	})
	p.NodeSelector, p.Requests.Extended, p.Affinity, p.Tolerations = s.selector, s.extended, s.affinity, s.tolerations
	p.Spread, p.PodAffinity, p.PodAntiAffinity, p.Prefers = s.spread, s.with, s.apart, s.prefers
	p.HostPorts, p.Needs, p.VolumeClaims = s.ports, s.needs, s.volumeClaims
	return p
}

// The writers below make a key out of values: every text with its length, every list with its count and a mark for nil, so
// that different values have different keys.

func (n *interner) shape(p *model.Pod) {
	n.pairs(p.NodeSelector)
	n.count(len(p.Requests.Extended), p.Requests.Extended == nil)
	for _, k := range slices.Sorted(maps.Keys(p.Requests.Extended)) {
		n.text(k)
		n.number(p.Requests.Extended[k])
	}
	n.count(len(p.Affinity), p.Affinity == nil)
	for _, t := range p.Affinity {
		n.requirements(t)
	}
	n.count(len(p.Tolerations), p.Tolerations == nil)
	for _, t := range p.Tolerations {
		n.text(t.Key)
		n.text(t.Op)
		n.text(t.Value)
		n.text(string(t.Effect))
		if n.flag(t.Seconds != nil); t.Seconds != nil {
			n.number(*t.Seconds)
		}
	}
	n.count(len(p.Spread), p.Spread == nil)
	for _, s := range p.Spread {
		n.text(s.Key)
		n.number(int64(s.MaxSkew))
		n.number(int64(s.MinDomains))
		n.flag(s.Hard)
		n.flag(s.HonorAffinity)
		n.flag(s.HonorTaints)
		n.selector(s.Selector)
	}
	n.podTerms(p.PodAffinity)
	n.podTerms(p.PodAntiAffinity)
	n.count(len(p.Prefers), p.Prefers == nil)
	for _, w := range p.Prefers {
		n.number(int64(w.Weight))
		n.flag(w.Anti)
		n.requirements(w.Node)
		if n.flag(w.Pod != nil); w.Pod != nil {
			n.podTerm(*w.Pod)
		}
	}
	n.count(len(p.HostPorts), p.HostPorts == nil)
	for _, h := range p.HostPorts {
		n.text(h.IP)
		n.text(h.Protocol)
		n.number(int64(h.Port))
	}
	n.count(len(p.Needs), p.Needs == nil)
	for _, w := range p.Needs {
		n.text(string(w))
	}
	n.texts(p.VolumeClaims)
}

func (n *interner) podTerms(list []model.PodTerm) {
	n.count(len(list), list == nil)
	for _, t := range list {
		n.podTerm(t)
	}
}

func (n *interner) podTerm(t model.PodTerm) {
	n.text(t.Key)
	n.selector(t.Selector)
	n.texts(t.Namespaces)
	n.selector(t.NamespaceSelector)
}

func (n *interner) selector(s *model.Selector) {
	if n.flag(s != nil); s != nil {
		n.requirements(s.Requirements)
	}
}

func (n *interner) requirements(list []model.Requirement) {
	n.count(len(list), list == nil)
	for _, r := range list {
		n.text(r.Key)
		n.text(string(r.Op))
		n.texts(r.Values)
		n.number(int64(r.MinValues))
	}
}

func (n *interner) pairs(m map[string]string) {
	n.count(len(m), m == nil)
	if len(m) == 0 {
		return
	}
	var few [16]string // most pods have fewer labels: no allocation
	keys := few[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		n.text(k)
		n.text(m[k])
	}
}

func (n *interner) texts(list []string) {
	n.count(len(list), list == nil)
	for _, s := range list {
		n.text(s)
	}
}

func (n *interner) text(s string) {
	n.key = binary.AppendUvarint(n.key, uint64(len(s)))
	n.key = append(n.key, s...)
}

func (n *interner) number(v int64) { n.key = binary.AppendVarint(n.key, v) }

func (n *interner) flag(b bool) {
	if b {
		n.key = append(n.key, 1)
	} else {
		n.key = append(n.key, 0)
	}
}

func (n *interner) count(length int, isNil bool) {
	if isNil {
		n.key = append(n.key, 0)
		return
	}
	n.key = binary.AppendUvarint(n.key, uint64(length)+1)
}
