package place

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// width says how wide a choice a claim gets. A sold-out size should have a next-best at once, and a family without quota must not hold up
// the pods; but every dearer option is one that may be bought. On demand, where a price is what it was and sizes are seldom sold out, the
// list is narrow, and ends where another plan would do better: that comes within seconds, knows what was refused, and may pack anew.
// On the spot market it is wide, since a wide choice is what keeps machines from being taken back.
type width struct {
	// band: options up to so many per cent of the cheapest price are all welcome. Dearer ones only until there are so many options,
	// sizes and families, and only up to ceiling per cent.
	band, ceiling            model.Price
	options, types, families int
}

func widthOf(capacityType string) width {
	if capacityType == model.Spot {
		return width{band: 115, ceiling: noCeiling, options: 15, types: 15, families: 3}
	}
	return width{band: 105, ceiling: 150, options: 15, types: 5, families: 3}
}

// noCeiling lets any price pass.
const noCeiling = model.Price(math.MaxInt64)

const (
	// longList times as many offerings as a claim may name are looked at for it.
	longList = 4
	// varietyPart of the options is kept free for variety when the band alone would fill the list.
	varietyPart = 4 // one fourth
)

// buyer turns the bins of one tier into new claims.
type buyer struct {
	d       *purchasing
	pools   []*nodePool
	classes []*group
	choices []choice
	most    int // options per new claim
	// spare is, per pool, what the limits leave after all bins; waiting counts bins not turned into new claims yet.
	spare   []vec.Vec
	waiting []int
	// last is the deal that was made last; the others are what the next one asks.
	last          *deal
	need, allowed vec.Vec
	forms         []*nodeConstraint
	order         []int
}

// purchases builds the new claims of a draft. A bin of which too few offerings remain is given up, and its pool is closed
// to its groups: given says how many, so that the caller may try elsewhere.
func (b *buyer) purchases(d *portfolio.Draft) (out []NewClaim, given int) {
	b.waiting = make([]int, len(b.pools))
	for _, x := range d.Bins {
		b.waiting[b.choices[x.Choice].Seller]++
	}
	slices.SortStableFunc(d.Bins, func(x, y portfolio.Bin) int {
		return cmp.Or(cmp.Compare(x.Choice, y.Choice), slices.CompareFunc(x.Loads, y.Loads, func(l, m portfolio.Load) int {
			return cmp.Or(cmp.Compare(l.Group, m.Group), cmp.Compare(m.N, l.N))
		}))
	})
	for _, x := range d.Bins {
		if p, ok := b.purchase(x); ok {
			out = append(out, p)
			continue
		}
		given++
		for _, l := range x.Loads {
			b.d.giveUp(b.classes[l.Group], b.pools[b.choices[x.Choice].Seller])
		}
	}
	return out, given
}

// deal is what new claims share that need the same of machines of one choice.
type deal struct {
	choice  int
	need    vec.Vec // pods
	allowed vec.Vec // of the limits
	forms   []*nodeConstraint
	// The answer; options is empty when too few offerings remain.
	options      []Option
	requirements []model.Requirement
	relaxed      bool
	requests     model.Resources
	items        bitset.Set
	most         vec.Vec // what the dearest option takes from the limits
}

// deal works out what may carry the bin within its share of the limits. Bins come sorted, so those that are alike follow each other
// and share one answer.
func (b *buyer) deal(x portfolio.Bin) *deal {
	c := &b.choices[x.Choice]
	b.need, b.allowed, b.forms = append(b.need[:0], c.Room...), append(b.allowed[:0], c.Cost...), b.forms[:0]
	clear(b.need)
	addNeeds(b.need, x, b.classes)
	for _, l := range x.Loads {
		g := b.classes[l.Group]
		if !slices.Contains(b.forms, g.constraint) {
			b.forms = append(b.forms, g.constraint)
		}
	}
	for i := range b.allowed {
		b.allowed[i] += b.spare[c.Seller][i] / int64(max(b.waiting[c.Seller], 1))
	}
	if old := b.last; old != nil && old.choice == x.Choice && slices.Equal(old.need, b.need) && slices.Equal(old.allowed, b.allowed) && slices.Equal(old.forms, b.forms) {
		return old
	}
	d := &deal{choice: x.Choice, need: b.need.Clone(), allowed: b.allowed.Clone(), forms: slices.Clone(b.forms)}
	b.answer(d)
	b.last = d
	return d
}

