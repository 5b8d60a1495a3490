package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// WhatIf is a world arranged for many questions of one kind: what if these nodes were not there? Building one costs about as much as
// Decide on all pods; a question costs about as much as the pods on the nodes, whatever the size of the cluster. What a question changes
// is taken back before it is answered, unless its answer is to stand (Try). It is not safe for use by several goroutines at once: give
// each its own.
type WhatIf struct {
	d      *decision
	on     map[string][]standing
	slotOf map[string]int32
	// gone are the nodes, by spot, of answers that stand. bought is set when machines belong to these, spread when pods do that have to be
	// spread over machines.
	gone           []int32
	bought, spread bool
	// of are, per class of pods that the last question moves, the class that it was taken from.
	of map[*seatClass]*seatClass
	// was is what the last question found.
	was before
	// waits are the nodes and claims that waiting pods take room on.
	waits []Nomination
}

// before is what a question changes beside what the journal knows.
type before struct {
	classes []*seatClass
	supply  map[source]int64
	left    []oldLeft
}

type oldLeft struct {
	pool *nodePool
	left vec.Vec
}

// standing is pods of one group on one node.
type standing struct {
	g    *seatClass
	pods []*model.Pod
}

// Answer says where the pods of nodes go when the nodes go.
type Answer struct {
	// Fits are pods that fit on capacity that is paid for, Buy the machines to buy for the others, Left the pods without place.
	Fits []Nomination
	Buy  []NewClaim
	Left []model.PodKey
	// Price is the sum over Buy of each new claim's cheapest option.
	Price model.Price
	// Later is set when the answer holds only once those that stand are carried out (Try).
	Later bool
}

// NewWhatIf arranges the world. Input.Pods are pods that wait: those that fit on what is paid for take their places first, so that no answer
// counts on that room. What would be bought for the others is Decide's business.
func NewWhatIf(in Input) *WhatIf {
	in.World = in.World.Indexed()
	in.Without = append(slices.Clip(in.Without), columnGeneration)
	d := newDecision(in, false, choices{})
	d.standing = true
	pods := pointers(in.Pods)
	for p := range in.World.Index.All().All() {
		if p.Node != "" && p.Reschedulable() {
			pods = append(pods, p)
		}
	}
	p := &WhatIf{d: d, on: map[string][]standing{}, slotOf: map[string]int32{}}
	d.arrange(pods)
	for i, s := range d.existing {
		if s.node != "" {
			p.slotOf[s.node] = int32(i)
		}
	}
	for _, g := range d.classes {
		at := map[string]int{}
		for _, pod := range g.pods {
			list := p.on[pod.Node]
			i, ok := at[pod.Node]
			if !ok {
				i = len(list)
				at[pod.Node] = i
				list = append(list, standing{g: g})
			}
			list[i].pods = append(list[i].pods, pod)
			p.on[pod.Node] = list
		}
	}
	if len(p.on[nowhere]) > 0 {
		p.waits = p.ask([]string{nowhere}, false).Fits
		p.commit()
	}
	return p
}

// columnGeneration is left out of what-ifs: it costs ten times what all else does, and a cluster that is moved until nothing is worth moving any
// more costs the same with and without it (bench, TestAtRestAClusterCostsLittleMoreThanItMust).
const columnGeneration Mechanism = "column generation"

// nowhere is the name of the node on which waiting pods are.
const nowhere = ""

// Awaited lists where waiting pods fit: they take their places before anything is asked.
func (p *WhatIf) Awaited() []Nomination { return p.waits }

// Without answers what happens when the nodes go, all at once. Like a decision the answer is proven pod by pod before it is given: who could
// not be bound is left. Pods that nothing places (daemons, pods that leave already) are not asked about. The limits of pools count the nodes
// as long as they are there.
func (p *WhatIf) Without(nodes ...string) Answer {
	a := p.ask(nodes, true)
	p.rollback()
	return a
}

// Try asks the same, and lets the answer stand when worth says so: for all questions that follow the nodes are gone, their pods are where the
// answer has them, and what it buys is bought. An answer that leaves pods never stands, nor does one that comes too early (Answer.Later).
func (p *WhatIf) Try(nodes []string, worth func(Answer) bool) (a Answer, stands bool) {
	a = p.ask(nodes, true)
	a.Later = p.clashes()
	stands = len(a.Left) == 0 && !a.Later && worth(a)
	if stands {
		p.commit()
	} else {
		p.rollback()
	}
	return a, stands
}

// clashes reports whether the last answer has to wait for machines of answers that stand, or these for its own: who is spread over machines
// counts on those that there are when it moves.
func (p *WhatIf) clashes() bool {
	return p.bought && p.spreads() || p.spread && len(p.d.made) > 0
}

// spreads reports whether the last answer moves pods that have to be spread over machines, each of which has some of them: an empty one more would
// change what kube-scheduler lets them do.
func (p *WhatIf) spreads() bool {
	return slices.ContainsFunc(p.d.classes, func(g *seatClass) bool {
		for i, r := range g.spread {
			if r.term.key == host && (i >= len(g.among) || p.d.low(&g.tiedClass, i) > 0) {
				return true
			}
		}
		return false
	})
}

