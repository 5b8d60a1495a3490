package place

import (
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// eligible says which machines count for a spread constraint, as kube-scheduler decides it: those that have all keys, and
// that the pod accepts as far as the constraint's policies ask. Where a pod's volumes can be reached does not matter.
type eligible struct {
	text string          // tells constraints apart
	keys []int           // all of them have to be there, sorted
	form *nodeConstraint // with HonorAffinity: the labels that have to be there
	// tolerant are the tolerations that matter with HonorTaints; nil when taints do not.
	tolerant *nodeConstraint
	spots    []counting
	// doms lists, per key, the domains that machines which may count are in, and sure those of machines that do count, sorted.
	doms, sure map[int][]int32
	// all lists, per key, these and those that machines on sale which may count would be in, sorted.
	all map[int][]int32
	// outside are domains outside zones that no machine is in yet, and that pods are not spread over while there are zones.
	outside map[int][]int32
	// many counts machines per domain, for what-ifs.
	many map[population]map[int32]int32
	// fresh is set when every new machine that has the keys counts.
	fresh bool
}

// population names the machines that may count, or do for sure, by a key.
type population struct {
	key  int
	sure bool
}

// counting says whether a machine counts for a constraint. It is open for machines on their way that may turn out either way.
type counting int8

const (
	never counting = iota
	perhaps
	surely
)

// eligibleFor returns which machines count for constraint c of a group, when keys are those of all its constraints.
func (d *builder) eligibleFor(c model.Spread, g *tiedClass, keys []string) (*eligible, string) {
	t := d.topo
	e := &eligible{}
	var b strings.Builder
	if c.HonorAffinity {
		e.form = g.selectsNodes
		b.WriteString("a")
		for _, x := range e.form.terms {
			b.WriteString(x.String() + "\n")
		}
	}
	if c.HonorTaints {
		e.tolerant = g.selectsNodes
		b.WriteString("t")
		for _, x := range g.tolerations {
			b.WriteString(x.Key + "\x00" + x.Op + "\x00" + x.Value + "\x00" + string(x.Effect) + "\n")
		}
	}
	for _, k := range keys {
		e.keys = append(e.keys, t.keyOf[k])
	}
	slices.Sort(e.keys)
	for _, k := range e.keys {
		b.WriteString("k" + strconv.Itoa(k))
	}
	text := b.String()
	if old := t.eligs[text]; old != nil {
		return old, text
	}
	t.eligs[text], e.text = e, text
	e.doms, e.sure, e.all = map[int][]int32{}, map[int][]int32{}, map[int][]int32{}
	e.fresh = (e.form == nil || len(e.form.terms) == 1 && len(e.form.terms[0].Keys()) == 0) &&
		(e.tolerant == nil || !slices.ContainsFunc(t.pools, func(p model.Pool) bool { return !e.tolerant.tolerates(p.Taints) }))
	for _, s := range t.spots {
		e.note(t, s)
	}
	for _, k := range e.keys {
		e.doms[k], e.sure[k] = sorted(e.doms[k]), sorted(e.sure[k])
		e.all[k] = slices.Clone(e.doms[k])
	}
	for _, s := range d.pools {
		if s.closed.Why == "" && slices.ContainsFunc(t.pools, func(p model.Pool) bool { return p.Name == s.pool.Name }) {
			e.noteSeller(t, s)
		}
	}
	for _, k := range e.keys {
		e.all[k] = slices.DeleteFunc(sorted(e.all[k]), func(dom int32) bool {
			return k != host && d.absent[absence{text, t.keys[k], t.names[k][dom]}] && !slices.Contains(e.doms[k], dom)
		})
	}
	if !d.outside {
		e.stayInside(t)
	}
	return e, text
}

// stayInside leaves aside what is sold outside zones while there are zones: a machine there may stand in any of them, so that it makes nothing
// safer, but would be one more domain to kube-scheduler.
func (e *eligible) stayInside(t *topology) {
	for _, k := range e.keys {
		if t.keys[k] != model.LabelZone {
			continue
		}
		out := func(dom int32) bool { return outsideZones(t.names[k][dom]) && !slices.Contains(e.doms[k], dom) }
		if all := e.all[k]; slices.ContainsFunc(all, func(dom int32) bool { return !outsideZones(t.names[k][dom]) }) && slices.ContainsFunc(all, out) {
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

// inside reports whether some pods are spread over zones only, so that no machine may turn out to be outside.
func (d *ties) inside() bool {
	for _, e := range d.topo.eligs {
		if len(e.outside) > 0 {
			return true
		}
	}
	return false
}

// barred reports whether a machine in these domains would bring a domain into being that the group's pods are not spread over.
func (g *rules) barred(doms []int32) bool {
	return slices.ContainsFunc(g.spread, func(r spreadRule) bool {
		return len(r.term.elig.outside) > 0 && slices.Contains(r.term.elig.outside[r.term.key], doms[r.term.key])
	})
}

func sorted(list []int32) []int32 {
	slices.Sort(list)
	return slices.Compact(list)
}

// note adds a machine that is there or on its way.
func (e *eligible) note(t *topology, s *spot) {
	c := e.judge(t, s)
	e.spots = append(e.spots, c)
	if c == never {
		return
	}
	for _, k := range e.keys {
		if dom := s.doms[k]; dom >= 0 {
			e.doms[k] = append(e.doms[k], dom)
			if c == surely {
				e.sure[k] = append(e.sure[k], dom)
			}
		}
		for _, v := range s.may[t.keys[k]] {
			e.doms[k] = append(e.doms[k], t.dom(k, v))
		}
	}
}

// judge reports whether a machine counts.
func (e *eligible) judge(t *topology, s *spot) counting {
	out := surely
	for _, k := range e.keys {
		switch s.doms[k] {
		case unknown:
			return never
		case either:
			out = perhaps
		}
	}
	if e.tolerant != nil && !e.tolerant.tolerates(s.taints) {
		return never
	}
	if e.form == nil {
		return out
	}
	if s.claim == nil {
		if anyAllows(e.form.terms, s.labels) {
			return out
		}
		return never
	}
	if slices.ContainsFunc(e.form.terms, s.claim.sure) {
		return out
	}
	if slices.ContainsFunc(e.form.terms, s.claim.could) {
		return perhaps
	}
	return never
}

// noteSeller adds the domains that new machines of a pool would be in, those included that count although the pods cannot use them.
func (e *eligible) noteSeller(t *topology, s *nodePool) {
	if e.tolerant != nil && !e.tolerant.tolerates(s.pool.Taints) {
		return
	}
	terms := []require.Set{{}}
	if e.form != nil {
		terms = e.form.terms
	}
	for _, term := range terms {
		if s.conflict(term) != "" {
			continue
		}
		items := s.offerings.filter(s.affordable(&allowed{ok: s.base.And(s.offerings.available)}), s.own.And(term).Only(func(k string) bool { _, ok := term.Get(k); return ok }))
		free := s.own.And(term).Only(s.open)
		for _, k := range e.keys {
			if c := s.offerings.keys[t.keys[k]]; c != nil {
				has := bitset.New(len(s.offerings.items))
				for _, x := range c.sets {
					has.Or(x)
				}
				items = items.And(has)
			} else if v, defined := s.own.Get(t.keys[k]); k != host && (!defined || !v.HasValues()) {
				items = nil
			}
		}
		if items.First() < 0 {
			continue
		}
		for _, k := range e.keys {
			if c := s.offerings.keys[t.keys[k]]; c != nil {
				for i, v := range c.values {
					if items.And(c.sets[i]).First() >= 0 {
						e.all[k] = append(e.all[k], t.dom(k, v))
					}
				}
				continue
			}
			for _, v := range s.handsOut(t.keys[k], free, t.said[k]) {
				if k != host && v != "" {
					e.all[k] = append(e.all[k], t.dom(k, v))
				}
			}
		}
	}
}

// domains works out, per spread rule, the domains among which pods are spread: those of machines that count, and, where machines may be
// bought, those where one may come to be. Others may bring a domain into being where these pods themselves cannot go.
func (g *tiedClass) domains(buying bool) {
	g.among = make([][]int32, 0, len(g.spread))
	for _, r := range g.spread {
		list := r.term.elig.doms[r.term.key]
		if buying && r.term.key != host {
			list = r.term.elig.all[r.term.key]
		}
		g.among = append(g.among, list)
	}
}

// anyIn reports whether a machine that may count is in the domain, or may turn out to be.
func (e *eligible) anyIn(t *topology, key int, dom int32) bool {
	for i, s := range t.spots {
		if e.spots[i] != never && s.mayBe(t, key, dom) {
			return true
		}
	}
	return false
}

// mayBe reports whether the machine is in the domain, or may turn out to be.
func (s *spot) mayBe(t *topology, key int, dom int32) bool {
	return s.doms[key] == dom || s.doms[key] == either && slices.Contains(s.may[t.keys[key]], t.names[key][dom])
}
