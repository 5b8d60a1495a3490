package audit

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// play is one way that machines may turn out, and pods being bound to them one by one.
type play struct {
	t      *tallies
	faces  []*face // by machine; nil when the machine is gone
	worlds map[string]*domains
	states []*state // by tally
	again  []parked // where waiting pods may go on, since the least of a spread rose or a neighbour came
}

type parked struct {
	x *tally
	d int
}

// domains is the values of one label over the machines.
type domains struct {
	names []string
	at    []int  // by machine; -1 = the machine has no such label
	in    []bool // by machine: it counts
	live  []int  // domains in which some machine counts
}

// state is a tally's numbers at some moment.
type state struct {
	over    []*domains // by term
	count   [][]int    // by term and domain
	ending  [][]int    // the same, of pods that end
	total   int
	owners  []int // by domain, for anti-affinity
	least   int   // of the live domains
	atLeast int   // how many of them have only that many
	waiting map[int][]*unit
}

// play binds everything, in the first of a few orders that gets to the end, and reports what then is wrong.
func (t *tallies) play(pick []int, gone bool) []Finding {
	var first []Finding
	orders := fewOrders
	if len(t.units) <= fewUnits {
		orders = manyOrders
	}
	for order := range orders {
		p := t.begin(pick, gone)
		bad := p.bindAll(order)
		if bad = append(bad, p.refused()...); len(bad) == 0 {
			return nil
		}
		if order == 0 {
			first = bad
		}
	}
	if t.inPasses(pick, gone) || len(t.units) <= fewUnits && t.inSteps(pick, gone) {
		return nil
	}
	return first
}

func (t *tallies) begin(pick []int, gone bool) *play {
	p := &play{t: t, worlds: map[string]*domains{}}
	for i, m := range t.a.machines {
		if gone && m.leaving {
			p.faces = append(p.faces, nil)
			continue
		}
		p.faces = append(p.faces, m.faces[pick[i]])
	}
	for _, x := range t.list {
		s := &state{waiting: map[int][]*unit{}}
		for _, term := range x.terms {
			d := p.domains(x, term.Key)
			s.over, s.count = append(s.over, d), append(s.count, make([]int, len(d.names)))
			s.ending = append(s.ending, make([]int, len(d.names)))
			for _, e := range x.ending {
				if at := d.at[e.machine]; at >= 0 {
					s.ending[len(s.ending)-1][at]++
				}
			}
		}
		s.owners = make([]int, len(s.over[0].names))
		for _, o := range x.owners {
			if d := s.over[0].at[o.machine]; d >= 0 {
				s.owners[d]++
			}
		}
		for _, w := range x.there {
			s.add(w.machine)
		}
		p.states = append(p.states, s)
	}
	p.bindDaemons()
	for _, s := range p.states {
		s.settle()
	}
	for _, u := range t.units {
		u.left = len(u.pods)
	}
	return p
}

// bindDaemons puts the daemons of machines that are to come onto them, ahead of everybody.
func (p *play) bindDaemons() {
	for i, f := range p.faces {
		if f == nil {
			continue
		}
		for _, d := range f.crew {
			k := p.t.crew[d]
			for _, x := range k.counted {
				p.states[x.id].add(i)
			}
			for _, x := range k.shuns {
				if at := p.states[x.id].over[0].at[i]; at >= 0 {
					p.states[x.id].owners[at]++
				}
			}
		}
	}
}

