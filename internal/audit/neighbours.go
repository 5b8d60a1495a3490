package audit

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// How much of what may happen is looked at. A plan keeps what pods ask of each other whichever options are bought, so several
// outcomes are played through: the cheapest option everywhere, and for every label and every two of its values, all machines that may
// go to the one value going there and shunning the other, which is the worst that can happen to a spread between the two.
const (
	maxOutcomes = 64
	maxAlone    = 24 // outcomes in which one machine stands where nobody else does
	// Orders of binding that are tried before a plan is called stuck: so many for each unit of a plan with few, and else few.
	fewUnits      = 100
	ordersForUnit = 8
	fewOrders     = 12
)

// related reports whether any pod of the plan has a say about its neighbours, or a running pod or a daemon about a pod of the plan.
func (a *audit) related() bool {
	any := false
	for i := range a.subjects {
		s := &a.subjects[i]
		if s.placed && s.says > 0 {
			return true
		}
		any = any || s.placed
	}
	if !any {
		return false
	}
	refuses := func(d model.Daemon) bool { return len(d.Pod.PodAntiAffinity) > 0 }
	if a.w.Index.Refusing().Len() == 0 && !slices.ContainsFunc(a.w.Daemons, refuses) {
		return false
	}
	l := newLookup(a.w, a.placed())
	for i := range a.w.Daemons {
		if slices.ContainsFunc(a.w.Daemons[i].Pod.PodAntiAffinity, l.picks) {
			return true
		}
	}
	for k := range a.w.Index.Refusing().All() {
		if slices.ContainsFunc(k.Pod().PodAntiAffinity, l.picks) {
			return true
		}
	}
	return false
}

// saying is the number of what a pod requires of its neighbours, the same for pods that require the same; 0 when that is nothing.
func (a *audit) saying(p *subject) int {
	b := a.text[:0]
	for i := range p.Spread {
		if s := &p.Spread[i]; s.Hard {
			b = append(strconv.AppendInt(append(b, 's'), int64(s.MaxSkew), 10), ' ')
			b = append(strconv.AppendInt(b, int64(s.MinDomains), 10), ' ')
			b = appendTerm(b, model.PodTerm{Key: s.Key, Selector: s.Selector})
			b = append(strconv.AppendBool(b, s.HonorAffinity), ' ')
			b = appendNodes(b, p, s)
		}
	}
	for _, x := range p.PodAffinity {
		b = appendTerm(append(b, 'n'), x)
	}
	for _, x := range p.PodAntiAffinity {
		b = appendTerm(append(b, 'a'), x)
	}
	if a.text = b; len(b) == 0 {
		return 0
	}
	n, known := a.sayings[string(b)]
	if !known {
		n = len(a.sayings) + 1
		a.sayings[string(b)] = n
		a.hear(p.Pod)
	}
	return n
}

// hear notes the labels that a pod's terms ask of others.
func (a *audit) hear(p *model.Pod) {
	ask := func(s *model.Selector) {
		if s == nil {
			return
		}
		for i := range s.Requirements {
			if key := s.Requirements[i].Key; !slices.Contains(a.asked, key) {
				a.asked = append(a.asked, key)
			}
		}
	}
	for i := range p.Spread {
		ask(p.Spread[i].Selector)
	}
	for i := range p.PodAffinity {
		ask(p.PodAffinity[i].Selector)
	}
	for i := range p.PodAntiAffinity {
		ask(p.PodAntiAffinity[i].Selector)
	}
}

// placed yields the pods that the plan gives a place.
func (a *audit) placed() iter.Seq[*model.Pod] {
	return func(yield func(*model.Pod) bool) {
		for i := range a.subjects {
			if s := &a.subjects[i]; s.placed && !yield(s.Pod) {
				return
			}
		}
	}
}

// lookup answers whether a term picks any of some pods.
type lookup struct {
	namespaces map[string]map[string]string
	pods       []*model.Pod // one of each namespace and set of labels
	byLabel    map[[2]string][]*model.Pod
}

