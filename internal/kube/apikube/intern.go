package apikube

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-aks/karpenter/model"
)

// InternLimit bounds each generation of each kind of thing that is kept for sharing. A cluster has a few thousand shapes of
// pods; beyond the limit, and what nobody asked for during a whole generation, is shared no more, which costs memory only.
const InternLimit = 1 << 16

// interner decodes pods so that those of one template share what the template says: a hundred thousand pods then cost
// little more than their names, and a template is decoded once. What it gives out is shared by many and never changed.
// The zero value is ready for use.
type interner struct {
	mu        sync.Mutex // guards the fields below
	key, own  keyWriter  // scratch; own is for a pod's labels
	words     shelf[string]
	labels    shelf[map[string]string]
	templates shelf[*model.Pod]
}

// shelf keeps things by key in two generations: when the young one is full, it becomes the old one, and the old one goes.
type shelf[T any] struct{ young, old map[string]T }

// get returns the thing of that key; when there is none, it is the one that fresh makes.
func (s *shelf[T]) get(key []byte, fresh func() T) T {
	if v, ok := s.young[string(key)]; ok {
		return v
	}
	v, ok := s.old[string(key)]
	if !ok {
		v = fresh()
	}
	if s.young == nil || len(s.young) >= InternLimit {
		s.old, s.young = s.young, map[string]T{}
	}
	s.young[string(key)] = v
	return v
}

// pod decodes a pod as decodePod does, and shares. What it returns is the caller's own, but for what is shared.
func (n *interner) pod(p *corev1.Pod) *model.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.key, n.own = n.key[:0], n.own[:0]
	n.own.pairs(p.Labels)
	n.key.shape(p, n.own)
	own := *n.templates.get(n.key, func() *model.Pod {
		shape := decodeShape(p)
		return &shape
	})
	out := &own
	identify(out, p)
	for _, s := range []*string{&out.Namespace, &out.Node, &out.Nominated, &out.DoNotDisrupt, &out.Revision, &out.Owner} {
		if *s != "" {
			*s = n.words.get(append(n.key[:0], *s...), func() string { return *s })
		}
	}
	if p.Labels != nil {
		out.Labels = n.labels.get(n.own, func() map[string]string { return maps.Clone(p.Labels) })
	}
	return out
}

// keyWriter makes a key out of what decodeShape reads: every text with its length, every list with its count and a mark
// for nil, so that pods for which decodeShape gives different answers have different keys.
type keyWriter []byte

// shape writes the key of a pod whose labels, written by pairs, are labels.
func (k *keyWriter) shape(p *corev1.Pod, labels []byte) {
	s := &p.Spec
	k.pairs(s.NodeSelector)
	k.flag(len(s.SchedulingGates) > 0)
	k.flag(len(s.ResourceClaims) > 0)
	k.optional(s.TerminationGracePeriodSeconds)
	k.flag(s.Priority != nil)
	if s.Priority != nil {
		k.number(int64(*s.Priority))
	}
	k.text(s.PriorityClassName)
	k.count(len(s.Tolerations), s.Tolerations == nil)
	for _, t := range s.Tolerations {
		k.text(t.Key)
		k.text(string(t.Operator))
		k.text(t.Value)
		k.text(string(t.Effect))
		k.optional(t.TolerationSeconds)
	}
	k.containers(s.InitContainers)
	k.containers(s.Containers)
	k.resources(s.Overhead)
	k.flag(s.Resources != nil)
	if s.Resources != nil {
		k.resources(s.Resources.Requests)
		k.resources(s.Resources.Limits)
	}
	k.status(&p.Status)
	k.neighbours(p, labels)
}

// containers writes the ports and requests.
func (k *keyWriter) containers(list []corev1.Container) {
	k.count(len(list), list == nil)
	for i := range list {
		c := &list[i]
		k.text(c.Name) // statuses are found by it
		k.flag(c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways)
		k.resources(c.Resources.Requests)
		k.resources(c.Resources.Limits)
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				k.text(p.HostIP)
				k.text(string(p.Protocol))
				k.number(int64(p.HostPort))
			}
		}
		k.number(0) // no port: the end
	}
}

