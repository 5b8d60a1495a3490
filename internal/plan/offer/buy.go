package offer

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
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
	d       *Purchasing
	pools   []*problem.NodePool
	classes []*assign.Group
	choices []choice
	most    int // options per new claim
	// spare is, per pool, what the limits leave after all bins; waiting counts bins not turned into new claims yet.
	spare   []vec.Vec
	waiting []int
	// last is the deal that was made last; the others are what the next one asks.
	last          *Deal
	need, allowed vec.Vec
	forms         []*problem.NodeConstraint
	order         []int
}

// purchases builds the new claims of a draft. A bin of which too few offerings remain is given up, and its pool is closed
// to its groups: given says how many, so that the caller may try elsewhere.
func (b *buyer) purchases(d *portfolio.Draft) (out []answer.NewClaim, given int) {
	b.waiting = make([]int, len(b.pools))
	for _, x := range d.Bins {
		b.waiting[b.choices[x.Choice].Seller]++
	}
	slices.SortStableFunc(d.Bins, func(x, y portfolio.Bin) int {
		return cmp.Or(
			cmp.Compare(x.Choice, y.Choice),
			slices.CompareFunc(x.Loads, y.Loads, func(l, m portfolio.Load) int {
				return cmp.Or(cmp.Compare(l.Group, m.Group), cmp.Compare(m.N, l.N))
			}),
		)
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

// Deal is what new claims share that need the same of machines of one choice.
type Deal struct {
	choice  int
	need    vec.Vec // pods
	allowed vec.Vec // of the limits
	forms   []*problem.NodeConstraint
	// The answer; options is empty when too few offerings remain.
	options      []answer.Option
	Requirements []model.Requirement
	relaxed      bool
	requests     model.Resources
	Items        bitset.Set
	most         vec.Vec // what the dearest option takes from the limits
}

// deal works out what may carry the bin within its share of the limits. Bins come sorted, so those that are alike follow each other
// and share one answer.
func (b *buyer) deal(x portfolio.Bin) *Deal {
	c := &b.choices[x.Choice]
	b.need, b.allowed = append(b.need[:0], c.Room...), append(b.allowed[:0], c.Cost...)
	b.forms = b.forms[:0]
	clear(b.need)
	addNeeds(b.need, x, b.classes)
	for _, l := range x.Loads {
		g := b.classes[l.Group]
		if !slices.Contains(b.forms, g.Constraint) {
			b.forms = append(b.forms, g.Constraint)
		}
	}
	for i := range b.allowed {
		b.allowed[i] += b.spare[c.Seller][i] / int64(max(b.waiting[c.Seller], 1))
	}
	if old := b.last; old != nil && old.choice == x.Choice && slices.Equal(old.need, b.need) &&
		slices.Equal(old.allowed, b.allowed) &&
		slices.Equal(old.forms, b.forms) {
		return old
	}
	d := &Deal{
		choice:  x.Choice,
		need:    b.need.Clone(),
		allowed: b.allowed.Clone(),
		forms:   slices.Clone(b.forms),
	}
	b.answer(d)
	b.last = d
	return d
}

// answer fills in what machines the deal may ask for.
func (b *buyer) answer(d *Deal) {
	c := &b.choices[d.choice]
	s := seller{b.pools[c.Seller]}
	fits, own, first := b.candidates(d)
	order, sight := append(b.order[:0], c.company...), sight{pool: s.NodePool, most: b.most}
	t, all := s.Variety(), len(s.Wanted) > 0 && len(s.Bounded) > 0
	more := func() bool { return len(order) < longList*b.most || all || !t.Full() }
	for i := first; i >= 0 && more(); i = fits.Next(i + 1) {
		if !s.Room[i].Covers(d.need) || !d.allowed.Covers(s.Cost[i]) {
			continue
		}
		t.Add(i)
		if order = append(order, i); s.steady() && sight.sated(i) && t.Full() {
			break
		}
	}
	b.order = order
	items, requests := s.options(order, s.Names.Resources(d.need), d.need, b.most)
	if len(items) == 0 || !s.Enough(items) {
		return
	}
	d.requests, d.Items = requests, bitset.New(len(s.Offerings.Items))
	for _, i := range items {
		d.Items.Add(i)
	}
	if old := b.last; old != nil && old.choice == d.choice && slices.Equal(old.Items, d.Items) &&
		slices.Equal(old.forms, d.forms) &&
		b.single(s, d.forms) {
		need, allowed := d.need, d.allowed
		*d = *old
		d.need, d.allowed, d.requests = need, allowed, requests
		return
	}
	d.most, d.options = make(vec.Vec, len(s.Limits)), make([]answer.Option, len(items))
	for k, i := range items {
		o := s.Offerings.Items[i].Offering
		d.options[k] = answer.Option{Key: o.Key(), Price: o.Price}
		for j, v := range s.Cost[i] {
			d.most[j] = max(d.most[j], v)
		}
	}
	own, d.relaxed = s.lowered(own, items)
	d.Requirements = s.requirements(own, d.options)
}

// single reports whether no form has alternatives: then what a claim asks for follows from the node constraints and the options.
func (b *buyer) single(s seller, forms []*problem.NodeConstraint) bool {
	return !slices.ContainsFunc(forms, func(f *problem.NodeConstraint) bool {
		return len(b.d.AllowedOf(s.NodePool, f).Terms) != 1
	})
}

// candidates are the offerings whose labels suit the deal, the first that also holds it and those that meet the same of the pods'
// terms; these terms; and that first one, -1 when there is none.
func (b *buyer) candidates(d *Deal) (bitset.Set, require.Set, int) {
	s := seller{b.pools[b.choices[d.choice].Seller]}
	ok := slices.Clone(s.Base)
	for _, f := range d.forms {
		ok.Narrow(b.d.AllowedOf(s.NodePool, f).OK)
	}
	first := ok.First()
	for first >= 0 && !(s.Room[first].Covers(d.need) && d.allowed.Covers(s.Cost[first])) {
		first = ok.Next(first + 1)
	}
	own := s.Own
	if first < 0 {
		return bitset.New(len(s.Offerings.Items)), own, first
	}
	if len(s.Choosy) == 0 && !s.Offerings.Outside.Has(first) && b.d.Inside() {
		ok = ok.Minus(s.Offerings.Outside)
	}
	// Of alternatives, pods take the first that the cheapest offering meets; the claim then asks for it.
	for _, f := range d.forms {
		l := b.d.AllowedOf(s.NodePool, f)
		if len(l.Terms) == 1 {
			own = own.And(l.Terms[0])
			continue
		}
		for _, t := range l.Terms {
			if m := s.Offerings.Filter(ok, t); m.Has(first) {
				ok, own = m, own.And(t)
				break
			}
		}
	}
	return ok, own, first
}

// giveUp closes the pool to the group: too few offerings remain there for its pods to choose from.
func (d *Purchasing) giveUp(g *assign.Group, s *problem.NodePool) {
	f := *g.Constraint
	f.Allowed = slices.Clone(f.Allowed)
	f.Allowed[s.ID] = &problem.Allowed{OK: bitset.New(len(s.Offerings.Items))}
	g.Constraint = &f
	if g.Given == nil {
		g.Given = map[int]string{}
	}
	g.Given[s.ID] = "too few offerings remain for the pod to choose from"
}

func (b *buyer) purchase(x portfolio.Bin) (answer.NewClaim, bool) {
	c := &b.choices[x.Choice]
	s := seller{b.pools[c.Seller]}
	d := b.deal(x)
	b.waiting[s.ID]--
	if len(d.options) == 0 {
		b.spare[s.ID].Take(c.Cost, -1)
		return answer.NewClaim{}, false
	}
	p := answer.NewClaim{
		Pool:         s.Pool.Name,
		Class:        s.Pool.Class,
		Requests:     d.requests,
		Options:      d.options,
		Requirements: d.Requirements,
		Relaxed:      d.relaxed,
	}
	for j, v := range d.most {
		b.spare[s.ID][j] -= v - c.Cost[j]
		s.Left[j] -= v
	}
	n := 0
	m := Made{Pool: s.NodePool, Deal: d, Loads: make([]assign.Member, 0, len(x.Loads))}
	for _, l := range x.Loads {
		n += l.N
		if g := b.classes[l.Group]; g.Bundled {
			m.Loads = append(m.Loads, g.Members...)
		} else {
			m.Loads = append(m.Loads, assign.Member{Class: g.Of, Cell: g.Cell, N: l.N})
		}
	}
	b.d.Made = append(b.d.Made, m)
	p.Pods = make([]model.PodKey, 0, n)
	for _, l := range x.Loads {
		g := b.classes[l.Group]
		n := l.N
		if g.Bundled {
			n = len(g.Pods) - g.Next
		}
		for _, pod := range g.Take(n) {
			p.Pods = append(p.Pods, pod.Key())
		}
	}
	slices.SortFunc(p.Pods, answer.CompareKeys)
	return p, true
}

// options picks, in order of preference, at most most of the offerings that hold the pods, and returns what the claim
// must request: the pods and the most that daemons take on any of them. Every option holds that. What comes first in
// from wins where daemons differ so much that two offerings cannot both be options.
func (s seller) options(
	from []int,
	pods model.Resources,
	need vec.Vec,
	most int,
) ([]int, model.Resources) {
	if s.steady() && len(s.Wanted) == 0 {
		if len(from) > 0 {
			from = s.narrow(from, most)
		}
		return from, pods
	}
	all := from[:0]
	both := make(vec.Vec, 2*len(need))
	over, next := both[:len(need)], both[len(need):]
	seen := bitset.New(len(s.Offerings.Items))
	for _, i := range from {
		if seen.Has(i) {
			continue
		}
		seen.Add(i)
		if s.Light {
			all = append(all, i) // each holds the pods, and no daemon comes beside them
			continue
		}
		grows := len(all) == 0
		for r, v := range s.Taken[i] {
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
		if s.Light {
			break
		}
		if k == 0 || !s.Overhead[i].FitsIn(daemons) {
			daemons = daemons.Max(s.Overhead[i])
		}
	}
	return all, pods.Add(daemons)
}

// requirements is what the claim must ask for: own, narrowed to the options' types, zones and capacity types. Labels that
// could still go either way get one value, so that everybody who reads the claim expects the same node.
func (s seller) requirements(own require.Set, options []answer.Option) []model.Requirement {
	types := make([]string, 0, len(options))
	zones, kinds := make([]string, 0, 4), make([]string, 0, 2)
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
		_, handed := s.Pool.Labels[k]
		if _, defined := s.Own.Get(k); !defined && !s.Offerings.Machine(k) {
			return false // the pods accept that the label is absent, and absent it will be
		}
		return k != model.LabelPool && k != problem.ClassLabel(s.Pool.Class) &&
			k != model.LabelHostname &&
			(!handed || s.Offerings.Machine(k))
	})
	for _, k := range out.Keys() {
		v, _ := out.Get(k)
		if s.Offerings.Machine(k) {
			continue
		}
		// A label that may be missing is given, too (the pool says NotIn): a pod that asks for the label later finds it there.
		if one, ok := v.Pick(); ok {
			out = out.With(k, require.One(one))
		}
	}
	return out.With(model.LabelInstanceType, require.OneOf(types...)).
		With(model.LabelZone, require.OneOf(zones...)).
		With(model.LabelCapacityType, require.OneOf(kinds...)).
		Requirements()
}
