package audit

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// play is one way that machines may turn out, and pods being bound to them one by one.
type play struct {
	t      *tallies
	faces  []*face             // by machine; nil when the machine is gone
	gone   bool                // leaving machines are
	worlds map[string]*domains // those that hang on what is picked
	states []*state            // by tally
}

// parked is why a pod has to wait: a tally, and a domain of it.
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
	p := &play{t: t, gone: gone, worlds: map[string]*domains{}}
	for i, m := range t.a.machines {
		if gone && m.leaving {
			p.faces = append(p.faces, nil)
			continue
		}
		p.faces = append(p.faces, m.faces[pick[i]])
	}
	for _, x := range t.list {
		s := &state{}
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
	known := p.worlds
	if !p.gone && p.t.settled(x, key) {
		known = p.t.worlds
	}
	if known[text] == nil {
		known[text] = p.sorted(x, key)
	}
	return known[text]
}

func (p *play) sorted(x *tally, key string) *domains {
	d := &domains{at: make([]int, len(p.faces)), in: make([]bool, len(p.faces))}
	index := map[string]int{}
	if canonical(key) == model.LabelHostname {
		index = make(map[string]int, len(p.faces)) // one for each machine
	}
	var alive []bool
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
		at, seen := index[v]
		if !seen {
			at = len(d.names)
			index[v] = at
			d.names, alive = append(d.names, v), append(alive, false)
		}
		d.at[i] = at
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
		s, limit := p.states[x.id], u.kin.limits[i]
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
		p.states[x.id].add(u.machine)
	}
}
