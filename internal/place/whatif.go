package place

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/held"
	"github.com/karpenter-aks/karpenter/internal/plan/leastprice"
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
	// gone are the nodes, by spot, of answers that stand, in their order; away are the same, sorted. lifted says, per term of a spread over machines,
	// for how many of gone it is lifted. bought is set when machines belong to these, spread when pods do that have to be spread over machines.
	gone, away     []int32
	lifted         map[*topology.Term]int
	bought, spread bool
	// of are, per class of pods that the last question moves, the class that it was taken from.
	of map[*assign.Class]*assign.Class
	// was is what the last question found.
	was before
	// waits are the nodes and claims that waiting pods take room on.
	waits []answer.Nomination
	// least says what machines for pods cost at least.
	least leastprice.Bound
	// asked are the nodes of the last question.
	asked []string
	// parts is in how many machines at most a question buys what it has to, 0 = as many as are cheapest.
	parts int
	// anchors are pods of the last question that look for each other, where they are (see held); loose lets them leave their zone together.
	anchors []held.Anchor
	loose   bool
	budgets held.Budgets
	// scatter is where pods would be if nobody told kube-scheduler where they were planned.
	scatter *scatter
	// late is what Late says.
	late *model.Pod
	// toil is what was done, but for scatter's looks.
	toil Toil
}

// Toil is what questions cost, counted: the same on every machine.
type Toil struct {
	// Questions were asked; one that is asked anew for pods that are spread over machines counts twice.
	Questions int
	// Work is questions whether a pod may be somewhere, and steps of packing and proving, as Input.Limit has them.
	Work int
	// Looks are places that were looked at for a pod by Certain, and for those that leave already.
	Looks int
}

// ToilOf is what all questions until now cost together.
func ToilOf(p *WhatIf) Toil {
	out := p.toil
	out.Looks = p.scatter.looks
	return out
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
	// AtLeast is set when the question had a price to keep, and machines for the pods cost at least so
	// much, which is more. Nothing else was looked at then, and nothing else is set.
	AtLeast model.Price
}

// anyPrice is the price to keep of questions that have none.
const anyPrice = model.Price(math.MaxInt64)

// NewWhatIf arranges the world. Input.Pods are pods that wait: those that fit on what is paid for take their places first, so that no answer
// counts on that room. What would be bought for the others is Decide's business.
func NewWhatIf(in Input) *WhatIf {
	in.World = in.World.Indexed()
	in.Without = append(slices.Clip(in.Without), columnGeneration, exactSearch)
	d := newDecision(in, false, problem.Choices{})
	d.Standing = true
	pods := pointers(in.Pods)
	for p := range in.World.Index.All().All() {
		if p.Node != "" && p.Reschedulable() {
			pods = append(pods, p)
		}
	}
	p := &WhatIf{d: d, slotOf: map[string]int32{}, lifted: map[*topology.Term]int{}, budgets: held.Budgets{PDBs: in.World.PDBs}}
	d.arrange(pods)
	p.least = leastprice.New(d.Pools)
	for i, s := range d.Existing {
		if s.Node != "" {
			p.slotOf[s.Node] = int32(i)
		}
	}
	waits := make(map[model.PodKey]bool, len(in.Pods))
	for i := range in.Pods {
		waits[in.Pods[i].Key()] = true
	}
	first := standings(d.Classes, func(x *model.Pod) bool { return waits[x.Key()] })
	p.on = standings(d.Classes, func(x *model.Pod) bool { return !waits[x.Key()] })
	p.scatter = newScatter(d)
	if len(first) > 0 {
		p.wait(first)
	}
	return p
}

// standings lists pods by the node on which they are.
func standings(classes []*assign.Class, which func(*model.Pod) bool) map[string][]standing {
	out := map[string][]standing{}
	for _, g := range classes {
		at := map[string]int{}
		for _, pod := range g.Pods {
			if !which(pod) {
				continue
			}
			list := out[pod.Node]
			i, ok := at[pod.Node]
			if !ok {
				i = len(list)
				at[pod.Node] = i
				list = append(list, standing{g: g})
			}
			list[i].pods = append(list[i].pods, pod)
			out[pod.Node] = list
		}
	}
	return out
}

