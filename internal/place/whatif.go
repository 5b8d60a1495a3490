package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// Picture is a world arranged for many questions of one kind: what if these nodes were not there? Building one costs about as much as
// Decide on all pods; a question costs about as much as the pods on the nodes, whatever the size of the cluster. Everything that a
// question changes is taken back before it is answered. It is not safe for use by several goroutines at once: give each its own.
type WhatIf struct {
	d      *decision
	on     map[string][]standing
	slotOf map[string]int32
}

// standing is pods of one group on one node.
type standing struct {
	g    *podClass
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
}

// NewPicture arranges the world. Input.Pods is not looked at: pods that wait are expected to be placed by Decide.
func NewWhatIf(in Input) *WhatIf {
	in.World = in.World.Indexed()
	d := &decision{in: in, standing: true}
	var pods []*model.Pod
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
	return p
}

// Without answers what happens when the nodes go, all at once. Like a decision the answer is proven pod by pod before it is given: who could not be
// bound is left. Pods that nothing places (daemons, pods that leave already) are
// not asked about. The limits of pools count the nodes as long as they are there.
func (p *WhatIf) Without(nodes ...string) Answer {
	d := p.d
	d.undo = &undo{d: d}
	d.plan, d.bundles, d.seats, d.made, d.over, d.gone = Plan{}, nil, nil, nil, nil, nil
	d.found = finder{}
	d.steps, d.most = d.in.limit(), cmp.Or(d.in.MaxOptions, DefaultMaxOptions)
	d.work, d.allowed = 0, d.in.limit()
	all, supply := d.classes, maps.Clone(d.supply)
	defer func() {
		d.supply = supply
		d.undo.rollback()
		d.classes, d.undo, d.buying = all, nil, nil
	}()
	d.classes = p.take(nodes)
	for _, s := range d.pools {
		if len(s.left) > 0 {
			left := s.left
			defer func() { s.left = left }()
			s.left = left.Clone() // what is scarce comes from supply
			for _, n := range nodes {
				if tab, ok := s.tabs[n]; ok {
					s.left.Take(tab, -1)
				}
			}
		}
	}
	d.seatAll()
	d.buying = d.purchaseGroups()
	d.buy()
	d.allowed = d.work + d.in.limit() // for proving
	d.stuck = d.prove()
	d.retract()
	out := Answer{Fits: d.plan.Existing, Buy: d.plan.NewClaims, Price: d.plan.Price}
	slices.SortFunc(out.Fits, func(a, b Nomination) int { return compareKeys(a.Pod, b.Pod) })
	for _, g := range append(slices.Clone(d.classes), d.buying...) {
		for _, pod := range g.pods[g.next+g.asked:] {
			out.Left = append(out.Left, pod.Key())
		}
	}
	for _, o := range d.over {
		out.Left = append(out.Left, o.pod.Key())
	}
	slices.SortFunc(out.Left, compareKeys)
	return out
}

// take closes the nodes and takes their pods off, as groups to be seated.
func (p *WhatIf) take(nodes []string) []*podClass {
	d := p.d
	byGroup := map[*podClass]*podClass{}
	var out []*podClass
	for _, name := range nodes {
		if slot, ok := p.slotOf[name]; ok {
			s := d.existing[slot]
			d.undo.free(slot, s.free)
			for i := range s.free {
				s.free[i] = -1
			}
			d.rooms.set(int(slot), s.free)
		}
		spot, ok := d.topo.spotOf[name]
		if !ok {
			continue
		}
		d.gone = append(d.gone, spot)
		for _, st := range p.on[name] {
			if st.g.tied() {
				d.count(st.g, site{doms: d.topo.spots[spot].doms, spot: spot}, -len(st.pods))
			}
			g := byGroup[st.g]
			if g == nil {
				c := *st.g
				g = &c
				g.pods = nil
				byGroup[st.g] = g
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
	slices.SortFunc(out, func(a, b *podClass) int { return cmp.Compare(a.rank, b.rank) })
	return out
}

// undo remembers what a question changed. A nil *undo remembers nothing.
type undo struct {
	d      *decision
	frees  []oldFree
	counts []oldCount
	lims   []oldLim
	// light is set when only counts are ever taken back, those from marked on.
	light  bool
	marked int
	mounts []oldMount
}

type oldMount struct {
	slot int32
	id   string
	n    int
}

type oldFree struct {
	slot int32
	free vec.Vec
}

type oldCount struct {
	t      *counter
	dom, n int32
}

type oldLim struct {
	x   *term
	dom int32
	lim int32
	had bool
}

func (u *undo) free(slot int32, free vec.Vec) {
	if u != nil && !u.light {
		u.frees = append(u.frees, oldFree{slot, free.Clone()})
	}
}

// mounted notes that n pods more use a volume on an existing node.
func (u *undo) mounted(slot int32, id string, n int) {
	if u != nil {
		u.mounts = append(u.mounts, oldMount{slot, id, n})
	}
}

// add counts n pods in a domain.
func (u *undo) add(t *counter, dom, n int32) {
	t.add(dom, n)
	if u != nil {
		u.counts = append(u.counts, oldCount{t, dom, n})
	}
}

func (u *undo) lim(x *term, dom int32) {
	if u != nil && !u.light {
		old, had := x.lim[dom]
		u.lims = append(u.lims, oldLim{x, dom, old, had})
	}
}

// mark notes the counts as they are, for rewind.
func (u *undo) mark() { u.marked = len(u.counts) }

// rewind takes back the counts since the mark.
func (u *undo) rewind() {
	for _, c := range slices.Backward(u.counts[u.marked:]) {
		c.t.add(c.dom, -c.n)
	}
	u.counts = u.counts[:u.marked]
}

func (u *undo) rollback() {
	for _, f := range slices.Backward(u.frees) {
		copy(u.d.existing[f.slot].free, f.free)
		u.d.rooms.set(int(f.slot), f.free)
	}
	for _, m := range u.mounts {
		u.d.existing[m.slot].volumes[m.id] -= m.n
	}
	for _, c := range slices.Backward(u.counts) {
		c.t.add(c.dom, -c.n)
	}
	for _, l := range slices.Backward(u.lims) {
		delete(l.x.lim, l.dom)
		if l.had {
			l.x.lim[l.dom] = l.lim
		}
	}
}