// answer fills in what machines the deal may ask for.
func (b *buyer) answer(d *deal) {
	c := &b.choices[d.choice]
	s := seller{b.pools[c.Seller]}
	fits, own, first := b.candidates(d)
	order, sight := append(b.order[:0], c.company...), sight{pool: s.nodePool, most: b.most}
	t, all := s.variety(), len(s.wanted) > 0 && len(s.bounded) > 0
	for i := first; i >= 0 && (len(order) < longList*b.most || all || !t.full()); i = fits.Next(i + 1) {
		if !s.room[i].Covers(d.need) || !d.allowed.Covers(s.cost[i]) {
			continue
		}
		t.add(i)
		if order = append(order, i); s.steady() && sight.sated(i) && t.full() {
			break
		}
	}
	b.order = order
	items, requests := s.options(order, s.names.resources(d.need), d.need, b.most)
	if len(items) == 0 || !s.enough(items) {
		return
	}
	d.requests, d.items = requests, bitset.New(len(s.offerings.items))
	for _, i := range items {
		d.items.Add(i)
	}
	if old := b.last; old != nil && old.choice == d.choice && slices.Equal(old.items, d.items) && slices.Equal(old.forms, d.forms) && b.single(s, d.forms) {
		need, allowed := d.need, d.allowed
		*d = *old
		d.need, d.allowed, d.requests = need, allowed, requests
		return
	}
	d.most, d.options = make(vec.Vec, len(s.limits)), make([]Option, len(items))
	for k, i := range items {
		o := s.offerings.items[i].o
		d.options[k] = Option{Key: o.Key(), Price: o.Price}
		for j, v := range s.cost[i] {
			d.most[j] = max(d.most[j], v)
		}
	}
	own, d.relaxed = s.lowered(own, items)
	d.requirements = s.requirements(own, d.options)
}

// single reports whether no form has alternatives: then what a claim asks for follows from the node constraints and the options.
func (b *buyer) single(s seller, forms []*nodeConstraint) bool {
	return !slices.ContainsFunc(forms, func(f *nodeConstraint) bool { return len(b.d.allowedOf(s.nodePool, f).terms) != 1 })
}

// candidates are the offerings whose labels suit the deal, the first that also holds it and those that meet the same of the pods'
// terms; these terms; and that first one, -1 when there is none.
func (b *buyer) candidates(d *deal) (bitset.Set, require.Set, int) {
	s := seller{b.pools[b.choices[d.choice].Seller]}
	ok := slices.Clone(s.base)
	for _, f := range d.forms {
		ok.Narrow(b.d.allowedOf(s.nodePool, f).ok)
	}
	first := ok.First()
	for first >= 0 && !(s.room[first].Covers(d.need) && d.allowed.Covers(s.cost[first])) {
		first = ok.Next(first + 1)
	}
	own := s.own
	if first < 0 {
		return bitset.New(len(s.offerings.items)), own, first
	}
	if len(s.choosy) == 0 && !s.offerings.outside.Has(first) && b.d.inside() {
		ok = ok.Minus(s.offerings.outside)
	}
	// Of alternatives, pods take the first that the cheapest offering meets; the claim then asks for it.
	for _, f := range d.forms {
		l := b.d.allowedOf(s.nodePool, f)
		if len(l.terms) == 1 {
			own = own.And(l.terms[0])
			continue
		}
		for _, t := range l.terms {
			if m := s.offerings.filter(ok, t); m.Has(first) {
				ok, own = m, own.And(t)
				break
			}
		}
	}
	return ok, own, first
}

// giveUp closes the pool to the group: too few offerings remain there for its pods to choose from.
func (d *purchasing) giveUp(g *group, s *nodePool) {
	f := *g.constraint
	f.allowed = slices.Clone(f.allowed)
	f.allowed[s.id] = &allowed{ok: bitset.New(len(s.offerings.items))}
	g.constraint = &f
	if g.given == nil {
		g.given = map[int]string{}
	}
	g.given[s.id] = "too few offerings remain for the pod to choose from"
}