// wait has pods that wait take their places, those of nodes that leave among them. The others of them stay where they are.
func (p *WhatIf) wait(first map[string][]standing) {
	rest := p.on
	p.on = first
	from := slices.AppendSeq(emptied(&p.d.World, first), maps.Keys(first))
	slices.Sort(from)
	p.waits = p.ask(from, false, anyPrice).Fits
	placed := make(map[model.PodKey]bool, len(p.waits))
	for _, f := range p.waits {
		placed[f.Pod] = true
	}
	// Pods that find no place have nothing to do with what follows.
	spread := slices.ContainsFunc(p.d.Classes, func(g *assign.Class) bool {
		return p.d.spreadEverywhere(g) && slices.ContainsFunc(g.Pods, func(x *model.Pod) bool { return placed[x.Key()] })
	})
	p.late = homelessSpread(p.d.Classes, placed)
	p.commit(spread)
	for _, name := range from {
		for i := range p.on[name] {
			st := &p.on[name][i]
			st.pods = slices.DeleteFunc(slices.Clone(st.pods), func(x *model.Pod) bool { return placed[x.Key()] })
		}
		p.on[name] = slices.DeleteFunc(p.on[name], func(st standing) bool { return len(st.pods) == 0 })
	}
	for name, list := range p.on {
		rest[name] = append(rest[name], list...)
	}
	p.on = rest
}

// emptied lists nodes that leave and have nobody left to move. Like those whose pods are asked about (see vacate) they are as good as gone.
func emptied(w *model.World, first map[string][]standing) (out []string) {
	for name, leaves := range alike.Leavers(w) {
		if _, has := first[name]; !has && leaves && vacated(w.Index.On(name), nil) {
			out = append(out, name)
		}
	}
	return out
}

// These are left out of what-ifs. Column generation costs ten times what all else does, the exact search half of what is left, and up to a tenth of a
// second for a node. A cluster that is moved until nothing is worth moving any more costs the same without them (bench,
// TestAtRestAClusterCostsLittleMoreThanItMust).
const (
	columnGeneration Mechanism = "column generation"
	exactSearch      Mechanism = "exact search"
)

// nowhere is the name of the node on which waiting pods are.
const nowhere = ""

// Awaited lists where waiting pods fit: they take their places before anything is asked.
func (p *WhatIf) Awaited() []answer.Nomination { return p.waits }

// Without answers what happens when the nodes go, all at once. Like a decision the answer is proven pod by pod before it is given: who could
// not be bound is left. Pods that nothing places (daemons, pods that leave already) are not asked about. The limits of pools count the nodes
// as long as they are there.
func (p *WhatIf) Without(nodes ...string) Answer {
	return p.Within(anyPrice, nodes...)
}

// Within answers the same when machines for the pods cost at most so much. Where they must cost more,
// it says only that (Answer.AtLeast), mostly before anything was looked for.
func (p *WhatIf) Within(most model.Price, nodes ...string) Answer {
	a := p.ask(nodes, true, most)
	p.rollback()
	return a
}

// Try asks the same, and lets the answer stand when worth says so: for all questions that follow the nodes are gone, their pods are where the
// answer has them, and what it buys is bought. An answer that leaves pods never stands, nor does one that comes too early (Answer.Later).
func (p *WhatIf) Try(nodes []string, worth func(Answer) bool) (a Answer, stands bool) {
	return p.TryWithin(anyPrice, nodes, worth)
}

// TryWithin is Try with a price to keep, as Within has it. What costs more never stands.
func (p *WhatIf) TryWithin(most model.Price, nodes []string, worth func(Answer) bool) (a Answer, stands bool) {
	a = p.ask(nodes, true, most)
	if a.AtLeast > 0 {
		p.rollback()
		return a, false
	}
	a.Later = p.clashes()
	stands = len(a.Left) == 0 && !a.Later && worth(a)
	if stands {
		p.commit(spreads(p.d))
	} else {
		p.rollback()
	}
	return a, stands
}

// Certain reports whether the last answer holds although kube-scheduler, which nobody tells where pods were planned, puts each on the
// emptiest node that takes it, large pods first. Where it does not, machines that nobody planned would be bought for pods that find their
// place taken. worst is what these cost at most where the small ones come first, or budgets hold some back. Nor does it hold where pods that look for
// each other would all change their zone. It is asked before the answer stands (Try); buy are its machines, with the options that are left. O(nodes +
// pods of the question), times a logarithm.
func (p *WhatIf) Certain(buy []answer.NewClaim) (certain bool, worst model.Price) {
	if p.loose {
		return false, 0
	}
	if !p.scatter.settled {
		p.scatter.settle(p.on, p.coming())
	}
	certain, left, late := p.scatter.lands(buy, p.budgets.Turns())
	return certain, max(p.scatter.remedy(left), p.scatter.remedy(late))
}

