package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/model"
)

// steering chooses, for every machine that may be one of several offerings of one price, which of them is asked for first. Every option is sound,
// so it only matters to preferences and to risk: pods that would rather be spread get the domain that has the fewest of them, and spot
// machines the spot pool (size and zone) that has the fewest machines. Such a pool is taken back as a whole. On demand nothing
// but preferences is looked at. Cost: O(running pods + new claims × offerings of one price), once per plan.
type steering struct {
	d     *decision
	terms map[*topology.Term]bool // what soft spread counts
	pools map[model.OfferingKey]int
	zones map[string]int // spot machines
	lists map[turned][]answer.Option
}

// turned is a list of options with another one first.
type turned struct {
	list  *answer.Option
	first int
}

// steered is the plan, of each machine the option first that is to be asked for first.
func (d *decision) steered() answer.Plan {
	d.steer()
	d.Plan.Order = d.Order()
	return d.Plan
}

func (d *decision) steer() {
	s := &steering{d: d, terms: map[*topology.Term]bool{}, pools: map[model.OfferingKey]int{}, zones: map[string]int{}, lists: map[turned][]answer.Option{}}
	open, any := make([]bool, len(d.Plan.NewClaims)), false
	for i := range d.Plan.NewClaims {
		b := &d.Plan.NewClaims[i]
		soft := d.in.Preferences != Ignore && s.soft(&d.Made[i])
		open[i] = alternatives(b.Options) > 1 && (soft || b.Options[0].Key.CapacityType == model.Spot)
		any = any || open[i]
	}
	if !any {
		return
	}
	s.look()
	for i, b := range d.Plan.NewClaims {
		if !open[i] {
			s.note(i, b.Options[0].Key)
		}
	}
	for i := range d.Plan.NewClaims {
		b := &d.Plan.NewClaims[i]
		if !open[i] {
			continue
		}
		best := s.best(i, b.Options[:alternatives(b.Options)])
		d.Plan.Price += b.Options[best].Price - b.Options[0].Price
		b.Options, b.Chosen = s.reordered(b.Options, best), true
		s.note(i, b.Options[0].Key)
	}
}

// alternatives counts the options at the head that cost what the first costs and are sold in the same way.
func alternatives(list []answer.Option) int {
	n := 0
	for n < len(list) && offer.SamePrice(list[n].Price, list[0].Price) && list[n].Key.CapacityType == list[0].Key.CapacityType &&
		offerings.OutsideZones(list[n].Key.Zone) == offerings.OutsideZones(list[0].Key.Zone) {
		n++
	}
	return n
}

// soft interns what pods of the machine would rather be spread by, and reports whether there is anything.
func (s *steering) soft(m *offer.Made) bool {
	t, any := s.d.Topo, false
	for _, l := range m.Loads {
		p := l.Class.First()
		for _, c := range p.Spread {
			if k := t.Key(c.Key); !c.Hard && l.N > 0 && k != topology.Host {
				s.terms[t.Intern(k, []alike.PodSelector{{Sel: c.Selector, Namespaces: []string{p.Namespace}}}, "steer")] = true
				any = true
			}
		}
	}
	return any
}

// look counts the machines and pods that are there.
func (s *steering) look() {
	d := s.d
	w := &d.World
	for i := range w.Nodes {
		s.machine(w.Nodes[i].Labels)
	}
	for i := range d.World.Claims {
		if c := &d.World.Claims[i]; c.NodeName == "" && !c.Deleting() {
			s.machine(c.Labels)
		}
	}
	if len(s.terms) == 0 {
		return
	}
	for kind := range w.Index.Kinds().All() {
		for _, x := range d.Topo.Matching(kind.Pod().Namespace, kind.Pod().Labels) {
			if !s.terms[x] {
				continue
			}
			for p := range kind.Pods.All() {
				n := w.Index.Node(p.Node)
				if n == nil || p.Deleting() || d.Placing[p.Key()] {
					continue
				}
				if v, ok := n.Labels[d.Topo.Keys[x.Key]]; ok {
					x.Matched.Add(d.Topo.Dom(x.Key, v), 1)
				}
			}
		}
	}
	for _, seat := range d.Seats {
		if seat.Slot >= 0 {
			s.pods(seat.Class, seat.N, func(key int) int32 { return d.Topo.Spots[d.Existing[seat.Slot].Spot].Doms[key] })
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
func (s *steering) pods(g *assign.Class, n int, dom func(key int) int32) {
	if len(s.terms) == 0 || n == 0 {
		return
	}
	for _, x := range s.d.Topo.Matching(g.First().Namespace, g.First().Labels) {
		if s.terms[x] {
			x.Matched.Add(dom(x.Key), int32(n))
		}
	}
}

// note counts a machine of the plan with its pods, as if it was bought as the offering.
func (s *steering) note(i int, k model.OfferingKey) {
	if k.CapacityType == model.Spot {
		s.pools[k]++
		s.zones[k.Zone]++
	}
	for _, l := range s.d.Made[i].Loads {
		s.pods(l.Class, l.N, func(key int) int32 { return s.domain(i, key, k) })
	}
}

// domain is where the machine would be if it was bought as the offering.
func (s *steering) domain(i, key int, k model.OfferingKey) int32 {
	t := s.d.Topo
	switch name := t.Keys[key]; name {
	case model.LabelZone:
		return t.Dom(key, k.Zone)
	case model.LabelInstanceType:
		return t.Dom(key, k.Type)
	case model.LabelCapacityType:
		return t.Dom(key, k.CapacityType)
	}
	return topology.Unknown
}

// best returns the option that is asked for first.
func (s *steering) best(i int, list []answer.Option) int {
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
	t, n := s.d.Topo, 0
	for _, l := range s.d.Made[i].Loads {
		p := l.Class.First()
		for _, c := range p.Spread {
			if key := t.Key(c.Key); !c.Hard && key != topology.Host && l.N > 0 {
				x := t.Intern(key, []alike.PodSelector{{Sel: c.Selector, Namespaces: []string{p.Namespace}}}, "steer")
				n += l.N * int(x.Matched.At(s.domain(i, key, k)))
			}
		}
	}
	return n
}

// reordered is the list with one option first. Machines that are alike go on sharing lists.
func (s *steering) reordered(list []answer.Option, first int) []answer.Option {
	if first == 0 {
		return list
	}
	at := turned{&list[0], first}
	if s.lists[at] == nil {
		s.lists[at] = slices.Concat(list[first:first+1], list[:first], list[first+1:])
	}
	return s.lists[at]
}
