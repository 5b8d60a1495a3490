package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// Decide says where the pods should go. It first uses what is paid for, then asks pools from heavy to light; pools of equal
// weight compete on price. With no pods given it places every waiting pod and, so that their places exist before they
// need them, the pods of nodes that are leaving. Cost: about O(pods log pods + pools × offerings × groups + search), the search
// bounded by Input.Limit.
func Decide(in Input) Plan {
	d := &decision{in: in}
	pods := in.Pods
	if len(pods) == 0 {
		pods = Waiting(in.World)
	}
	d.steps, d.most = cmp.Or(in.Limit, DefaultLimit), cmp.Or(in.MaxOptions, DefaultMaxOptions)
	if d.groups = newGroups(pods); len(d.groups) == 0 {
		return d.plan
	}
	names := newDims(d.groups, in.World.Daemons)
	for _, g := range d.groups {
		g.size = names.vec(g.requests)
	}
	d.reuse(newSlots(in.World, names))
	if slices.ContainsFunc(d.groups, func(g *group) bool { return g.waiting() > 0 }) {
		d.buy(newSellers(in.World, names))
	}
	d.explain()
	return d.plan
}

// Waiting lists the pods that need a place: those that wait for a node we could buy, and those whose node is leaving.
// The latter are left out while nothing may move them (do-not-disrupt, or a disruption budget that allows nobody to
// go): a machine bought for them would stand empty, be removed, and be bought again.
func Waiting(w model.World) []model.Pod {
	leaving := map[string]bool{}
	byProvider := map[string]bool{}
	for _, c := range w.Claims {
		if c.Deleting() {
			leaving[c.NodeName] = c.NodeName != ""
			byProvider[c.ProviderID] = c.ProviderID != ""
		}
	}
	for _, n := range w.Nodes {
		if n.Deleting() || byProvider[n.ProviderID] {
			leaving[n.Name] = true
		}
	}
	stuck := map[model.PodKey]bool{}
	ready := map[model.PodKey]bool{}
	for _, p := range w.Pods {
		ready[p.Key()] = p.PodReady
	}
	for _, b := range w.PDBs {
		if b.Allowed > 0 {
			continue
		}
		for _, k := range b.Pods {
			stuck[k] = stuck[k] || !b.AlwaysAllowUnready || ready[k]
		}
	}
	var out []model.Pod
	for _, p := range w.Pods {
		moving := p.Node != "" && leaving[p.Node] && p.Reschedulable() && p.DoNotDisrupt != "true" && !stuck[p.Key()]
		if p.Provisionable() || moving {
			out = append(out, p)
		}
	}
	return out
}

// decision is one run of Decide.
type decision struct {
	in      Input
	plan    Plan
	groups  []*group
	sellers []*seller
	steps   int
	most    int
}

// reuse nominates pods to capacity that is paid for: first each where it was planned to go, then the rest by size, each
// to the first slot that takes it.
func (d *decision) reuse(slots []*slot) {
	d.reusePlanned(slots)
	for _, g := range d.groups {
		if g.why != "" {
			continue
		}
		for _, s := range slots {
			if g.waiting() == 0 {
				break
			}
			n := s.free.times(g.size, g.waiting())
			if n == 0 || !s.takes(g) {
				continue
			}
			s.free.take(g.size, n)
			for _, p := range g.take(n) {
				d.plan.Fits = append(d.plan.Fits, Nomination{Pod: p.Key(), Node: s.node, Claim: s.claim})
			}
		}
	}
}

func (d *decision) reusePlanned(slots []*slot) {
	if !slices.ContainsFunc(slots, func(s *slot) bool { return len(s.planned) > 0 }) {
		return
	}
	of := map[model.PodKey]*group{}
	for _, g := range d.groups {
		if g.why == "" {
			for _, p := range g.pods {
				of[p.Key()] = g
			}
		}
	}
	done := map[model.PodKey]bool{}
	for _, s := range slots {
		for _, k := range s.planned {
			g := of[k]
			if g == nil || done[k] || s.free.times(g.size, 1) == 0 || !s.takes(g) {
				continue
			}
			done[k] = true
			s.free.take(g.size, 1)
			d.plan.Fits = append(d.plan.Fits, Nomination{Pod: k, Node: s.node, Claim: s.claim})
		}
	}
	for _, g := range d.groups {
		g.pods = slices.DeleteFunc(g.pods, func(p model.Pod) bool { return done[p.Key()] })
	}
}

