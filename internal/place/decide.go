package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// Decide says where the pods should go. It first uses what is paid for, then asks pools from heavy to light; pools of equal
// weight compete on price. With no pods given it places every waiting pod and, so that their places exist before they
// need them, the pods of nodes that are leaving. Cost: about O(pods log pods + running pods + pools × offerings × node constraints + search), the
// search bounded by Input.Limit.
func Decide(in Input) Plan {
	in.World = in.World.Indexed()
	list := pointers(in.Pods)
	if len(list) == 0 {
		list = waiting(&in.World)
	}
	if len(list) == 0 {
		return Plan{}
	}
	if in.spent == nil {
		in.spent = new(int)
	}
	return decide(in, list)
}

// decide decides about the pods, with and without their preferences.
func decide(in Input, list []*model.Pod) Plan {
	plain := search(in, list, false, choices{})
	if in.Preferences == Ignore || !anyPrefers(in.World, list) || in.exhausted() || plain.accepted() {
		return plain.steered()
	}
	in.Accept = 0
	known := plain.choices.clone()
	known.caps = nil // with preferences granted others find other places
	if d := search(in, list, true, known); d.worthIt(plain) {
		return d.tell(plain, "preferences are granted").steered()
	}
	return plain.steered()
}

// Waiting lists the pods that need a place: those that wait for a node we could buy, those that will (see siblings), and those whose node is leaving.
// The latter are left out while nothing may move them (do-not-disrupt, or a disruption budget that allows nobody to
// go): a machine bought for them would stand empty, be removed, and be bought again.
func Waiting(w model.World) []model.Pod {
	var out []model.Pod
	w = w.Indexed()
	for _, p := range waiting(&w) {
		out = append(out, *p)
	}
	return out
}

// leavers names the nodes on their way out: they are being deleted, or the claim that they were bought with is. The world has an index.
func leavers(w *model.World) map[string]bool {
	type key struct{}
	return w.Index.Memo(key{}, func() any {
		leaving := map[string]bool{}
		byProvider := map[string]bool{}
		for i := range w.Claims {
			if c := &w.Claims[i]; c.Deleting() {
				leaving[c.NodeName] = c.NodeName != ""
				byProvider[c.ProviderID] = c.ProviderID != ""
			}
		}
		for i := range w.Nodes {
			if n := &w.Nodes[i]; n.Deleting() || byProvider[n.ProviderID] {
				leaving[n.Name] = true
			}
		}
		return leaving
	}).(map[string]bool)
}

// waiting is Waiting without copies of the pods. The world has an index. O(unbound pods + pods of leaving nodes).
func waiting(w *model.World) []*model.Pod {
	leaving := leavers(w)
	var stuck map[model.PodKey]bool
	if len(leaving) > 0 {
		stuck = unmovable(w)
	}
	soon := siblings(w)
	var out []*model.Pod
	for p := range w.Index.Unbound().All() {
		if p.Provisionable() || soon(p) {
			out = append(out, p)
		}
	}
	for _, node := range slices.Sorted(maps.Keys(leaving)) {
		for _, p := range w.Index.On(node).Pods {
			if leaving[node] && p.Reschedulable() && (p.Deleting() || p.DoNotDisrupt != "true" && !stuck[p.Key()]) {
				out = append(out, p)
			}
		}
	}
	if len(leaving) > 0 {
		slices.SortStableFunc(out, model.ComparePods)
	}
	return out
}

// unmovable lists pods that a disruption budget keeps where they are.
func unmovable(w *model.World) map[model.PodKey]bool {
	stuck := map[model.PodKey]bool{}
	for _, b := range w.PDBs {
		if b.Allowed > 0 {
			continue
		}
		for _, k := range b.Pods {
			if stuck[k] {
				continue
			}
			p := w.Index.Pod(k)
			stuck[k] = !b.AlwaysAllowUnready || p != nil && p.PodReady
		}
	}
	return stuck
}

// decision is one run of Decide.
type decision struct {
	in          Input
	plan        Plan
	classes     []*podClass
	shared      map[string]bool // volumes that several pods use, by ID
	buying      []*podClass     // made of groups, for packing
	constraints constraints
	daemons     daemons
	existing    []*existingNode
	pools       []*nodePool
	topo        *topology
	portIPs     map[string][]string
	bundles     []*bundle
	found       finder
	rooms       rooms
	opts        []seatOption // room for those of the group being seated
	undo        *undo        // nil when nothing is taken back
	steps       int
	most        int
	// choices are what the search varies.
	choices
	// reserved lists the existing nodes that were bought for some pods.
	reserved []int32
	// held are planned pods whose turn has not come, broken those that lost their place.
	held   []reservation
	broken []model.PodKey
	// twice counts planned pods that are on nothing that is paid for.
	twice int
	// work counts what seating and proving cost, which may be allowed.
	work, allowed int
	// keeping is set while a planned pod asks for its own place.
	keeping bool
	// seats says in which order places were found, made which machines were bought for them.
	seats []seated
	made  []made
	// stuck are pods that could not be bound in the end, over those of them that were taken out of the plan.
	stuck []unit
	over  []over
	// missing are domains that pods were left over for, and that no machine is in.
	missing []absence
	// standing is set in what-ifs: the groups' pods run, and count where they are.
	standing bool
	// gone are the machines, by spot, that a question to a picture takes away.
	gone []int32
	// supply is what is left of scarce offerings.
	supply map[source]int64
	// granted says that preferences are granted as far as possible.
	granted bool
}