func (b *buyer) purchase(x portfolio.Bin) (NewClaim, bool) {
	c := &b.choices[x.Choice]
	s := seller{b.pools[c.Seller]}
	d := b.deal(x)
	b.waiting[s.id]--
	if len(d.options) == 0 {
		b.spare[s.id].Take(c.Cost, -1)
		return NewClaim{}, false
	}
	p := NewClaim{Pool: s.pool.Name, Class: s.pool.Class, Requests: d.requests, Options: d.options, Requirements: d.requirements, Relaxed: d.relaxed}
	for j, v := range d.most {
		b.spare[s.id][j] -= v - c.Cost[j]
		s.left[j] -= v
	}
	n := 0
	m := made{pool: s.nodePool, deal: d}
	for _, l := range x.Loads {
		n += l.N
		if g := b.classes[l.Group]; g.bundled {
			m.loads = append(m.loads, g.members...)
		} else {
			m.loads = append(m.loads, member{g.of, g.cell, l.N})
		}
	}
	b.d.made = append(b.d.made, m)
	p.Pods = make([]model.PodKey, 0, n)
	for _, l := range x.Loads {
		g := b.classes[l.Group]
		n := l.N
		if g.bundled {
			n = len(g.pods) - g.next
		}
		for _, pod := range g.take(n) {
			p.Pods = append(p.Pods, pod.Key())
		}
	}
	slices.SortFunc(p.Pods, compareKeys)
	return p, true
}

func compareKeys(a, b model.PodKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// options picks, in order of preference, at most most of the offerings that hold the pods, and returns what the claim
// must request: the pods and the most that daemons take on any of them. Every option holds that. What comes first in
// from wins where daemons differ so much that two offerings cannot both be options.
func (s seller) options(from []int, pods model.Resources, need vec.Vec, most int) ([]int, model.Resources) {
	if s.steady() && len(s.wanted) == 0 {
		if len(from) > 0 {
			from = s.narrow(from, most)
		}
		return from, pods
	}
	all := from[:0]
	both := make(vec.Vec, 2*len(need))
	over, next := both[:len(need)], both[len(need):]
	seen := bitset.New(len(s.offerings.items))
	for _, i := range from {
		if seen.Has(i) {
			continue
		}
		seen.Add(i)
		if s.light {
			all = append(all, i) // each holds the pods, and no daemon comes beside them
			continue
		}
		grows := len(all) == 0
		for r, v := range s.taken[i] {
			next[r] = max(v, over[r])
			grows = grows || v > over[r]
		}
		fits := s.holds(i, need, next)
		if grows {
			for _, j := range all {
				fits = fits && s.holds(j, need, next)
			}
		}
		if fits {
			all = append(all, i)
			over, next = next, over
		}
	}
	if len(all) == 0 {
		return nil, pods
	}
	slices.Sort(all)
	all, scarce := s.keeping(all)
	if len(all) == 0 {
		return nil, pods
	}
	if !scarce {
		all = s.narrow(all, most)
	}
	var daemons model.Resources
	for k, i := range all {
		if s.light {
			break
		}
		if k == 0 || !s.overhead[i].FitsIn(daemons) {
			daemons = daemons.Max(s.overhead[i])
		}
	}
	return all, pods.Add(daemons)
}

// requirements is what the claim must ask for: own, narrowed to the options' types, zones and capacity types. Labels that
// could still go either way get one value, so that everybody who reads the claim expects the same node.
func (s seller) requirements(own require.Set, options []Option) []model.Requirement {
	types, zones, kinds := make([]string, 0, len(options)), make([]string, 0, 4), make([]string, 0, 2)
	for i := range options {
		k := &options[i].Key
		types = append(types, k.Type)
		if !slices.Contains(zones, k.Zone) {
			zones = append(zones, k.Zone)
		}
		if !slices.Contains(kinds, k.CapacityType) {
			kinds = append(kinds, k.CapacityType)
		}
	}
	out := own.Only(func(k string) bool {
		_, handed := s.pool.Labels[k]
		if _, defined := s.own.Get(k); !defined && !s.offerings.machine(k) {
			return false // the pods accept that the label is absent, and absent it will be
		}
		return k != model.LabelPool && k != classLabel(s.pool.Class) && k != model.LabelHostname && (!handed || s.offerings.machine(k))
	})
	for _, k := range out.Keys() {
		v, _ := out.Get(k)
		if s.offerings.machine(k) {
			continue
		}
		// A label that may be missing is given, too (the pool says NotIn): a pod that asks for the label later finds it there.
		if one, ok := v.Pick(); ok {
			out = out.With(k, require.One(one))
		}
	}
	return out.With(model.LabelInstanceType, require.OneOf(types...)).With(model.LabelZone, require.OneOf(zones...)).
		With(model.LabelCapacityType, require.OneOf(kinds...)).Requirements()
}
