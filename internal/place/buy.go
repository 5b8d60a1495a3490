package place

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// How wide a choice a claim gets. A sold-out size must have a next-best at once, and a family without quota must not
// block the pods; but every dearer option is one that may be bought, so beyond the band only variety counts.
const (
	// bandPercent: options up to this much of the cheapest price are all welcome.
	bandPercent = 115
	// minOptions and the numbers of distinct sizes and families that are wanted even when they are dearer.
	minOptions       = 15
	minTypesOnDemand = 5
	minTypesSpot     = 15
	minFamilies      = 3
	// longList times as many offerings as a claim may name are looked at for it.
	longList = 4
	// varietyPart of the options is kept free for variety when the band alone would fill the list.
	varietyPart = 4 // one fourth
)

// buyer turns the bins of one tier into purchases.
type buyer struct {
	d       *decision
	sellers []*seller
	groups  []*group
	choices []choice
	most    int // options per purchase
	// spare is, per seller, what the limits leave after all bins; waiting counts bins not turned into purchases yet.
	spare   []vec
	waiting []int
}

// purchases builds the purchases of a draft. A bin of which too few offerings remain is given up, and its seller is closed
// to its groups: given says how many, so that the caller may try elsewhere.
func (b *buyer) purchases(d *draft) (out []Purchase, given int) {
	b.waiting = make([]int, len(b.sellers))
	for _, x := range d.bins {
		b.waiting[b.choices[x.choice].seller]++
	}
	slices.SortStableFunc(d.bins, func(x, y bin) int {
		return cmp.Or(cmp.Compare(x.choice, y.choice), slices.CompareFunc(x.loads, y.loads, func(l, m load) int {
			return cmp.Or(cmp.Compare(l.group, m.group), cmp.Compare(m.n, l.n))
		}))
	})
	for _, x := range d.bins {
		if p, ok := b.purchase(x); ok {
			out = append(out, p)
			continue
		}
		given++
		for _, l := range x.loads {
			b.d.giveUp(b.groups[l.group], b.sellers[b.choices[x.choice].seller])
		}
	}
	return out, given
}

// candidates are the offerings that may carry the bin within its share of the limits, and the pods' terms that they meet.
func (b *buyer) candidates(x bin) (set, require.Set) {
	c := b.choices[x.choice]
	s := b.sellers[c.seller]
	need := make(vec, len(c.room))
	ok := slices.Clone(s.base)
	for _, l := range x.loads {
		ok = ok.and(b.d.lotOf(s, b.groups[l.group].form).ok)
		need.take(b.groups[l.group].size, -l.n)
	}
	allowed := c.cost.clone()
	for i := range allowed {
		allowed[i] += b.spare[s.id][i] / int64(max(b.waiting[s.id], 1))
	}
	fits := newSet(len(s.shelf.items))
	ok.each(func(i int) {
		if s.room[i].covers(need) && allowed.covers(s.cost[i]) {
			fits.add(i)
		}
	})
	// Of alternatives, a group takes the first that the cheapest offering meets; the claim then asks for it.
	own := s.own
	for _, l := range x.loads {
		for _, t := range b.d.lotOf(s, b.groups[l.group].form).terms {
			if m := s.shelf.filter(fits, t); fits.first() >= 0 && m.has(fits.first()) {
				fits, own = m, own.And(t)
				break
			}
		}
	}
	return fits, own
}

// giveUp closes the seller to the group: too few offerings remain there for its pods to choose from.
func (d *decision) giveUp(g *group, s *seller) {
	f := *g.form
	f.lots = slices.Clone(f.lots)
	f.lots[s.id] = &lot{ok: newSet(len(s.shelf.items))}
	g.form = &f
	if g.given == nil {
		g.given = map[int]string{}
	}
	g.given[s.id] = "too few offerings remain for the pod to choose from"
}

func (b *buyer) purchase(x bin) (Purchase, bool) {
	c := b.choices[x.choice]
	s := b.sellers[c.seller]
	fits, own := b.candidates(x)
	need := make(vec, len(c.room))
	for _, l := range x.loads {
		need.take(b.groups[l.group].size, -l.n)
	}
	pods := s.names.resources(need)
	order := slices.Clone(c.company)
	for i := fits.first(); i >= 0 && (len(order) < longList*b.most || len(s.choosy) > 0); i = fits.next(i + 1) {
		order = append(order, i)
	}
	items, requests := s.options(order, pods, need, b.most)
	if len(items) == 0 || !s.enough(items) {
		b.waiting[s.id]--
		b.spare[s.id].take(c.cost, -1)
		return Purchase{}, false
	}
	b.waiting[s.id]--
	most := make(vec, len(s.limits))
	p := Purchase{Pool: s.pool.Name, Class: s.pool.Class, Requests: requests}
	for _, i := range items {
		o := s.shelf.items[i].o
		p.Options = append(p.Options, Option{Key: s.shelf.items[i].o.Key(), Price: o.Price})
		for j, v := range s.cost[i] {
			most[j] = max(most[j], v)
		}
	}
	for j := range most {
		b.spare[s.id][j] -= most[j] - c.cost[j]
		s.left[j] -= most[j]
	}
	for _, l := range x.loads {
		g := b.groups[l.group]
		n := l.n
		if g.bundled {
			n = len(g.pods) - g.next
		}
		for _, pod := range g.take(n) {
			p.Pods = append(p.Pods, pod.Key())
		}
	}
	slices.SortFunc(p.Pods, compareKeys)
	p.Requirements = s.requirements(own, p.Options)
	return p, true
}