// domains sorts the machines by a label. For spread, machines count that have all labels of the pod's constraints and
// that the policies do not leave out.
func (p *play) domains(x *tally, key string) *domains {
	text := canonical(key)
	if x.rule == Spread {
		text += " " + x.nodes
	}
	if d := p.worlds[text]; d != nil {
		return d
	}
	d := &domains{at: make([]int, len(p.faces)), in: make([]bool, len(p.faces))}
	p.worlds[text] = d
	index, alive := map[string]int{}, map[int]bool{}
	for i, f := range p.faces {
		d.at[i] = -1
		if f == nil {
			continue
		}
		m := p.t.a.machines[i]
		v, ok := f.domain(key, m)
		if !ok {
			continue
		}
		if _, seen := index[v]; !seen {
			index[v] = len(d.names)
			d.names = append(d.names, v)
		}
		d.at[i] = index[v]
		d.in[i] = x.rule != Spread || p.eligible(x, f, m)
		if d.in[i] && !alive[d.at[i]] {
			alive[d.at[i]] = true
			d.live = append(d.live, d.at[i])
		}
	}
	return d
}

func (p *play) eligible(x *tally, f *face, m *machine) bool {
	for _, k := range x.all {
		if _, ok := f.domain(k, m); !ok {
			return false
		}
	}
	return (!x.spread.HonorAffinity || p.t.a.accepts(x.owner, f)) && (!x.spread.HonorTaints || len(untolerated(f.taints, x.owner)) == 0)
}

// add counts one pod on a machine, and reports whether that lifted the least.
func (s *state) add(machine int) (rose bool) {
	for i, d := range s.over {
		at := d.at[machine]
		if at < 0 || !d.in[machine] {
			continue
		}
		s.total++
		s.count[i][at]++
		if s.count[i][at] == s.least+1 && i == 0 && s.atLeast > 0 {
			if s.atLeast--; s.atLeast == 0 {
				s.settle()
				rose = true
			}
		}
	}
	return rose
}

// settle finds the least anew.
func (s *state) settle() {
	s.least, s.atLeast = 0, 0
	for i, d := range s.over[0].live {
		switch n := s.count[0][d]; {
		case i == 0 || n < s.least:
			s.least, s.atLeast = n, 1
		case n == s.least:
			s.atLeast++
		}
	}
}

// floor is the least as one constraint sees it: nothing, while there are fewer domains than it wants.
func (s *state) floor(c model.Spread) int {
	if int32(len(s.over[0].live)) < c.MinDomains {
		return 0
	}
	return s.least
}

// bindAll binds pods with something to ask as soon as they may, the others when that helps somebody or at the end.
func (p *play) bindAll(order int) []Finding {
	var asking, free []*unit
	for _, u := range p.t.units {
		if len(u.kin.spreads) > 0 || u.kin.looks != nil {
			asking = append(asking, u)
		} else if len(u.kin.counted)+len(u.kin.shuns) > 0 {
			free = append(free, u)
		}
	}
	looking := func(u *unit) int { return len(u.kin.pod.PodAffinity) }
	switch order {
	case 0:
	case 1: // whoever looks for its own kind may have to be the first of it
		slices.SortStableFunc(asking, func(x, y *unit) int { return looking(y) - looking(x) })
	case 2:
		slices.Reverse(asking)
	case 3: // the most bound first
		slices.SortStableFunc(asking, func(x, y *unit) int { return len(y.kin.spreads) - len(x.kin.spreads) })
	case 4: // whoever looks for nobody first
		slices.SortStableFunc(asking, func(x, y *unit) int { return looking(x) - looking(y) })
	default: // any other
		dice := uint64(order)
		shuffle(asking, &dice)
	}
	// Who is not counted for any spread is in nobody's way, and best bound before others raise the numbers.
	slices.SortStableFunc(asking, func(x, y *unit) int { return x.stands(order) - y.stands(order) })
	for _, u := range asking {
		p.advance(u)
		p.goOn()
	}
	for p.help(free) {
		p.goOn()
	}
	var out []Finding
	for _, u := range asking {
		if u.left > 0 {
			out = append(out, p.stuck(u))
		}
		u.left = 0
	}
	for _, u := range free {
		for ; u.left > 0; u.left-- {
			p.bind(u)
		}
	}
	return out
}