func newLookup(w model.World, pods iter.Seq[*model.Pod]) *lookup {
	l := &lookup{namespaces: map[string]map[string]string{}, byLabel: map[[2]string][]*model.Pod{}}
	for _, n := range w.Namespaces {
		l.namespaces[n.Name] = n.Labels
	}
	seen := map[string]bool{}
	for p := range pods {
		text := p.Namespace
		for _, k := range slices.Sorted(maps.Keys(p.Labels)) {
			text += "\x00" + k + "\x00" + p.Labels[k]
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		l.pods = append(l.pods, p)
		for k, v := range p.Labels {
			l.byLabel[[2]string{k, v}] = append(l.byLabel[[2]string{k, v}], p)
		}
	}
	return l
}

// picks reports whether the term picks one of the pods. Those that lack a label that it asks for need not be asked.
func (l *lookup) picks(t model.PodTerm) bool {
	if t.Selector == nil {
		return false
	}
	one := func(p *model.Pod) bool { return picks(l.namespaces, t, p) }
	for _, r := range t.Selector.Requirements {
		if r.Op == model.In {
			return slices.ContainsFunc(r.Values, func(v string) bool { return slices.ContainsFunc(l.byLabel[[2]string{r.Key, v}], one) })
		}
	}
	return slices.ContainsFunc(l.pods, one)
}

// neighbours checks topology spread, pod affinity and pod anti-affinity of all that was placed, as kube-scheduler would at
// each pod's turn. Nodes that are leaving count until they are gone: the plan is sound if it is with them or without them.
func (a *audit) neighbours() {
	if !a.tied {
		return
	}
	t := newTallies(a)
	a.ties = t
	if len(t.kins) == 0 {
		return
	}
	outcomes, all := a.alone(t)
	if !all {
		a.openNeighbours(t)
	}
	for _, pick := range append(a.outcomes(t), outcomes...) {
		bad := t.play(pick, false)
		if len(bad) > 0 && slices.ContainsFunc(a.machines, func(m *machine) bool { return m.leaving }) {
			if gone := t.play(pick, true); len(gone) == 0 {
				bad = nil
			}
		}
		if len(bad) > 0 {
			a.out = append(a.out, bad...)
			return
		}
	}
}

// outcomes lists which face each machine shows in each of the ways that things may turn out.
func (a *audit) outcomes(t *tallies) [][]int {
	first := make([]int, len(a.machines))
	out := [][]int{first}
	keys := t.byName(len(t.keys), func(k int) string { return t.keys[k] })
	for _, k := range keys {
		if !slices.ContainsFunc(a.machines, func(m *machine) bool { return len(m.form.values[k]) > 1 }) {
			continue
		}
		all := t.byName(len(t.names[k]), func(v int) string { return t.names[k][v] })
		for _, to := range all {
			for _, shun := range all {
				if to == shun || len(out) >= maxOutcomes {
					continue
				}
				pick := make([]int, len(a.machines))
				for i, m := range a.machines {
					pick[i] = choose(m.form.values[k], to, shun)
				}
				out = append(out, pick)
			}
		}
	}
	return out
}

// byName lists the numbers below n in the order of their names.
func (t *tallies) byName(n int, name func(int) string) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, func(x, y int) int { return strings.Compare(name(x), name(y)) })
	return out
}

// choose picks the face that shows one value, or else one that does not show the other.
func choose(may []seen, to, shun int) int {
	for _, x := range may {
		if x.value == to {
			return x.face
		}
	}
	for _, x := range may {
		if x.value != shun {
			return x.face
		}
	}
	return 0
}

// alone lists, for every machine with an open domain whose pods look for others, the outcomes in which it stands in one domain and
// whoever can is elsewhere. all is false when there are too many to play.
func (a *audit) alone(t *tallies) (out [][]int, all bool) {
	type stand struct{ machine, key, value int }
	done := map[stand]bool{}
	for _, u := range t.units {
		if u.kin.looks == nil {
			continue
		}
		for _, k := range u.kin.looks.keys {
			values := a.machines[u.machine].form.values[k]
			for _, v := range values {
				at := stand{u.machine, k, v.value}
				if len(values) < 2 || done[at] {
					continue
				}
				if done[at] = true; len(out) == maxAlone {
					return nil, false
				}
				pick := make([]int, len(a.machines))
				for i, o := range a.machines {
					pick[i] = elsewhere(o.form.values[k], v.value)
				}
				pick[u.machine] = v.face
				out = append(out, pick)
			}
		}
	}
	return out, true
}

// elsewhere picks the first face that does not show a value of a label.
func elsewhere(may []seen, value int) int {
	first := -1
	for _, x := range may {
		if (x.value != value || value == unknown) && (first < 0 || x.face < first) {
			first = x.face
		}
	}
	return max(0, first)
}

// openNeighbours checks pods with required pod affinity on machines whose domain is open still, where there are too many of them to play
// it through. Whatever the domain turns out to be, what they look for must be there: on the same machine without looking for
// anything itself, or on a machine that can be nowhere else.
func (a *audit) openNeighbours(t *tallies) {
	for _, u := range t.units {
		x := u.kin.looks
		if x == nil {
			continue
		}
		m := a.machines[u.machine]
		for i, k := range x.keys {
			values := m.form.values[k]
			if len(values) < 2 {
				continue
			}
			apart, here := false, false
			fixed := map[int]bool{}
			other := func(machine int, looks bool) {
				if machine == u.machine {
					here = here || !looks
					return
				}
				apart = true
				if at := a.machines[machine].form.values[k]; len(at) == 1 && at[0].value != unknown {
					fixed[at[0].value] = true
				}
			}
			for _, v := range x.units {
				other(v.machine, v.kin.looks != nil)
			}
			for _, s := range x.there {
				other(s.machine, len(s.pod.PodAffinity) > 0)
			}
			for _, v := range values {
				if apart && !here && !fixed[v.value] {
					a.bad(Affinity, "%s: pod %s may come to %s of %s, where nothing that it looks for is certain to run", m.name, u.first.Key(), t.name(k, v.value), x.terms[i].Key)
					break
				}
			}
		}
	}
}

func termText(t model.PodTerm) string { return string(appendTerm(nil, t)) }

// appendTerm appends what tells terms apart.
func appendTerm(b []byte, t model.PodTerm) []byte {
	b = quoted(b, canonical(t.Key))
	texts := func(list []string) {
		b = append(b, ' ')
		for _, v := range list {
			b = quoted(b, v)
		}
	}
	texts(t.Namespaces)
	for _, s := range []*model.Selector{t.Selector, t.NamespaceSelector} {
		if s == nil {
			b = append(b, " nothing"...)
			continue
		}
		for _, r := range s.Requirements {
			b = quoted(append(b, ' '), r.Key)
			b = append(b, r.Op...)
			texts(r.Values)
			b = append(b, ';')
		}
		b = append(b, '.')
	}
	return b
}
