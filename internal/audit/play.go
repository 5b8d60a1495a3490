package audit

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// play is one way that machines may turn out, and pods being bound to them one by one.
type play struct {
	t      *tallies
	faces  []*face    // by machine; nil when the machine is gone
	gone   bool       // leaving machines are
	worlds []*domains // by split: those that hang on what is picked
	states []state    // by tally
	room   []int      // counters that nobody has yet
}

// parked is why a pod has to wait: a tally, and a domain of it.
type parked struct {
	x *tally
	d int
}

// domains is the values of one label over the machines.
type domains struct {
	names []string
	at    []int  // by machine; none = the machine has no such label
	in    []bool // by machine: it counts
	live  []int  // domains in which some machine counts
}

// state is a tally's numbers at some moment.
type state struct {
	over    []*domains // by term
	count   [][]int    // by term and domain
	ending  [][]int    // the same, of pods that end; empty where none do
	total   int
	owners  []int // by domain, for anti-affinity
	least   int   // of the live domains
	atLeast int   // how many of them have only that many
}

// play binds everything, in the first of a few orders that gets to the end, and reports what then is wrong.
func (t *tallies) play(pick []int, gone bool) []Finding {
	orders := fewOrders
	if len(t.units) <= fewUnits {
		orders = ordersForUnit * len(t.units)
	}
	var first []Finding
	for order := range orders {
		p := t.begin(pick, gone)
		var bad []Finding
		told := map[*unit]bool{}
		for _, u := range p.bindAll(t.queue(order)) {
			if !told[u] {
				bad = append(bad, p.stuck(u))
			}
			told[u] = true
		}
		refused := p.refused()
		if bad = append(bad, refused...); len(bad) == 0 {
			return nil
		}
		if order == 0 {
			first = bad
		}
		if len(refused) > 0 {
			break // no order mends that
		}
	}
	return first
}

func (t *tallies) begin(pick []int, gone bool) *play {
	p := &play{t: t, gone: gone, worlds: make([]*domains, len(t.worlds)), faces: make([]*face, len(t.a.machines)), states: t.states, room: t.room}
	clear(t.room)
	for i, m := range t.a.machines {
		if !gone || !m.leaving {
			p.faces[i] = m.form.faces[pick[i]]
		}
	}
	for i, x := range t.list {
		p.start(&p.states[i], x)
	}
	p.bindDaemons()
	for i := range p.states {
		p.states[i].settle()
	}
	return p
}

// start counts who is there already.
func (p *play) start(s *state, x *tally) {
	*s = state{over: s.over[:0], count: s.count[:0], ending: s.ending[:0]}
	for i := range x.terms {
		d := p.domains(x, i)
		s.over, s.count = append(s.over, d), append(s.count, p.zeros(len(d.names)))
	}
	for _, w := range x.there {
		s.add(w.machine)
	}
	if len(x.ending) > 0 {
		for _, d := range s.over {
			n := p.zeros(len(d.names))
			for _, e := range x.ending {
				if at := d.at[e.machine]; at >= 0 {
					n[at]++
				}
			}
			s.ending = append(s.ending, n)
		}
	}
	if x.rule != AntiAffinity {
		return
	}
	s.owners = p.zeros(len(s.over[0].names))
	for _, o := range x.owners {
		if d := s.over[0].at[o.machine]; d >= 0 {
			s.owners[d]++
		}
	}
}

// zeros takes so many of the counters.
func (p *play) zeros(n int) []int {
	out := p.room[:n:n]
	p.room = p.room[n:]
	return out
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

// domains sorts the machines by the label of a tally's term. For spread, machines count that have all labels of the pod's constraints
// and that the policies do not leave out.
func (p *play) domains(x *tally, term int) *domains {
	known, split := p.worlds, x.split[term]
	if !p.gone && p.t.settled(x, x.keys[term]) {
		known = p.t.worlds
	}
	if known[split] == nil {
		known[split] = p.sorted(x, x.keys[term])
	}
	return known[split]
}

func (p *play) sorted(x *tally, key int) *domains {
	d := &domains{names: p.t.names[key], at: make([]int, len(p.faces)), in: make([]bool, len(p.faces))}
	alive := make([]bool, len(d.names))
	for i, f := range p.faces {
		d.at[i] = none
		if f == nil {
			continue
		}
		m := p.t.a.machines[i]
		at := m.at(f, key)
		if at == none {
			continue
		}
		d.at[i] = at
		d.in[i] = x.rule != Spread || p.eligible(x, f, m)
		if d.in[i] && !alive[at] {
			alive[at] = true
			d.live = append(d.live, at)
		}
	}
	return d
}

func (p *play) eligible(x *tally, f *face, m *machine) bool {
	for _, k := range x.all {
		if m.at(f, k) == none {
			return false
		}
	}
	return (!x.spread.HonorAffinity || f.accepts(x.owner)) && (!x.spread.HonorTaints || len(untolerated(f.taints, x.owner.Pod)) == 0)
}

// add counts one pod on a machine.
func (s *state) add(machine int) {
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
			}
		}
	}
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

// bindAll binds one pod after the other, again and again those that had to wait, and returns the units of those that still do.
func (p *play) bindAll(queue []*unit) []*unit {
	queue = slices.Clone(queue)
	for bound := true; bound; {
		bound = false
		queue = slices.DeleteFunc(queue, func(u *unit) bool {
			if _, waits := p.blocked(u); waits {
				return false
			}
			p.bind(u)
			bound = true
			return true
		})
	}
	return queue
}

// blocked reports whether the next pod of a unit would be refused now, and by what.
func (p *play) blocked(u *unit) (parked, bool) {
	for i, x := range u.kin.spreads {
		s, limit := &p.states[x.id], u.kin.limits[i]
		d := s.over[0].at[u.machine]
		if d < 0 {
			return parked{x, d}, true
		}
		if s.count[0][d]+u.kin.self[i]-s.floor(limit) > int(limit.MaxSkew) {
			return parked{x, d}, true
		}
	}
	x := u.kin.looks
	if x == nil {
		return parked{}, false
	}
	s, all := &p.states[x.id], true
	for i, d := range s.over {
		if d.at[u.machine] < 0 {
			return parked{x, -1}, true
		}
		all = all && (s.count[i][d.at[u.machine]] > 0 || len(s.ending) > 0 && s.ending[i][d.at[u.machine]] > 0)
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
		p.states[x.id].add(u.machine)
	}
}