// ask answers a question, and leaves everything as the answer has it until commit or rollback.
func (p *WhatIf) ask(nodes []string, buy bool) Answer {
	d := p.d
	d.undo = &undo{d: &d.problem}
	p.was = before{classes: d.classes, supply: maps.Clone(d.supply)}
	d.exceeded = false
	d.plan, d.bundles, d.seats, d.made, d.over, d.gone = Plan{}, nil, nil, nil, nil, slices.Clone(p.gone)
	d.found, d.buying = finder{}, nil
	d.steps, d.most = d.in.limit(), cmp.Or(d.in.MaxOptions, DefaultMaxOptions)
	d.work, d.allowed = 0, d.in.limit()
	d.classes = p.take(nodes)
	for _, s := range d.pools {
		if len(s.left) > 0 {
			p.was.left = append(p.was.left, oldLeft{s, s.left})
			s.left = s.left.Clone() // what is scarce comes from supply
			for _, n := range nodes {
				if tab, ok := s.tabs[n]; ok {
					s.left.Take(tab, -1)
				}
			}
		}
	}
	d.seatAll()
	if buy {
		d.buying = d.purchaseGroups()
		d.buy()
	}
	d.allowed = d.work + d.in.limit() // for proving
	d.stuck = d.prove()
	d.retract()
	out := Answer{Fits: d.plan.Existing, Buy: d.plan.NewClaims, Price: d.plan.Price}
	slices.SortFunc(out.Fits, func(a, b Nomination) int { return compareKeys(a.Pod, b.Pod) })
	for _, g := range d.classes {
		for _, pod := range g.pods[g.next+g.asked:] {
			out.Left = append(out.Left, pod.Key())
		}
	}
	for _, x := range d.buying {
		for _, pod := range x.pods[x.next:] {
			out.Left = append(out.Left, pod.Key())
		}
	}
	for _, o := range d.over {
		out.Left = append(out.Left, o.pod.Key())
	}
	slices.SortFunc(out.Left, compareKeys)
	return out
}

// rollback takes back what the last question changed.
func (p *WhatIf) rollback() {
	d := p.d
	d.supply = p.was.supply
	for _, l := range p.was.left {
		l.pool.left = l.left
	}
	d.undo.rollback()
	d.classes, d.undo, d.buying = p.was.classes, nil, nil
}

// commit lets the last answer stand.
func (p *WhatIf) commit() {
	d := p.d
	p.gone = d.gone
	p.bought, p.spread = p.bought || len(d.made) > 0, p.spread || p.spreads()
	class := map[model.PodKey]standing{}
	for _, g := range d.classes {
		for _, pod := range g.pods {
			class[pod.Key()] = standing{p.of[g], []*model.Pod{pod}}
		}
	}
	for _, f := range d.plan.Existing {
		if f.Node != "" {
			st := class[f.Pod]
			p.on[f.Node] = append(p.on[f.Node], st)
			for _, x := range st.g.ports { // a proof does not count them
				x.matched.add(d.topo.spotOf[f.Node], 1)
			}
		}
	}
	// Machines that are bought have no place among the spots. They count in their zones; nobody else comes to the machines themselves.
	for _, x := range d.topo.terms {
		if x.key == host && len(d.made) > 0 {
			for _, c := range []*counter{&x.matched, &x.maybe, &x.owners} {
				maps.DeleteFunc(c.n, func(dom, _ int32) bool { return int(dom) >= len(d.topo.spots) })
			}
		}
	}
	d.classes, d.undo, d.buying = p.was.classes, nil, nil
}

// shut lets nobody onto the node.
func (p *WhatIf) shut(node string) {
	slot, ok := p.slotOf[node]
	if !ok {
		return
	}
	s := p.d.existing[slot]
	p.d.undo.free(slot, s.free)
	for i := range s.free {
		s.free[i] = -1
	}
	p.d.rooms.set(int(slot), s.free)
}

// expect gives back the room that is held for pods of the node: they ask for it themselves.
func (p *WhatIf) expect(node string) {
	for _, a := range p.d.movers {
		if s := p.d.existing[a.slot]; a.from == node && s.free[0] >= 0 {
			p.d.undo.free(a.slot, s.free)
			s.free.Take(a.size, -1)
			p.d.rooms.set(int(a.slot), s.free)
		}
	}
}

// Close lets nobody onto the nodes, for all questions that follow. What is on them stays.
func (p *WhatIf) Close(nodes ...string) {
	for _, n := range nodes {
		p.shut(n)
	}
}

// take closes the nodes and takes their pods off, as groups to be seated.
func (p *WhatIf) take(nodes []string) []*seatClass {
	d := p.d
	byGroup := map[*seatClass]*seatClass{}
	p.of = map[*seatClass]*seatClass{}
	var out []*seatClass
	for _, name := range nodes {
		p.shut(name)
		p.expect(name)
		spot, ok := d.topo.spotOf[name]
		if !ok && name != nowhere {
			continue
		}
		if ok {
			d.gone = append(d.gone, spot)
		}
		for _, st := range p.on[name] {
			if ok && st.g.tied() {
				d.count(&st.g.tiedClass, site{doms: d.topo.spots[spot].doms, spot: spot}, -len(st.pods))
			}
			g := byGroup[st.g]
			if g == nil {
				c := *st.g
				g = &c
				g.pods = nil
				byGroup[st.g], p.of[g] = g, st.g
				out = append(out, g)
			}
			g.pods = append(g.pods, st.pods...)
		}
	}
	for _, g := range out {
		for _, r := range g.spread {
			for _, spot := range d.gone {
				if r.term.key == host && r.term.matched.at(spot) < noBound/2 {
					d.undo.add(&r.term.matched, spot, noBound/2) // it is no longer the emptiest
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *seatClass) int { return cmp.Compare(a.rank, b.rank) })
	return out
}
