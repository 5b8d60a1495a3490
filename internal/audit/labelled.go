package audit

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// What faces have of the labels that make domains is looked up once, and numbered: the ways in which things may turn out are many.

// Numbers that stand for no value of a label.
const (
	none    = -1 // there is no such label
	unknown = -2 // the name of a host that nobody knows yet: each machine has its own
)

// key is the number of a label that makes domains.
func (t *tallies) key(name string) int {
	name = canonical(name)
	if k := slices.Index(t.keys, name); k >= 0 {
		return k
	}
	t.keys = append(t.keys, name)
	return len(t.keys) - 1
}

// learn looks at the labels of all that machines may turn out to be.
func (t *tallies) learn() {
	t.names, t.numbers, t.sure = make([][]string, len(t.keys)), make([]map[string]int, len(t.keys)), make([]bool, len(t.keys))
	for k := range t.keys {
		t.numbers[k], t.sure[k] = map[string]int{}, true
	}
	host := slices.Index(t.keys, model.LabelHostname)
	for _, m := range t.a.machines {
		if m.form.values == nil {
			t.read(m.form)
		}
		for k := range t.keys {
			t.sure[k] = t.sure[k] && !m.form.open[k]
		}
		if host >= 0 && slices.ContainsFunc(m.form.values[host], func(x seen) bool { return x.value == unknown }) {
			m.host = len(t.names[host])
			t.names[host] = append(t.names[host], "the host of "+m.name)
		}
	}
}

// read notes what the labels of a form may be.
func (t *tallies) read(f *form) {
	f.values, f.open = make([][]seen, len(t.keys)), make([]bool, len(t.keys))
	for k := range t.keys {
		for i, g := range f.faces {
			v := t.labelled(g)[k]
			f.open[k] = f.open[k] || v != f.faces[0].values[k]
			if v != none && !slices.ContainsFunc(f.values[k], func(x seen) bool { return x.value == v }) {
				f.values[k] = append(f.values[k], seen{v, i})
			}
		}
		slices.SortFunc(f.values[k], func(x, y seen) int { return cmp.Compare(t.name(k, x.value), t.name(k, y.value)) })
	}
}

// name is the value of a label that has a number.
func (t *tallies) name(key, value int) string {
	if value < 0 {
		return ""
	}
	return t.names[key][value]
}

// labelled returns, by key, the number of a face's value.
func (t *tallies) labelled(f *face) []int {
	if f.values != nil {
		return f.values
	}
	f.values = make([]int, len(t.keys))
	for k, key := range t.keys {
		v, ok := f.labels[key]
		if choices := f.either[key]; !ok && len(choices) > 0 {
			v, ok = choices[0], true
		}
		switch {
		case ok:
			n, known := t.numbers[k][v]
			if !known {
				n = len(t.names[k])
				t.numbers[k][v], t.names[k] = n, append(t.names[k], v)
			}
			f.values[k] = n
		case key == model.LabelHostname:
			f.values[k] = unknown
		default:
			f.values[k] = none
		}
	}
	return f.values
}

// at is a machine's value of a label as far as pods' topology is concerned, when it shows that face.
func (m *machine) at(f *face, key int) int {
	if v := f.values[key]; v != unknown {
		return v
	}
	return m.host
}

// settled reports whether the domains of a tally's label are the same whatever is picked. For spread, so must be the other
// labels that a machine needs to count, and the pod must look at no more labels.
func (t *tallies) settled(x *tally, key int) bool {
	if !t.sure[key] || x.rule != Spread {
		return t.sure[key]
	}
	looks := x.spread.HonorAffinity && (len(x.owner.NodeSelector) > 0 || x.owner.Affinity != nil)
	return !looks && !slices.ContainsFunc(x.all, func(k int) bool { return !t.sure[k] })
}