func compareKeys(a, b model.PodKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// options picks, in order of preference, at most most of the offerings that hold the pods, and returns what the claim
// must request: the pods and the most that daemons take on any of them. Every option holds that. What comes first in
// from wins where daemons differ so much that two offerings cannot both be options.
func (s *seller) options(from []int, pods model.Resources, need vec, most int) ([]int, model.Resources) {
	var all []int
	var over vec
	seen := newSet(len(s.shelf.items))
	next := make(vec, len(need))
	for _, i := range from {
		if seen.has(i) {
			continue
		}
		seen.add(i)
		grows := over == nil
		for r, v := range s.taken[i] {
			next[r] = v
			if over != nil {
				next[r] = max(v, over[r])
				grows = grows || v > over[r]
			}
		}
		fits := s.holds(i, need, next)
		if grows {
			for _, j := range all {
				fits = fits && s.holds(j, need, next)
			}
		}
		if fits {
			all = append(all, i)
			if grows {
				over = next.clone()
			}
		}
	}
	if len(all) == 0 {
		return nil, pods
	}
	slices.Sort(all)
	all = s.narrow(all, most)
	var daemons model.Resources
	for k, i := range all {
		if k == 0 || !s.overhead[i].FitsIn(daemons) {
			daemons = daemons.Max(s.overhead[i])
		}
	}
	return all, pods.Add(daemons)
}

// holds reports whether offering i has room for the pods and for daemons that take over.
func (s *seller) holds(i int, need, over vec) bool {
	for r, v := range s.room[i] {
		if v+s.taken[i][r] < need[r]+over[r] {
			return false
		}
	}
	return true
}

// narrow keeps the cheap band, then what variety asks for, then what minValues asks for.
func (s *seller) narrow(all []int, most int) []int {
	first := s.shelf.items[all[0]].o
	minTypes := minTypesOnDemand
	if first.CapacityType == model.Spot {
		minTypes = minTypesSpot
	}
	picked := map[int]bool{}
	types, families := map[string]bool{}, map[string]bool{}
	var out []int
	pick := func(i int) {
		it := s.shelf.items[i]
		picked[i], types[it.t.Name], families[it.t.Family] = true, true, true
		out = append(out, i)
	}
	for _, i := range all {
		if len(out) >= most-most/varietyPart || s.shelf.items[i].o.Price*100 > first.Price*bandPercent {
			break
		}
		pick(i)
	}
	if len(out) == 0 {
		pick(all[0])
	}
	for _, i := range all {
		if !picked[i] && len(out) < most && s.adds(out, i) {
			pick(i)
		}
	}
	for _, i := range all {
		it := s.shelf.items[i]
		if !picked[i] && len(out) < most && (len(out) < minOptions || len(types) < minTypes && !types[it.t.Name] ||
			len(families) < minFamilies && !families[it.t.Family]) {
			pick(i)
		}
	}
	slices.Sort(out)
	return out
}

// requirements is what the claim must ask for: own, narrowed to the options' types, zones and capacity types. Labels that
// could still go either way get one value, so that everybody who reads the claim expects the same node.
func (s *seller) requirements(own require.Set, options []Option) []model.Requirement {
	var types, zones, kinds []string
	for _, o := range options {
		types, zones, kinds = append(types, o.Key.Type), append(zones, o.Key.Zone), append(kinds, o.Key.CapacityType)
	}
	out := own.Only(func(k string) bool {
		_, handed := s.pool.Labels[k]
		if _, defined := s.own.Get(k); !defined && !s.shelf.machine(k) {
			return false // the pods accept that the label is absent, and absent it will be
		}
		return k != model.LabelPool && k != classLabel(s.pool.Class) && k != model.LabelHostname && (!handed || s.shelf.machine(k))
	})
	for _, k := range out.Keys() {
		v, _ := out.Get(k)
		if !s.shelf.machine(k) && !v.AllowsAbsent() {
			if one, ok := v.Pick(); ok {
				out = out.With(k, require.One(one))
			}
		}
	}
	return out.With(model.LabelInstanceType, require.OneOf(types...)).With(model.LabelZone, require.OneOf(zones...)).
		With(model.LabelCapacityType, require.OneOf(kinds...)).Requirements()
}
