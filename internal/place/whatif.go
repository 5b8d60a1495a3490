package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
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
	of map[*assign.Class]*assign.Class
	// was is what the last question found.
	was before
	// waits are the nodes and claims that waiting pods take room on.
	waits []answer.Nomination
}

// before is what a question changes beside what the journal knows.
type before struct {
	classes []*assign.Class
	supply  map[problem.Source]int64
	left    []oldLeft
}

type oldLeft struct {
	pool *problem.NodePool
	left vec.Vec
}

// standing is pods of one class on one node.
type standing struct {
	g    *assign.Class
	pods []*model.Pod
}

// Answer says where the pods of nodes go when the nodes go.
type Answer struct {
	// Fits are pods that fit on capacity that is paid for, Buy the machines to buy for the others, Left the pods without place.
	Fits []answer.Nomination
	Buy  []answer.NewClaim
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
	d := newDecision(in, false, problem.Choices{})
	d.Standing = true
	pods := pointers(in.Pods)
	for p := range in.World.Index.All().All() {
		if p.Node != "" && p.Reschedulable() {
			pods = append(pods, p)
		}
	}
	p := &WhatIf{d: d, on: map[string][]standing{}, slotOf: map[string]int32{}}
	d.arrange(pods)
	for i, s := range d.Existing {
		if s.Node != "" {
			p.slotOf[s.Node] = int32(i)
		}
	}
	for _, g := range d.Classes {
		at := map[string]int{}
		for _, pod := range g.Pods {
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
func (p *WhatIf) Awaited() []answer.Nomination { return p.waits }

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
	return p.bought && p.spreads() || p.spread && len(p.d.Made) > 0
}

// spreads reports whether the last answer moves pods that have to be spread over machines, each of which has some of them: an empty one more would
// change what kube-scheduler lets them do.
func (p *WhatIf) spreads() bool {
	return slices.ContainsFunc(p.d.Classes, func(g *assign.Class) bool {
		for i, r := range g.Spread {
			if r.Term.Key == topology.Host && (i >= len(g.Among) || p.d.Low(&g.Class, i) > 0) {
				return true
			}
		}
		return false
	})
}

// ask answers a question, and leaves everything as the answer has it until commit or rollback.
func (p *WhatIf) ask(nodes []string, buy bool) Answer {
	d := p.d
	d.Journal = &topology.Journal{Problem: &d.Problem}
	p.was = before{classes: d.Classes, supply: maps.Clone(d.Supply)}
	d.Exceeded = false
	d.Plan, d.Bundles, d.Seats, d.Made, d.Over, d.Gone = answer.Plan{}, nil, nil, nil, nil, slices.Clone(p.gone)
	d.Found, d.Buying = assign.Finder{}, nil
	d.Steps, d.Most = d.in.limit(), cmp.Or(d.in.MaxOptions, DefaultMaxOptions)
	d.Work, d.Allowed = 0, d.in.limit()
	d.Classes = p.take(nodes)
	for _, s := range d.Pools {
		if len(s.Left) > 0 {
			p.was.left = append(p.was.left, oldLeft{s, s.Left})
			s.Left = s.Left.Clone() // what is scarce comes from supply
			for _, n := range nodes {
				if tab, ok := s.Tabs[n]; ok {
					s.Left.Take(tab, -1)
				}
			}
		}
	}
	d.SeatAll()
	if buy {
		d.Buying = d.PurchaseGroups()
		d.Buy()
	}
	d.Allowed = d.Work + d.in.limit() // for proving
	d.Stuck = d.Prove()
	d.Retract()
	out := Answer{Fits: d.Plan.Existing, Buy: d.Plan.NewClaims, Price: d.Plan.Price}
	slices.SortFunc(out.Fits, func(a, b answer.Nomination) int { return answer.CompareKeys(a.Pod, b.Pod) })
	for _, g := range d.Classes {
		for _, pod := range g.Pods[g.Next+g.Asked:] {
			out.Left = append(out.Left, pod.Key())
		}
	}
	for _, x := range d.Buying {
		for _, pod := range x.Pods[x.Next:] {
			out.Left = append(out.Left, pod.Key())
		}
	}
	for _, o := range d.Over {
		out.Left = append(out.Left, o.Pod.Key())
	}
	slices.SortFunc(out.Left, answer.CompareKeys)
	return out
}

// rollback takes back what the last question changed.
func (p *WhatIf) rollback() {
	d := p.d
	d.Supply = p.was.supply
	for _, l := range p.was.left {
		l.pool.Left = l.left
	}
	d.Journal.Rollback()
	d.Classes, d.Journal, d.Buying = p.was.classes, nil, nil
}

// commit lets the last answer stand.
func (p *WhatIf) commit() {
	d := p.d
	p.gone = d.Gone
	p.bought, p.spread = p.bought || len(d.Made) > 0, p.spread || p.spreads()
	class := map[model.PodKey]standing{}
	for _, g := range d.Classes {
		for _, pod := range g.Pods {
			class[pod.Key()] = standing{p.of[g], []*model.Pod{pod}}
		}
	}
	for _, f := range d.Plan.Existing {
		if f.Node != "" {
			st := class[f.Pod]
			p.on[f.Node] = append(p.on[f.Node], st)
			for _, x := range st.g.Ports { // a proof does not count them
				x.Matched.Add(d.Topo.SpotOf[f.Node], 1)
			}
		}
	}
	// Machines that are bought have no place among the spots. They count in their zones; nobody else comes to the machines themselves.
	for _, x := range d.Topo.Terms {
		if x.Key == topology.Host && len(d.Made) > 0 {
			for _, c := range []*topology.Counter{&x.Matched, &x.Maybe, &x.Owners} {
				maps.DeleteFunc(c.N, func(dom, _ int32) bool { return int(dom) >= len(d.Topo.Spots) })
			}
		}
	}
	d.Classes, d.Journal, d.Buying = p.was.classes, nil, nil
}

// shut lets nobody onto the node.
func (p *WhatIf) shut(node string) {
	slot, ok := p.slotOf[node]
	if !ok {
		return
	}
	s := p.d.Existing[slot]
	p.d.Journal.Free(slot, s.Free)
	for i := range s.Free {
		s.Free[i] = -1
	}
	p.d.Rooms.Set(int(slot), s.Free)
}

// expect gives back the room that is held for pods of the node: they ask for it themselves.
func (p *WhatIf) expect(node string) {
	for _, a := range p.d.Movers {
		if s := p.d.Existing[a.Slot]; a.From == node && s.Free[0] >= 0 {
			p.d.Journal.Free(a.Slot, s.Free)
			s.Free.Take(a.Size, -1)
			p.d.Rooms.Set(int(a.Slot), s.Free)
		}
	}
}

// Close lets nobody onto the nodes, for all questions that follow. What is on them stays.
func (p *WhatIf) Close(nodes ...string) {
	for _, n := range nodes {
		p.shut(n)
	}
}

// take closes the nodes and takes their pods off, as classes to be seated.
func (p *WhatIf) take(nodes []string) []*assign.Class {
	d := p.d
	byGroup := map[*assign.Class]*assign.Class{}
	p.of = map[*assign.Class]*assign.Class{}
	var out []*assign.Class
	for _, name := range nodes {
		p.shut(name)
		p.expect(name)
		spot, ok := d.Topo.SpotOf[name]
		if !ok && name != nowhere {
			continue
		}
		if ok {
			d.Gone = append(d.Gone, spot)
		}
		for _, st := range p.on[name] {
			if ok && st.g.Tied() {
				d.Bind(&st.g.Class, topology.Site{Doms: d.Topo.Spots[spot].Doms, Spot: spot}, -len(st.pods))
			}
			g := byGroup[st.g]
			if g == nil {
				c := *st.g
				g = &c
				g.Pods = nil
				byGroup[st.g], p.of[g] = g, st.g
				out = append(out, g)
			}
			g.Pods = append(g.Pods, st.pods...)
		}
	}
	for _, g := range out {
		for _, r := range g.Spread {
			for _, spot := range d.Gone {
				if r.Term.Key == topology.Host && r.Term.Matched.At(spot) < topology.NoBound/2 {
					d.Journal.Add(&r.Term.Matched, spot, topology.NoBound/2) // it is no longer the emptiest
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *assign.Class) int { return cmp.Compare(a.Rank, b.Rank) })
	return out
}