// Spare reports whether behind the last answer the limits of the pools leave room for its pods once more, on machines that take them, were all of them to
// find their places taken. It is asked before the answer stands (Try). O(classes × what is on sale).
func Spare(p *WhatIf) bool {
	var all vec.Vec
	for _, g := range p.d.Classes {
		if all == nil {
			all = make(vec.Vec, len(g.Size))
		}
		all.Take(g.Size, -len(g.Pods))
	}
	return !slices.ContainsFunc(p.d.Classes, func(g *assign.Class) bool {
		spare := false
		p.d.sold([]*problem.NodeConstraint{g.Constraint}, g.Size, func(s *problem.NodePool, i int) {
			n := machines(all, s.Room[i])
			spare = spare || s.Left.Times(s.Cost[i], n) >= n
		})
		return !spare
	})
}

// machines is how many with so much room each have all of it together, at least.
func machines(all, room vec.Vec) int {
	n := int64(1)
	for i, k := range all {
		if i < len(room) && room[i] > 0 {
			n = max(n, (k+room[i]-1)/room[i])
		}
	}
	return int(n)
}

// coming names the nodes that are marked to leave, of which no answer that stands has moved the pods.
func (p *WhatIf) coming() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(problem.Marked(&p.d.World))) {
		if !slices.Contains(p.gone, p.d.Topo.SpotOf[name]) {
			out = append(out, name)
		}
	}
	return out
}

// TryLarge is TryWithin with fewer, larger machines: each has room for that part at least of what has to be bought for. What fits in one way
// only into many small machines fits into few in most ways.
func (p *WhatIf) TryLarge(parts int, most model.Price, nodes []string, worth func(Answer) bool) (a Answer, stands bool) {
	p.parts = parts
	defer func() { p.parts = 0 }()
	return p.TryWithin(most, nodes, worth)
}

// enlarge leaves only machines on sale that have room for such a part of what all groups ask for.
func enlarge(d *decision, parts int, groups []*assign.Group) {
	var floor vec.Vec
	for _, g := range groups {
		if floor == nil {
			floor = make(vec.Vec, len(g.Size))
		}
		floor.Take(g.Size, -g.Waiting())
	}
	for i := range floor {
		floor[i] = (floor[i] + int64(parts) - 1) / int64(parts)
	}
	large := map[*problem.NodeConstraint]*problem.NodeConstraint{}
	for _, g := range groups {
		f := large[g.Constraint]
		if f == nil {
			f = d.AtLeast(g.Constraint, floor)
			large[g.Constraint] = f
		}
		g.Constraint = f
	}
}

// clashes reports whether the last answer has to wait for machines of answers that stand, or these for its own: who is spread over machines
// counts on those that there are when it moves.
func (p *WhatIf) clashes() bool {
	return p.bought && spreads(p.d) || p.spread && len(p.d.Made) > 0
}

// spreads reports whether the last answer moves pods that have to be spread over machines, each of which has some of them: an empty one more would
// change what kube-scheduler lets them do.
func spreads(d *decision) bool { return slices.ContainsFunc(d.Classes, d.spreadEverywhere) }

func (d *decision) spreadEverywhere(g *assign.Class) bool {
	for i, r := range g.Spread {
		if r.Term.Key == topology.Host && (i >= len(g.Among) || d.Low(&g.Class, i, topology.There) > 0) {
			return true
		}
	}
	return false
}

// Late returns the youngest pod without a node that has a place in the picture and has to be spread over machines; nil when there is none. kube-scheduler
// counts a machine that leaves as an empty one until it is gone, and may let such pods go nowhere else.
func (p *WhatIf) Late() *model.Pod { return p.late }

func homelessSpread(classes []*assign.Class, placed map[model.PodKey]bool) (pod *model.Pod) {
	for _, g := range classes {
		if !g.HostSpread() {
			continue
		}
		for _, x := range g.Pods {
			if x.Node == "" && placed[x.Key()] && (pod == nil || x.Created.After(pod.Created)) {
				pod = x
			}
		}
	}
	return pod
}

