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
// them all the same, then counts them once on every machine that is to have such pods, and, where that does not do, once per pod.
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
	full := p.sizes
	p.sizes = nil
	for _, g := range groups {
		p.sizes = append(p.sizes, g.lean)
	}
	best := p.pack(want)
	if !p.attaches(best, groups) {
		best = p.setAside(want, groups, most)
		sound := p.attaches(best, groups)
		p.sizes = full
		if d := p.pack(want); !sound || d.better(best) {
			best = d
		}
	}
	p.sizes = full
	return best
}

// setAside packs with every choice twice: with room for the most volumes that pods share set aside, and as it is, for pods that share none.
func (p *packer) setAside(want []int, groups []*group, most vec) *draft {
	q := *p
	q.lay, q.scratch, q.choices = nil, nil, make([]choice, 0, 2*len(p.choices))
	kinds := slices.Max(p.kind) + 1
	q.kind = slices.Clone(p.kind)
	for i, g := range groups {
		if len(g.shared) > 0 {
			q.kind[i] += kinds
		}
	}
	for _, c := range p.choices {
		for _, aside := range []bool{false, true} {
			x := c
			x.takes = newSet(2 * kinds)
			c.takes.each(func(k int) {
				if x.takes.add(k); aside {
					x.takes.add(k + kinds)
				}
			})
			if aside {
				x.room = c.room.clone()
				x.room.take(most, 1)
			}
			q.choices = append(q.choices, x)
		}
	}
	d := q.pack(want)
	p.steps, p.cut = q.steps, p.cut || q.cut
	for i := range d.bins {
		d.bins[i].choice /= 2
	}
	return d
}

// attaches reports whether all machines of a draft bear their volumes, those that pods share counted once.
func (p *packer) attaches(d *draft, groups []*group) bool {
	return !slices.ContainsFunc(d.bins, func(b bin) bool { return !p.choices[b.choice].room.covers(needs(b, groups)) })
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