// stands says how much a unit stands in the way of others: not at all when no spread counts it; 1 when some does, or only spreads of its own, so
// that it goes up level by level; 2 when it raises the numbers of others at any time. The rule differs from order to order: the
// first makes no difference between 1 and 2, one lets those come first who look for their own like, and may have to be the first of it.
func (u *unit) stands(order int) int {
	if order%3 == 1 && u.kin.looks != nil && slices.Contains(u.kin.counted, u.kin.looks) {
		return 0
	}
	out := 0
	for _, x := range u.kin.counted {
		if x.rule != Spread {
			continue
		}
		if out = max(out, 1); order%3 > 0 && !slices.Contains(u.kin.spreads, x) {
			return 2
		}
	}
	return out
}

// advance binds what it can of a unit, and reports where it then waits.
func (p *play) advance(u *unit) (at parked, waits bool) {
	for u.left > 0 {
		if at, waits = p.blocked(u); waits {
			p.states[at.x.id].waiting[at.d] = append(p.states[at.x.id].waiting[at.d], u)
			return at, true
		}
		u.left--
		p.bind(u)
	}
	return parked{}, false
}

// goOn lets waiting pods try again. Where a spread rule stops one of them, the others who wait there are no better off.
func (p *play) goOn() {
	for len(p.again) > 0 {
		here := p.again[0]
		p.again = p.again[1:]
		s := p.states[here.x.id]
		list := s.waiting[here.d]
		delete(s.waiting, here.d)
		for i, u := range list {
			if at, waits := p.advance(u); waits && at == here && here.x.rule == Spread {
				s.waiting[here.d] = append(s.waiting[here.d], list[i+1:]...)
				break
			}
		}
	}
}

// blocked reports whether the next pod of a unit would be refused now, and by what.
func (p *play) blocked(u *unit) (parked, bool) {
	for i, x := range u.kin.spreads {
		s, limit := p.states[x.id], u.kin.limits[i]
		d := s.over[0].at[u.machine]
		if d < 0 {
			return parked{x, d}, true
		}
		self := 0
		if selects(limit.Selector, u.kin.pod.Labels) {
			self = 1
		}
		if s.count[0][d]+self-s.floor(limit) > int(limit.MaxSkew) {
			return parked{x, d}, true
		}
	}
	x := u.kin.looks
	if x == nil {
		return parked{}, false
	}
	s, all := p.states[x.id], true
	for i, d := range s.over {
		if d.at[u.machine] < 0 {
			return parked{x, -1}, true
		}
		all = all && s.count[i][d.at[u.machine]]+s.ending[i][d.at[u.machine]] > 0
	}
	// The first of a group that looks for its own kind may start anywhere.
	if all || s.total == 0 && slices.Contains(u.kin.counted, x) {
		return parked{}, false
	}
	return parked{x, s.over[0].at[u.machine]}, true
}

func (p *play) bind(u *unit) {
	for _, x := range u.kin.shuns {
		if d := p.states[x.id].over[0].at[u.machine]; d >= 0 {
			p.states[x.id].owners[d]++
		}
	}
	for _, x := range u.kin.counted {
		s := p.states[x.id]
		rose := s.add(u.machine)
		if len(s.waiting) == 0 || x.rule == AntiAffinity || x.rule == Spread && !rose {
			continue
		}
		for d := range s.over[0].names {
			if len(s.waiting[d]) > 0 {
				p.again = append(p.again, parked{x, d})
			}
		}
	}
}

// help binds one pod that asks for nothing where somebody waits for one like it.
func (p *play) help(free []*unit) bool {
	for _, u := range free {
		if u.left == 0 {
			continue
		}
		for _, x := range u.kin.counted {
			s := p.states[x.id]
			d := s.over[0].at[u.machine]
			if d < 0 || !s.over[0].in[u.machine] || len(s.waiting) == 0 {
				continue
			}
			if x.rule == Affinity && len(s.waiting[d]) > 0 || x.rule == Spread && s.count[0][d] == s.least && len(s.waiting[d]) == 0 {
				u.left--
				p.bind(u)
				return true
			}
		}
	}
	return false
}