// buy asks the pools, tier by tier.
func (d *decision) buy(sellers []*seller) {
	d.sellers = sellers
	for _, g := range d.groups {
		if g.why != "" || g.waiting() == 0 {
			continue
		}
		for _, s := range sellers {
			g.lots = append(g.lots, newLot(s, g))
		}
	}
	for from := 0; from < len(sellers); {
		to := from
		for to < len(sellers) && sellers[to].pool.Weight == sellers[from].pool.Weight {
			to++
		}
		for range maxTries {
			if d.tier(sellers[from:to]) == 0 {
				break
			}
		}
		from = to
	}
	for _, p := range d.plan.Buy {
		d.plan.Price += p.Options[0].Price
	}
}

// maxTries bounds how often a tier is packed again after machines had to be given up for want of choice.
const maxTries = 4

// tier packs what still waits into machines of pools of one weight, and returns how many machines had to be given up.
func (d *decision) tier(tier []*seller) int {
	var groups []*group
	var want []int
	p := &packer{steps: d.steps}
	for _, g := range d.groups {
		if g.waiting() > 0 && slices.ContainsFunc(tier, func(s *seller) bool { return g.why == "" && g.lots[s.id].ok.first() >= 0 }) {
			groups, want, p.sizes = append(groups, g), append(want, g.waiting()), append(p.sizes, g.size)
		}
	}
	if p.choices = newChoices(tier, groups); len(p.choices) == 0 {
		return 0
	}
	for _, s := range d.sellers {
		p.limits = append(p.limits, s.left.clone())
	}
	best := p.pack(want)
	d.steps, d.plan.Cut = p.steps, d.plan.Cut || p.cut
	b := &buyer{sellers: d.sellers, groups: groups, choices: p.choices, most: d.most, spare: p.remaining(best.bins)}
	bought, given := b.purchases(best)
	d.plan.Buy = append(d.plan.Buy, bought...)
	return given
}

// explain says of every pod without a place why each pool refused it, and puts the lists in order.
func (d *decision) explain() {
	slices.SortFunc(d.plan.Fits, func(a, b Nomination) int { return compareKeys(a.Pod, b.Pod) })
	for _, g := range d.groups {
		if g.waiting() == 0 {
			continue
		}
		l := Leftover{Why: g.why, Detail: g.detail}
		if g.why == "" {
			for _, s := range d.sellers {
				l.Refusals = append(l.Refusals, d.refusal(s, g))
			}
			if len(d.sellers) == 0 {
				l.Why, l.Detail = model.WhyNoPools, "there is no pool to buy from"
			}
		}
		for _, p := range g.take(g.waiting()) {
			l.Pod = p.Key()
			d.plan.Left = append(d.plan.Left, l)
		}
	}
	slices.SortFunc(d.plan.Left, func(a, b Leftover) int { return compareKeys(a.Pod, b.Pod) })
}

// refusal says why one pool could not take one more pod of the group.
func (d *decision) refusal(s *seller, g *group) Refusal {
	l := g.lots[s.id]
	if l.refusal.Why != "" {
		return l.refusal
	}
	r := l.refusal
	r.Removed = slices.Clone(r.Removed)
	rest := s.affordable(l)
	var items []int
	rest.each(func(i int) { items = append(items, i) })
	if len(items) == 0 {
		r.Why, r.Detail = model.WhyLimits, s.limitText(l)
		r.Removed = append(r.Removed, Removed{model.WhyLimits, l.ok.count()})
		return r
	}
	if k := s.lacking(items); k != "" {
		r.Why, r.Detail = model.WhyMinValues, s.minValuesText(k, items)
		r.Removed = append(r.Removed, Removed{model.WhyMinValues, len(items)})
		return r
	}
	switch {
	case len(s.choosy) > 0:
		r.Why, r.Detail = model.WhyMinValues, "too few of the offerings that satisfy minValues hold the pod"
	case d.plan.Cut || len(s.limits) == 0:
		r.Why, r.Detail = model.WhyPlanCut, "the search ended before the pod's turn"
	default:
		r.Why, r.Detail = model.WhyLimits, s.limitText(l)
	}
	return r
}
