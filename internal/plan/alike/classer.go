// Package alike answers: which pods are alike to scheduling, and which of them need a place?
//
// It writes what scheduling looks at in a pod, so that pods that read the same are the same, and lists the pods that wait.
package alike

import (
	"maps"
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/model"
)

// Classer writes what scheduling looks at in a pod, so that pods that read the same are the same. Lengths are written before
// texts, so that no two different pods write the same.
type Classer struct {
	// labels are the label keys that some selector asks about; others do not matter. With any, so does the namespace.
	labels []string
	// Shared are the volumes that more than one pod uses.
	Shared map[string]bool
}

// NewClasser looks at who asks about whom: the pods of the lists, and all of the picture.
func NewClasser(x *model.Index, lists ...[]*model.Pod) *Classer {
	keys := map[string]bool{}
	asked, any := x.AskedLabels()
	for key := range asked {
		keys[key] = true
	}
	k := &Classer{Shared: map[string]bool{}}
	users := map[string]model.PodKey{}
	for _, pods := range lists {
		for _, p := range pods {
			for key := range p.AskedLabels() {
				keys[key] = true
			}
			any = any || p.Asks()
			for _, v := range p.Volumes {
				others := func(o *model.Pod) bool { return o.Key() != p.Key() }
				old, ok := users[v.ID]
				if ok && old != p.Key() || slices.ContainsFunc(x.VolumeUsers(v.ID), others) {
					k.Shared[v.ID] = true
				}
				users[v.ID] = p.Key()
			}
		}
	}
	if k.labels = slices.Sorted(maps.Keys(keys)); k.labels == nil && any {
		k.labels = []string{}
	}
	return k
}

// AppendAmounts writes how much the pod needs and how important it is, AppendTraits everything else.
func AppendAmounts(b []byte, p *model.Pod) []byte {
	r := &p.Requests
	for _, n := range [...]int64{r.CPU, r.Memory, r.Ephemeral, r.Pods, int64(p.Priority)} {
		b = number(b, n)
	}
	if len(r.Extended) > 0 {
		for _, k := range slices.Sorted(maps.Keys(r.Extended)) {
			b = number(text(b, k), r.Extended[k])
		}
	}
	return append(b, '|')
}

// AppendTraits writes everything else.
func (k *Classer) AppendTraits(b []byte, p *model.Pod) []byte {
	b = appendPairs(b, p.NodeSelector)
	for _, t := range p.Affinity {
		b = appendRequirements(append(b, '/'), t)
	}
	b = append(b, '|')
	for _, t := range p.Tolerations {
		b = text(text(text(text(b, t.Key), t.Op), t.Value), string(t.Effect))
	}
	b = append(b, '|')
	for _, n := range p.Needs {
		b = text(b, string(n))
	}
	if k.labels != nil {
		b = text(append(b, '|'), p.Namespace)
		for i, key := range k.labels {
			if v, ok := p.Labels[key]; ok {
				b = text(number(b, int64(i)), v)
			}
		}
		b = appendTies(b, p)
	}
	for _, h := range p.HostPorts {
		b = number(text(text(append(b, 'p'), h.IP), h.Protocol), int64(h.Port))
	}
	for _, v := range p.Volumes {
		b = text(append(b, 'v'), v.Driver)
		if k.Shared[v.ID] {
			b = strconv.AppendBool(text(b, v.ID), v.OnePod)
		}
		for _, t := range v.Terms {
			b = appendRequirements(append(b, '/'), t)
		}
		for _, k := range v.Within {
			b = text(append(b, 'w'), k)
		}
	}
	return b
}

func text(b []byte, s string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...)
}

func number(b []byte, n int64) []byte { return append(strconv.AppendInt(b, n, 10), ' ') }

func appendPairs(b []byte, m map[string]string) []byte {
	if len(m) == 0 {
		return b
	}
	if len(m) == 1 {
		for k, v := range m {
			b = text(text(b, k), v)
		}
		return b
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = text(text(b, k), m[k])
	}
	return b
}

func appendRequirements(b []byte, list []model.Requirement) []byte {
	for _, q := range list {
		b = number(text(text(b, q.Key), string(q.Op)), int64(len(q.Values)))
		for _, v := range q.Values {
			b = text(b, v)
		}
	}
	return b
}

// appendTies writes what the pod asks of other pods.
func appendTies(b []byte, p *model.Pod) []byte {
	for _, c := range p.Spread {
		b = number(number(text(append(b, 's'), c.Key), int64(c.MaxSkew)), int64(c.MinDomains))
		for _, flag := range [...]bool{c.Hard, c.HonorAffinity, c.HonorTaints} {
			b = strconv.AppendBool(b, flag)
		}
		b = appendSelector(b, c.Selector)
	}
	for _, t := range p.PodAffinity {
		b = AppendPicker(text(append(b, 'n'), t.Key), PodSelectorOf(t))
	}
	for _, t := range p.PodAntiAffinity {
		b = AppendPicker(text(append(b, 'a'), t.Key), PodSelectorOf(t))
	}
	for _, w := range p.Prefers {
		b = strconv.AppendBool(number(append(b, 'w'), int64(w.Weight)), w.Anti)
		if w.Pod != nil {
			b = AppendPicker(text(b, w.Pod.Key), PodSelectorOf(*w.Pod))
			continue
		}
		b = appendRequirements(b, w.Node)
	}
	return b
}