// status writes what the pod was given so far, which counts while it is resized.
func (k *keyWriter) status(s *corev1.PodStatus) {
	k.resources(s.AllocatedResources)
	k.flag(s.Resources != nil)
	if s.Resources != nil {
		k.resources(s.Resources.Requests)
	}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.AllocatedResources == nil && c.Resources == nil {
				continue
			}
			k.text(c.Name)
			k.resources(c.AllocatedResources)
			k.flag(c.Resources != nil)
			if c.Resources != nil {
				k.resources(c.Resources.Requests)
			}
		}
		k.text("")
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == corev1.PodResizePending {
			k.text(c.Reason)
			k.text(string(c.Status))
		}
	}
	k.text("")
}

// neighbours writes spread and affinity in the API's own notation, and of the pod what they refer to.
func (k *keyWriter) neighbours(p *corev1.Pod, labels []byte) {
	own := false
	k.count(len(p.Spec.TopologySpreadConstraints), false)
	for i := range p.Spec.TopologySpreadConstraints {
		k.message(&p.Spec.TopologySpreadConstraints[i])
		own = own || len(p.Spec.TopologySpreadConstraints[i].MatchLabelKeys) > 0
	}
	k.flag(p.Spec.Affinity != nil)
	if p.Spec.Affinity != nil {
		k.message(p.Spec.Affinity)
		own = true
		k.text(p.Namespace)
	}
	k.flag(own)
	if own {
		*k = append(*k, labels...)
	}
}

// message writes a part of the API in its wire format, which sorts maps.
func (k *keyWriter) message(m interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}) {
	size := m.Size()
	k.number(int64(size))
	at := len(*k)
	*k = slices.Grow(*k, size)[:at+size]
	if n, err := m.MarshalToSizedBuffer((*k)[at:]); err != nil || n != size {
		panic("apikube: a part of a pod has no wire format") // it came over the wire, or was made by a test
	}
}

// resources writes amounts as tame leaves them.
func (k *keyWriter) resources(list corev1.ResourceList) {
	k.count(len(list), list == nil)
	left := len(list)
	for _, name := range usual {
		if left == 0 {
			return
		}
		if q, ok := list[name]; ok {
			k.amount(name, q)
			left--
		}
	}
	if left == 0 {
		return
	}
	var few [8]corev1.ResourceName // few pods ask for more: no allocation
	names := few[:0]
	for name := range list {
		if !slices.Contains(usual[:], name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		k.amount(name, list[name])
	}
}

// amount writes an amount exactly: whole, in thousandths where they are whole thousandths, as text otherwise.
func (k *keyWriter) amount(name corev1.ResourceName, q resource.Quantity) {
	k.text(string(name))
	q = tame(q)
	if v, ok := q.AsInt64(); ok {
		*k = append(*k, 'w')
		k.number(v)
		return
	}
	v := q.MilliValue()
	if q.Cmp(*resource.NewMilliQuantity(v, resource.DecimalSI)) == 0 {
		*k = append(*k, 'm')
		k.number(v)
		return
	}
	*k = append(*k, 't')
	k.text(q.String())
}

func (k *keyWriter) pairs(m map[string]string) {
	k.count(len(m), m == nil)
	if len(m) == 0 {
		return
	}
	var few [16]string // few pods have more labels: no allocation
	keys := few[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		k.text(key)
		k.text(m[key])
	}
}

func (k *keyWriter) text(s string) {
	*k = binary.AppendUvarint(*k, uint64(len(s)))
	*k = append(*k, s...)
}

func (k *keyWriter) number(v int64) { *k = binary.AppendVarint(*k, v) }

func (k *keyWriter) optional(v *int64) {
	k.flag(v != nil)
	if v != nil {
		k.number(*v)
	}
}

func (k *keyWriter) flag(b bool) {
	if b {
		*k = append(*k, 1)
	} else {
		*k = append(*k, 0)
	}
}

func (k *keyWriter) count(length int, isNil bool) {
	if isNil {
		*k = append(*k, 0)
		return
	}
	*k = binary.AppendUvarint(*k, uint64(length)+1)
}