// ask answers a question, and leaves everything as the answer has it until commit or rollback. Where a machine is bought for some pods, others
// that have to be spread over machines go nowhere else before it has as many of them as the rest. Then all of these are asked about once more,
// for machines that are bought. Pods that look for each other stay in their zones (see held), unless there is no place for them.
func (p *WhatIf) ask(nodes []string, buy bool, most model.Price) Answer {
	for p.loose = false; ; p.loose = true {
		a := p.attempt(nodes, buy, most, nil)
		if a.AtLeast == 0 && len(a.Left) > 0 && len(p.d.Made) > 0 {
			if anew := p.spreadOf(a.Left); len(anew) > 0 {
				p.rollback()
				a = p.attempt(nodes, buy, most, anew)
			}
		}
		if p.loose || len(a.Left) == 0 || len(p.anchors) == 0 {
			return a
		}
		p.rollback()
	}
}

// spreadOf names the classes of the pods that have to be spread over machines, as they were before the question.
func (p *WhatIf) spreadOf(left []model.PodKey) map[*assign.Class]bool {
	out := map[*assign.Class]bool{}
	for _, g := range p.d.Classes {
		if g.HostSpread() && slices.ContainsFunc(g.Pods, func(x *model.Pod) bool { return slices.Contains(left, x.Key()) }) {
			out[p.of[g]] = true
		}
	}
	return out
}

