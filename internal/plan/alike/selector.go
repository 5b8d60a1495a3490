package alike

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// PodSelector picks pods: a selector within namespaces.
type PodSelector struct {
	Sel        *model.Selector
	Namespaces []string
	nsSel      *model.Selector
}

// PodSelectorOf is whom a term of pod affinity or anti-affinity picks.
func PodSelectorOf(x model.PodTerm) PodSelector {
	return PodSelector{x.Selector, x.Namespaces, x.NamespaceSelector}
}

func appendSelector(b []byte, s *model.Selector) []byte {
	if s == nil {
		return append(b, '-')
	}
	for _, r := range s.Requirements {
		b = binary.AppendUvarint(append(b, '&'), uint64(len(r.Key)))
		b = append(append(append(b, r.Key...), r.Op...), ':')
		for _, v := range r.Values {
			b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
		}
	}
	return b
}

// AppendPicker writes the selector so that no two different ones read the same.
func AppendPicker(b []byte, p PodSelector) []byte {
	b = appendSelector(append(b, '['), p.Sel)
	for _, n := range p.Namespaces {
		b = append(append(b, '/'), n...)
	}
	b = append(b, '@')
	return append(appendSelector(b, p.nsSel), ']')
}

// Namespaces are the labels of each, by name.
type Namespaces map[string]map[string]string

// NewNamespaces are those of the picture.
func NewNamespaces(w *model.World) Namespaces {
	out := Namespaces{}
	for _, n := range w.Namespaces {
		out[n.Name] = n.Labels
	}
	return out
}

// Picks reports whether the selector picks pods of the namespace with these labels.
func (t Namespaces) Picks(p PodSelector, ns string, labels map[string]string) bool {
	if !slices.Contains(p.Namespaces, ns) && (p.nsSel == nil || !p.nsSel.Matches(t[ns])) {
		return false
	}
	return p.Sel.Matches(labels)
}