// run makes one attempt.
func (d *decision) run(pods []*model.Pod) {
	d.arrange(pods)
	d.undo = &undo{d: d, light: true}
	d.seatAll()
	d.buying = d.purchaseGroups()
	d.buy()
	d.allowed = d.work + d.in.limit() // for proving
	d.stuck = d.prove()
	d.retract()
	d.countTwice()
	if d.in.spent != nil {
		*d.in.spent += d.work + d.in.limit() - d.steps + d.setup()
	}
	d.allowed = unlimited // to explain is no search
	d.explain()
}

// arrange turns pods into groups, and the world into existing nodes, pools and counts.
func (d *decision) arrange(pods []*model.Pod) {
	d.in.World = d.in.World.Indexed()
	w := &d.in.World
	d.steps, d.allowed, d.most = d.in.limit(), d.in.limit(), cmp.Or(d.in.MaxOptions, DefaultMaxOptions)
	d.daemons = newDaemons(w.Daemons)
	classes := newClasser(w.Index, pods, d.daemons.pods())
	d.classes, d.shared = newPodClasses(pods, classes), classes.shared
	d.promote()
	d.topo = newTopology(*w)
	names := newDims(d.classes, w.Daemons)
	d.existing, d.pools = newExisting(*w, d.daemons, names), newNodePools(*w, d.daemons, names, d.in.MinValues)
	d.constraints.pools = d.pools
	d.shape(names, classes)
	for i, s := range d.existing {
		if len(s.planned) > 0 {
			d.reserved = append(d.reserved, int32(i))
		}
	}
	d.takeStock()
	d.notePorts()
	d.tie(d.existing)
	d.agree()
	d.rooms = newRooms(d.existing)
}

// shape works out how large the pods of the groups are, and what their machines must look like. Groups that differ in amounts or priority
// only share the latter.
func (d *decision) shape(names dims, classes *classer) {
	byTraits := map[string]*podClass{}
	flat := make(vec.Vec, 0, len(names)*len(d.classes))
	for _, g := range d.classes {
		flat = names.appendVec(flat, g.requests)
		g.size = flat[len(flat)-len(names) : len(flat) : len(flat)]
		names.attachSize(g.size, g.first())
		g.mounts(names, classes.shared)
		if o := byTraits[g.traits]; o != nil && (o.why != "" || o.constraint.size == nil && (o.selectsNodes == nil || o.selectsNodes.size == nil)) {
			g.like, g.why, g.detail, g.constraint, g.selectsNodes = o, o.why, o.detail, o.constraint, o.selectsNodes
			continue
		}
		terms, why, detail := terms(g.first())
		if g.why, g.detail = why, detail; why == "" {
			g.constraint = d.constraints.get(nodeConstraint{terms: terms, tolerations: [][]model.Toleration{g.tolerations}, conflicts: d.shunned(g.first()), size: g.size})
			if len(g.first().Spread) > 0 {
				g.selectsNodes = d.constraints.get(nodeConstraint{terms: selected(g.first()), tolerations: g.constraint.tolerations, size: g.size})
			}
		}
		if byTraits[g.traits] == nil {
			byTraits[g.traits] = g
		}
	}
}

// buy asks the pools, and once more for those that no pool has room for as they would like it.
func (d *decision) buy() {
	if len(d.buying) == 0 {
		return
	}
	d.askAll()
	if d.putUp() {
		d.askAll()
	}
	d.share(d.pools)
	if d.undo != nil {
		d.tighten()
	}
	for _, p := range d.plan.NewClaims {
		d.plan.Price += p.Options[0].Price
	}
}

// askAll asks the pools, tier by tier.
func (d *decision) askAll() {
	sellers := d.pools
	for from := 0; from < len(sellers); {
		to := from
		for to < len(sellers) && sellers[to].pool.Weight == sellers[from].pool.Weight {
			to++
		}
		d.ask(sellers[from:to])
		if d.relax(sellers[from:to]) {
			d.ask(sellers[from:to])
		}
		from = to
	}
}

// ask buys from pools of one weight, again where machines had to be given up.
func (d *decision) ask(tier []*nodePool) {
	for range maxTries {
		d.ration(tier)
		given := d.tier(tier)
		d.settleStock(tier)
		if given == 0 {
			return
		}
	}
}

// maxTries bounds how often a tier is packed again after machines had to be given up for want of choice.
const maxTries = 4

// explain says of every pod without a place why each pool refused it, and puts the lists in order.
func (d *decision) explain() {
	slices.SortFunc(d.plan.Existing, func(a, b Nomination) int { return compareKeys(a.Pod, b.Pod) })
	for _, x := range d.buying {
		d.explainPods(x, x.of, x.take(len(x.pods)-x.next))
	}
	for _, g := range d.classes {
		d.explainPods(g, g, g.pods[g.next+g.asked:])
	}
	for _, o := range d.over {
		d.explainPods(o.g, o.g, []*model.Pod{o.pod})
	}
	slices.SortFunc(d.plan.Unscheduled, func(a, b Unscheduled) int { return compareKeys(a.Pod, b.Pod) })
}

// explainPods explains pods of g that go nowhere; x is g, or the part of it that could not be bought for.
func (d *decision) explainPods(x, g *podClass, pods []*model.Pod) {
	if len(pods) == 0 {
		return
	}
	l := Unscheduled{Why: g.why, Detail: g.detail}
	if g.why == "" {
		for _, s := range d.pools {
			l.Refusals = append(l.Refusals, d.refusal(s, x, g))
		}
		if len(d.pools) == 0 {
			l.Why, l.Detail = model.WhyNoPools, "there is no pool to buy from"
		}
	}
	for _, p := range pods {
		l.Pod = p.Key()
		d.plan.Unscheduled = append(d.plan.Unscheduled, l)
	}
}