// attempt answers a question, with pods of the classes in anew on machines that are bought.
func (p *WhatIf) attempt(nodes []string, buy bool, most model.Price, anew map[*assign.Class]bool) Answer {
	d := p.d
	p.toil.Questions++
	defer func() { p.toil.Work += d.Work + d.in.limit() - d.Steps }()
	p.asked = nodes
	d.Journal = &topology.Journal{Problem: &d.Problem}
	p.was = before{classes: d.Classes, supply: maps.Clone(d.Supply)}
	d.Exceeded = false
	d.Plan, d.Bundles, d.Seats, d.Made, d.Over, d.Gone = answer.Plan{}, nil, nil, nil, nil, slices.Clone(p.away)
	d.Found, d.Buying = assign.Finder{}, nil
	d.Steps, d.Most = d.in.limit(), cmp.Or(d.in.MaxOptions, DefaultMaxOptions)
	d.Work, d.Allowed = 0, d.in.limit()
	d.Classes = p.take(nodes)
	for _, g := range d.Classes {
		g.Anew = anew[p.of[g]]
	}
	if !p.loose {
		held.Count(d.Journal, p.anchors, 1)
	}
	if low := p.homeless(most); low > most {
		return Answer{AtLeast: low}
	}
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
	if low := p.ordered(); low > most {
		return Answer{AtLeast: low}
	}
	if buy {
		d.Buying = d.PurchaseGroups()
		if p.parts > 0 {
			enlarge(d, p.parts, d.Buying)
		}
		d.Buy()
	}
	if !p.loose {
		held.Count(d.Journal, p.anchors, -1) // a plan holds without them, too
		held.Lift(d.Journal, p.anchors)
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

// homeless is what machines cost at least for the pods of the question that are too large for the room on any node, wherever they may be: machines for
// all pods that have to be bought for cost no less. It is 0 where not even machines for all pods need cost more than most.
func (p *WhatIf) homeless(most model.Price) model.Price {
	var core, byte int64
	for _, g := range p.d.Classes {
		core, byte = core+int64(len(g.Pods))*g.Lean[0], byte+int64(len(g.Pods))*g.Lean[1]
	}
	if p.least.Of(core, byte) <= most {
		return 0
	}
	for _, g := range p.d.Classes {
		if g.Why != "" || p.d.Rooms.Next(g.From, g.Lean) >= 0 {
			core, byte = core-int64(len(g.Pods))*g.Lean[0], byte-int64(len(g.Pods))*g.Lean[1]
		}
	}
	return p.least.Of(core, byte)
}

// ordered is what machines cost at least for the pods that found no place on what is paid for.
func (p *WhatIf) ordered() model.Price {
	var core, byte int64
	for _, g := range p.d.Classes {
		n := int64(g.Asked)
		core, byte = core+n*g.Lean[0], byte+n*g.Lean[1]
	}
	return p.least.Of(core, byte)
}

// AtLeast is what machines for so much cost at least, bought from all pools in any mix.
func (p *WhatIf) AtLeast(r model.Resources) model.Price { return p.least.Of(r.CPU, r.Memory) }

// rollback takes back what the last question changed.
func (p *WhatIf) rollback() {
	d := p.d
	if p.scatter.asked {
		p.scatter.undo()
	}
	d.Supply = p.was.supply
	for _, l := range p.was.left {
		l.pool.Left = l.left
	}
	d.Journal.Rollback()
	d.Classes, d.Journal, d.Buying = p.was.classes, nil, nil
}

// commit lets the last answer stand. spread is set when it moves pods as spreads has it.
func (p *WhatIf) commit(spread bool) {
	d := p.d
	if !p.scatter.asked {
		p.scatter.lands(d.Plan.NewClaims, p.budgets.Turns())
	}
	p.scatter.keep()
	for _, n := range p.asked {
		p.leave(n)
	}
	p.gone = append(p.gone, d.Gone[len(p.away):]...)
	p.away = topology.Sorted(d.Gone)
	p.bought = p.bought || len(d.Made) > 0
	p.spread = p.spread || spread
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
	// Machines that are bought have no place among the spots. They count in their zones; nobody else
	// comes to the machines themselves.
	d.Journal.ForgetHosts(int32(len(d.Topo.Spots)))
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

// expect gives back the room that is held for pods of the node: they ask for it themselves. It reports whether any was.
func (p *WhatIf) expect(node string) (held bool) {
	for _, a := range p.d.Movers {
		if s := p.d.Existing[a.Slot]; a.From == node && s.Free[0] >= 0 {
			held = true
			p.d.Journal.Free(a.Slot, s.Free)
			s.Free.Take(a.Size, -1)
			p.d.Rooms.Set(int(a.Slot), s.Free)
		}
	}
	return held
}

// Close lets nobody onto the nodes, for all questions that follow. What is on them stays.
func (p *WhatIf) Close(nodes ...string) {
	for _, n := range nodes {
		p.shut(n)
		p.leave(n)
	}
}

// leave tells scatter that the node is gone for all questions that follow.
func (p *WhatIf) leave(node string) {
	slot, ok := p.slotOf[node]
	if ok {
		p.scatter.close(slot)
	}
}

// lift has nodes that are gone be no longer the emptiest for a spread over machines. Those of answers that stand are lifted for good, each once. Those on
// which pods of it are held back are not, unless the question is loose.
func (p *WhatIf) lift(x *topology.Term) {
	var forGood *topology.Journal
	forGood.Lift(x, p.gone[p.lifted[x]:])
	if len(p.gone) > 0 {
		p.lifted[x] = len(p.gone)
	}
	going := p.d.Gone[len(p.away):]
	if !p.loose {
		going = held.Others(p.anchors, x, going)
	}
	p.d.Journal.Lift(x, going)
}

// take closes the nodes and takes their pods off, as classes to be seated.
func (p *WhatIf) take(nodes []string) []*assign.Class {
	d := p.d
	byGroup := map[*assign.Class]*assign.Class{}
	p.of = map[*assign.Class]*assign.Class{}
	var leave []held.Pods
	var out []*assign.Class
	for _, name := range nodes {
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
			if ok {
				leave = append(leave, held.Pods{Class: &st.g.Class, Pods: st.pods, Doms: d.Topo.Spots[spot].Doms})
			}
			g := byGroup[st.g]
			if g == nil {
				d.Skip(st.g)
				c := *st.g
				g = &c
				g.Pods = nil
				byGroup[st.g], p.of[g] = g, st.g
				out = append(out, g)
			}
			g.Pods = append(g.Pods, st.pods...)
		}
	}
	for _, name := range nodes {
		p.shut(name)
		if p.expect(name) {
			assign.SkipNone(p.was.classes)
			assign.SkipNone(out)
		}
	}
	p.anchors = p.budgets.Anchors(leave)
	for _, g := range out {
		for _, r := range g.Spread {
			if r.Term.Key == topology.Host {
				p.lift(r.Term)
			}
		}
	}
	slices.SortFunc(out, func(a, b *assign.Class) int { return cmp.Compare(a.Rank, b.Rank) })
	return out
}
