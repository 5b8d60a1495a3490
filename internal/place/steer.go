package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// steering chooses, for every machine that may be one of several offerings of one price, which of them is asked for first. Every option is sound,
// so it only matters to preferences and to risk: pods that would rather be spread get the domain that has the fewest of them, and spot
// machines the spot pool (size and zone) that has the fewest machines. Such a pool is taken back as a whole. On demand nothing
// but preferences is looked at. Cost: O(running pods + new claims × offerings of one price), once per plan.
type steering struct {
	d     *decision
	terms map[*term]bool // what soft spread counts
	pools map[model.OfferingKey]int
	zones map[string]int // spot machines
	lists map[turned][]Option
}

// turned is a list of options with another one first.
type turned struct {
	list  *Option
	first int
}

// steered is the plan, of each machine the option first that is to be asked for first.
func (d *decision) steered() Plan {
	d.steer()
	return d.plan
}

func (d *decision) steer() {
	s := &steering{d: d, terms: map[*term]bool{}, pools: map[model.OfferingKey]int{}, zones: map[string]int{}, lists: map[turned][]Option{}}
	open, any := make([]bool, len(d.plan.NewClaims)), false
	for i := range d.plan.NewClaims {
		b := &d.plan.NewClaims[i]
		soft := d.in.Preferences != Ignore && s.soft(&d.made[i])
		open[i] = alternatives(b.Options) > 1 && (soft || b.Options[0].Key.CapacityType == model.Spot)
		any = any || open[i]
	}
	if !any {
		return
	}
	s.look()
	for i, b := range d.plan.NewClaims {
		if !open[i] {
			s.note(i, b.Options[0].Key)
		}
	}
	for i := range d.plan.NewClaims {
		b := &d.plan.NewClaims[i]
		if !open[i] {
			continue
		}
		best := s.best(i, b.Options[:alternatives(b.Options)])
		d.plan.Price += b.Options[best].Price - b.Options[0].Price
		b.Options, b.Chosen = s.reordered(b.Options, best), true
		s.note(i, b.Options[0].Key)
	}
}

// alternatives counts the options at the head that cost what the first costs and are sold in the same way.
func alternatives(list []Option) int {
	n := 0
	for n < len(list) && samePrice(list[n].Price, list[0].Price) && list[n].Key.CapacityType == list[0].Key.CapacityType &&
		outsideZones(list[n].Key.Zone) == outsideZones(list[0].Key.Zone) {
		n++
	}
	return n
}

// soft interns what pods of the machine would rather be spread by, and reports whether there is anything.
func (s *steering) soft(m *made) bool {
	t, any := s.d.topo, false
	for _, l := range m.loads {
		p := l.g.first()
		for _, c := range p.Spread {
			if k := t.key(c.Key); !c.Hard && l.n > 0 && k != host {
				s.terms[t.intern(k, []podSelector{{sel: c.Selector, namespaces: []string{p.Namespace}}}, "steer")] = true
				any = true
			}
		}
	}
	return any
}

// look counts the machines and pods that are there.
func (s *steering) look() {
	d := s.d
	w := &d.world
	for i := range w.Nodes {
		s.machine(w.Nodes[i].Labels)
	}
	for i := range d.world.Claims {
		if c := &d.world.Claims[i]; c.NodeName == "" && !c.Deleting() {
			s.machine(c.Labels)
		}
	}
	if len(s.terms) == 0 {
		return
	}
	for kind := range w.Index.Kinds().All() {
		for _, x := range d.topo.matching(kind.Pod().Namespace, kind.Pod().Labels) {
			if !s.terms[x] {
				continue
			}
			for p := range kind.Pods.All() {
				n := w.Index.Node(p.Node)
				if n == nil || p.Deleting() || d.placing[p.Key()] {
					continue
				}
				if v, ok := n.Labels[d.topo.keys[x.key]]; ok {
					x.matched.add(d.topo.dom(x.key, v), 1)
				}
			}
		}
	}
	for _, seat := range d.seats {
		if seat.slot >= 0 {
			s.pods(seat.g, seat.n, func(key int) int32 { return d.topo.spots[d.existing[seat.slot].spot].doms[key] })
		}
	}
}

// machine counts a machine that is there, or on its way, if it is a spot machine.
func (s *steering) machine(labels map[string]string) {
	k := model.OfferingKey{Type: labels[model.LabelInstanceType], Zone: labels[model.LabelZone], CapacityType: labels[model.LabelCapacityType]}
	if k.CapacityType == model.Spot {
		s.pools[k]++
		s.zones[k.Zone]++
	}
}

// pods counts pods that were given a place.
func (s *steering) pods(g *seatClass, n int, dom func(key int) int32) {
	if len(s.terms) == 0 || n == 0 {
		return
	}
	for _, x := range s.d.topo.matching(g.first().Namespace, g.first().Labels) {
		if s.terms[x] {
			x.matched.add(dom(x.key), int32(n))
		}
	}
}

// note counts a machine of the plan with its pods, as if it was bought as the offering.
func (s *steering) note(i int, k model.OfferingKey) {
	if k.CapacityType == model.Spot {
		s.pools[k]++
		s.zones[k.Zone]++
	}
	for _, l := range s.d.made[i].loads {
		s.pods(l.g, l.n, func(key int) int32 { return s.domain(i, key, k) })
	}
}

// domain is where the machine would be if it was bought as the offering.
func (s *steering) domain(i, key int, k model.OfferingKey) int32 {
	t := s.d.topo
	switch name := t.keys[key]; name {
	case model.LabelZone:
		return t.dom(key, k.Zone)
	case model.LabelInstanceType:
		return t.dom(key, k.Type)
	case model.LabelCapacityType:
		return t.dom(key, k.CapacityType)
	}
	return unknown
}

// best returns the option that is asked for first.
func (s *steering) best(i int, list []Option) int {
	best, least := 0, [3]int{}
	for j, o := range list {
		score := [3]int{s.crowd(i, o.Key), 0, 0}
		if o.Key.CapacityType == model.Spot {
			score[1], score[2] = s.pools[o.Key], s.zones[o.Key.Zone]
		}
		if j == 0 || slices.Compare(score[:], least[:]) < 0 {
			best, least = j, score
		}
	}
	return best
}

// crowd is how many pods the machine's pods would meet there that they would rather be away from.
func (s *steering) crowd(i int, k model.OfferingKey) int {
	t, n := s.d.topo, 0
	for _, l := range s.d.made[i].loads {
		p := l.g.first()
		for _, c := range p.Spread {
			if key := t.key(c.Key); !c.Hard && key != host && l.n > 0 {
				x := t.intern(key, []podSelector{{sel: c.Selector, namespaces: []string{p.Namespace}}}, "steer")
				n += l.n * int(x.matched.at(s.domain(i, key, k)))
			}
		}
	}
	return n
}

// reordered is the list with one option first. Machines that are alike go on sharing lists.
func (s *steering) reordered(list []Option, first int) []Option {
	if first == 0 {
		return list
	}
	at := turned{&list[0], first}
	if s.lists[at] == nil {
		s.lists[at] = slices.Concat(list[first:first+1], list[:first], list[first+1:])
	}
	return s.lists[at]
}
