package place

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// podSelector picks pods: a selector within namespaces.
type podSelector struct {
	sel        *model.Selector
	namespaces []string
	nsSel      *model.Selector
}

func podSelectorOf(x model.PodTerm) podSelector {
	return podSelector{x.Selector, x.Namespaces, x.NamespaceSelector}
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

func appendPicker(b []byte, p podSelector) []byte {
	b = appendSelector(append(b, '['), p.sel)
	for _, n := range p.namespaces {
		b = append(append(b, '/'), n...)
	}
	b = append(b, '@')
	return append(appendSelector(b, p.nsSel), ']')
}

// namespaces are the labels of each, by name.
type namespaces map[string]map[string]string

func newNamespaces(w *model.World) namespaces {
	out := namespaces{}
	for _, n := range w.Namespaces {
		out[n.Name] = n.Labels
	}
	return out
}

// picks reports whether the selector picks pods of the namespace with these labels.
func (t namespaces) picks(p podSelector, ns string, labels map[string]string) bool {
	if !slices.Contains(p.namespaces, ns) && (p.nsSel == nil || !p.nsSel.Matches(t[ns])) {
		return false
	}
	return p.sel.Matches(labels)
}
