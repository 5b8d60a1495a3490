package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// mount is a volume that several pods use. A machine attaches it once, however many of them it has.
type mount struct {
	id     string
	column int // of vec
}

// mounts notes what the group's pods share with others. Pods of one group share the same volumes, since these tell classes apart.
func (g *group) mounts(d dims, shared map[string]bool) {
	g.lean = g.size
	for _, v := range g.first().Volumes {
		at := slices.Index(d, attachPrefix+v.Driver)
		if at < 0 || !shared[v.ID] {
			continue
		}
		if g.shared == nil {
			g.lean = g.size.clone()
		}
		g.shared = append(g.shared, mount{v.ID, at})
		g.lean[at]--
	}
}

// attachSize adds the pod's volumes to its size.
func (d dims) attachSize(size vec, p *model.Pod) {
	for _, v := range p.Volumes {
		if i := slices.Index(d, attachPrefix+v.Driver); i >= 0 {
			size[i]++
		}
	}
}

// holds returns how many more pods of the group fit on the slot; at most most.
func (s *slot) holds(g *group, most int) int {
	if len(g.shared) == 0 {
		return s.free.times(g.size, most)
	}
	free := s.free.clone()
	for _, m := range g.shared {
		if s.volumes[m.id] == 0 {
			free[m.column]--
		}
	}
	return free.times(g.lean, most)
}

// reserve takes room for n pods of the group from a slot; negative n gives it back.
func (d *decision) reserve(g *group, slot int32, n int) {
	s := d.slots[slot]
	d.undo.free(slot, s.free)
	s.free.take(g.lean, n)
	for _, m := range g.shared {
		had := s.volumes[m.id]
		if s.volumes == nil {
			s.volumes = map[string]int{}
		}
		s.volumes[m.id] += n
		d.undo.mounted(slot, m.id, n)
		switch {
		case had == 0:
			s.free[m.column]--
		case s.volumes[m.id] == 0:
			s.free[m.column]++
		}
	}
	d.rooms.set(int(slot), s.free)
}

// draft packs. Sizes add up, which volumes that pods share do not: packing first leaves these out and looks whether machines attach
// them all the same, then counts them once on every machine, and, where that does not do, once per pod.
func (p *packer) draft(want []int, groups []*group) *draft {
	most := make(vec, len(p.choices[0].room))
	for _, g := range groups {
		more := g.size.clone()
		more.take(g.lean, 1)
		for i, n := range more {
			most[i] = max(most[i], n)
		}
	}
	if !slices.ContainsFunc(most, func(n int64) bool { return n > 0 }) {
		return p.pack(want)
	}
	full, choices := p.sizes, p.choices
	p.sizes = nil
	for _, g := range groups {
		p.sizes = append(p.sizes, g.lean)
	}
	best := p.pack(want)
	if !p.attaches(best, groups, choices) {
		p.choices = slices.Clone(choices)
		for i := range p.choices {
			p.choices[i].room = p.choices[i].room.clone()
			p.choices[i].room.take(most, 1)
		}
		best = p.pack(want)
		sound := p.attaches(best, groups, choices)
		p.sizes, p.choices = full, choices
		if d := p.pack(want); !sound || d.better(best) {
			best = d
		}
	}
	p.sizes, p.choices = full, choices
	return best
}

// attaches reports whether all machines of a draft bear their volumes, those that pods share counted once.
func (p *packer) attaches(d *draft, groups []*group, choices []choice) bool {
	return !slices.ContainsFunc(d.bins, func(b bin) bool { return !choices[b.choice].room.covers(needs(b, groups)) })
}

// needs is what the pods of a machine need together.
func needs(b bin, groups []*group) vec {
	out := make(vec, len(groups[0].size))
	addNeeds(out, b, groups)
	return out
}

// addNeeds adds what the pods of a machine need together.
func addNeeds(out vec, b bin, groups []*group) {
	var seen []string
	for _, l := range b.loads {
		g := groups[l.group]
		out.take(g.lean, -l.n)
		for _, m := range g.shared {
			if !slices.Contains(seen, m.id) {
				seen = append(seen, m.id)
				out[m.column]++
			}
		}
	}
}
