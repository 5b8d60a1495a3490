package topology

import (
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Eligible says which machines count for a spread constraint, as kube-scheduler decides it: those that have all keys, and
// that the pod accepts as far as the constraint's policies ask. Where a pod's volumes can be reached does not matter.
type Eligible struct {
	Text string                  // tells constraints apart
	Keys []int                   // all of them have to be there, sorted
	form *problem.NodeConstraint // with HonorAffinity: the labels that have to be there
	// tolerant are the tolerations that matter with HonorTaints; nil when taints do not.
	tolerant *problem.NodeConstraint
	Spots    []Counting
	// Doms lists, per key, the domains that machines which may count are in, and sure those of machines that do count, sorted.
	Doms, Sure map[int][]int32
	// all lists, per key, these and those that machines on sale which may count would be in, sorted.
	all map[int][]int32
	// outside are domains outside zones that no machine is in yet, and that pods are not spread over while there are zones.
	outside map[int][]int32
	// Many counts machines per domain, for what-ifs.
	Many map[Population]map[int32]int32
	// fresh is set when every new machine that has the keys counts.
	fresh bool
}

// Population names the machines that may count, or do for sure, by a key.
type Population struct {
	Key  int
	Sure bool
}

// Counting says whether a machine counts for a constraint. It is open for machines on their way that may turn out either way.
type Counting int8

const (
	Never Counting = iota
	Perhaps
	Surely
)

// eligibleFor returns which machines count for constraint c of a class, when keys are those of all its constraints.
func (d *builder) eligibleFor(c model.Spread, g *Class, keys []string) (*Eligible, string) {
	t := d.Topo
	e := &Eligible{}
	var b strings.Builder
	if c.HonorAffinity {
		e.form = g.SelectsNodes
		b.WriteString("a")
		for _, x := range e.form.Terms {
			b.WriteString(x.String() + "\n")
		}
	}
	if c.HonorTaints {
		e.tolerant = g.SelectsNodes
		b.WriteString("t")
		for _, x := range g.Tolerations {
			b.WriteString(
				x.Key + "\x00" + x.Op + "\x00" + x.Value + "\x00" + string(x.Effect) + "\n",
			)
		}
	}
	for _, k := range keys {
		e.Keys = append(e.Keys, t.keyOf[k])
	}
	slices.Sort(e.Keys)
	for _, k := range e.Keys {
		b.WriteString("k" + strconv.Itoa(k))
	}
	text := b.String()
	if old := t.Eligs[text]; old != nil {
		return old, text
	}
	t.Eligs[text], e.Text = e, text
	e.Doms, e.Sure, e.all = map[int][]int32{}, map[int][]int32{}, map[int][]int32{}
	e.fresh = (e.form == nil || len(e.form.Terms) == 1 && len(e.form.Terms[0].Keys()) == 0) &&
		(e.tolerant == nil || !slices.ContainsFunc(t.pools,
			func(p model.Pool) bool { return !e.tolerant.Tolerates(p.Taints) }))
	for _, s := range t.Spots {
		e.note(t, s)
	}
	for _, k := range e.Keys {
		e.Doms[k], e.Sure[k] = Sorted(e.Doms[k]), Sorted(e.Sure[k])
		e.all[k] = slices.Clone(e.Doms[k])
	}
	for _, s := range d.Pools {
		if s.Closed.Why == "" &&
			slices.ContainsFunc(t.pools, func(p model.Pool) bool { return p.Name == s.Pool.Name }) {
			e.noteSeller(t, s)
		}
	}
	for _, k := range e.Keys {
		e.all[k] = slices.DeleteFunc(Sorted(e.all[k]), func(dom int32) bool {
			return k != Host &&
				d.Absent[problem.Absence{Eligible: text, Key: t.Keys[k], Value: t.Names[k][dom]}] &&
				!slices.Contains(e.Doms[k], dom)
		})
	}
	if !d.Outside {
		e.stayInside(t)
	}
	return e, text
}

// stayInside leaves aside what is sold outside zones while there are zones: a machine there may stand in any of them, so that it makes nothing
// safer, but would be one more domain to kube-scheduler.
func (e *Eligible) stayInside(t *topology) {
	for _, k := range e.Keys {
		if t.Keys[k] != model.LabelZone {
			continue
		}
		out := func(dom int32) bool {
			return offerings.OutsideZones(t.Names[k][dom]) && !slices.Contains(e.Doms[k], dom)
		}
		if all := e.all[k]; slices.ContainsFunc(all, func(dom int32) bool {
			return !offerings.OutsideZones(t.Names[k][dom])
		}) &&
			slices.ContainsFunc(all, out) {
			e.outside = map[int][]int32{}
			e.all[k] = slices.DeleteFunc(slices.Clone(all), func(dom int32) bool {
				if !out(dom) {
					return false
				}
				e.outside[k] = append(e.outside[k], dom)
				return true
			})
		}
	}
}

// Inside reports whether some pods are spread over zones only, so that no machine may turn out to be outside.
func (d *Ties) Inside() bool {
	for _, e := range d.Topo.Eligs {
		if len(e.outside) > 0 {
			return true
		}
	}
	return false
}

// Barred reports whether a machine in these domains would bring a domain into being that the class's pods are not spread over.
func (g *Rules) Barred(doms []int32) bool {
	return slices.ContainsFunc(g.Spread, func(r SpreadRule) bool {
		return len(r.Term.Elig.outside) > 0 &&
			slices.Contains(r.Term.Elig.outside[r.Term.Key], doms[r.Term.Key])
	})
}

// Sorted sorts the domains in place, each once.
func Sorted(list []int32) []int32 {
	slices.Sort(list)
	return slices.Compact(list)
}

// note adds a machine that is there or on its way.
func (e *Eligible) note(t *topology, s *Spot) {
	c := e.Judge(t, s)
	e.Spots = append(e.Spots, c)
	if c == Never {
		return
	}
	for _, k := range e.Keys {
		if dom := s.Doms[k]; dom >= 0 {
			e.Doms[k] = append(e.Doms[k], dom)
			if c == Surely {
				e.Sure[k] = append(e.Sure[k], dom)
			}
		}
		for _, v := range s.May[t.Keys[k]] {
			e.Doms[k] = append(e.Doms[k], t.Dom(k, v))
		}
	}
}

// Judge reports whether a machine counts.
func (e *Eligible) Judge(t *topology, s *Spot) Counting {
	out := Surely
	for _, k := range e.Keys {
		switch s.Doms[k] {
		case Unknown:
			return Never
		case Either:
			out = Perhaps
		}
	}
	if e.tolerant != nil && !e.tolerant.Tolerates(s.Taints) {
		return Never
	}
	if e.form == nil {
		return out
	}
	if s.Claim == nil {
		if problem.AnyAllows(e.form.Terms, s.Labels) {
			return out
		}
		return Never
	}
	if slices.ContainsFunc(e.form.Terms, s.Claim.Sure) {
		return out
	}
	if slices.ContainsFunc(e.form.Terms, s.Claim.Could) {
		return Perhaps
	}
	return Never
}

// noteSeller adds the domains that new machines of a pool would be in, those included that count although the pods cannot use them.
func (e *Eligible) noteSeller(t *topology, s *problem.NodePool) {
	if e.tolerant != nil && !e.tolerant.Tolerates(s.Pool.Taints) {
		return
	}
	terms := []require.Set{{}}
	if e.form != nil {
		terms = e.form.Terms
	}
	for _, term := range terms {
		if s.Conflict(term) != "" {
			continue
		}
		items := s.Offerings.Filter(
			s.Affordable(&problem.Allowed{OK: s.Base.And(s.Offerings.Available)}),
			s.Own.And(term).Only(func(k string) bool { _, ok := term.Get(k); return ok }),
		)
		free := s.Own.And(term).Only(s.Open)
		for _, k := range e.Keys {
			if c := s.Offerings.Keys[t.Keys[k]]; c != nil {
				items = items.Minus(c.Absent)
			} else if v, defined := s.Own.Get(t.Keys[k]); k != Host &&
				(!defined || !v.HasValues()) {
				items = nil
			}
		}
		if items.First() < 0 {
			continue
		}
		for _, k := range e.Keys {
			if c := s.Offerings.Keys[t.Keys[k]]; c != nil {
				for i, v := range c.Values {
					if items.Meets(c.Sets[i]) {
						e.all[k] = append(e.all[k], t.Dom(k, v))
					}
				}
				continue
			}
			for _, v := range s.HandsOut(t.Keys[k], free, t.Said[k]) {
				if k != Host && v != "" {
					e.all[k] = append(e.all[k], t.Dom(k, v))
				}
			}
		}
	}
}

// Domains works out, per spread rule, the domains among which pods are spread: those of machines that count, and, where machines may be
// bought, those where one may come to be. Others may bring a domain into being where these pods themselves cannot go.
func (g *Class) Domains(buying bool) {
	g.Among = make([][]int32, 0, len(g.Spread))
	for _, r := range g.Spread {
		list := r.Term.Elig.Doms[r.Term.Key]
		if buying && r.Term.Key != Host {
			list = r.Term.Elig.all[r.Term.Key]
		}
		g.Among = append(g.Among, list)
	}
}

// AnyIn reports whether a machine that may count is in the domain, or may turn out to be.
func (e *Eligible) AnyIn(t *topology, key int, dom int32) bool {
	for i, s := range t.Spots {
		if e.Spots[i] != Never && s.mayBe(t, key, dom) {
			return true
		}
	}
	return false
}

// mayBe reports whether the machine is in the domain, or may turn out to be.
func (s *Spot) mayBe(t *topology, key int, dom int32) bool {
	return s.Doms[key] == dom ||
		s.Doms[key] == Either && slices.Contains(s.May[t.Keys[key]], t.Names[key][dom])
}
