package audit

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

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
	for p := range a.placed {
		if len(p.PodAffinity)+len(p.PodAntiAffinity) > 0 || slices.ContainsFunc(p.Spread, func(s model.Spread) bool { return s.Hard }) {
			return true
		}
	}
	if len(a.placed) == 0 {
		return false
	}
	refuses := func(d model.Daemon) bool { return len(d.Pod.PodAntiAffinity) > 0 }
	if a.w.Index.Refusing().Len() == 0 && !slices.ContainsFunc(a.w.Daemons, refuses) {
		return false
	}
	l := newLookup(a.w, maps.Keys(a.placed))
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
	if !a.related() {
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
	for _, key := range slices.Sorted(maps.Keys(t.keys)) {
		may := make([]map[string]int, len(a.machines)) // value → first face that shows it
		all, open := map[string]bool{}, false
		for i, m := range a.machines {
			may[i] = map[string]int{}
			for j, f := range m.faces {
				if v, ok := f.domain(key, m); ok {
					if _, seen := may[i][v]; !seen {
						may[i][v] = j
					}
					all[v] = true
				}
			}
			open = open || len(may[i]) > 1
		}
		if !open {
			continue
		}
		for _, to := range slices.Sorted(maps.Keys(all)) {
			for _, shun := range slices.Sorted(maps.Keys(all)) {
				if to == shun || len(out) >= maxOutcomes {
					continue
				}
				pick := make([]int, len(a.machines))
				for i := range a.machines {
					pick[i] = choose(may[i], to, shun)
				}
				out = append(out, pick)
			}
		}
	}
	return out
}

// choose picks the face that shows one value, or else one that does not show the other.
func choose(may map[string]int, to, shun string) int {
	if j, ok := may[to]; ok {
		return j
	}
	for _, v := range slices.Sorted(maps.Keys(may)) {
		if v != shun {
			return may[v]
		}
	}
	return 0
}

// domain is the machine's value of a label as far as pods' topology is concerned.
func (f *face) domain(key string, m *machine) (string, bool) {
	key = canonical(key)
	if v, ok := f.labels[key]; ok {
		return v, true
	}
	if choices := f.either[key]; len(choices) > 0 {
		return choices[0], true
	}
	if key == model.LabelHostname {
		return "the host of " + m.name, true
	}
	return "", false
}

// alone lists, for every machine with an open domain whose pods look for others, the outcomes in which it stands in one domain and
// whoever can is elsewhere. all is false when there are too many to play.
func (a *audit) alone(t *tallies) (out [][]int, all bool) {
	done := map[string]bool{}
	for _, u := range t.units {
		if u.kin.looks == nil {
			continue
		}
		m := a.machines[u.machine]
		for _, term := range u.kin.looks.terms {
			for _, v := range m.values(term.Key) {
				text := fmt.Sprint(u.machine, term.Key, v)
				if len(m.values(term.Key)) < 2 || done[text] {
					continue
				}
				if done[text] = true; len(out) == maxAlone {
					return nil, false
				}
				pick := make([]int, len(a.machines))
				for i, o := range a.machines {
					pick[i] = max(0, slices.IndexFunc(o.faces, func(f *face) bool {
						at, ok := f.domain(term.Key, o)
						return ok && (at == v) == (i == u.machine)
					}))
				}
				out = append(out, pick)
			}
		}
	}
	return out, true
}

// openNeighbours checks pods with required pod affinity on machines whose domain is open still, where there are too many of them to play
// it through. Whatever the domain turns out to be, what they look for must be there: on the same machine without looking for
// anything itself, or on a machine that can be nowhere else.
func (a *audit) openNeighbours(t *tallies) {
	for _, u := range t.units {
		if u.kin.looks == nil {
			continue
		}
		m := a.machines[u.machine]
		for _, term := range u.kin.looks.terms {
			values := m.values(term.Key)
			if len(values) < 2 {
				continue
			}
			apart, here := false, false
			fixed := map[string]bool{}
			for _, s := range u.kin.looks.who {
				if s.machine == u.machine {
					here = here || s.pod != u.pods[0] && len(s.pod.PodAffinity) == 0
					continue
				}
				apart = true
				if at := a.machines[s.machine].values(term.Key); len(at) == 1 {
					fixed[at[0]] = true
				}
			}
			for _, v := range values {
				if apart && !here && !fixed[v] {
					a.bad(Affinity, "%s: pod %s may come to %s of %s, where nothing that it looks for is certain to run", m.name, u.pods[0].Key(), v, term.Key)
					break
				}
			}
		}
	}
}

// values lists what a label of the machine may turn out to be.
func (m *machine) values(key string) []string {
	var out []string
	for _, f := range m.faces {
		if v, ok := f.domain(key, m); ok && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func termText(t model.PodTerm) string { return string(appendTerm(nil, t)) }

// appendTerm appends what tells terms apart.
func appendTerm(b []byte, t model.PodTerm) []byte {
	b = append(b, canonical(t.Key)...)
	quoted := func(list []string) {
		b = append(b, ' ')
		for _, v := range list {
			b = append(strconv.AppendQuote(b, v), ',')
		}
	}
	quoted(t.Namespaces)
	for _, s := range []*model.Selector{t.Selector, t.NamespaceSelector} {
		if s == nil {
			b = append(b, " nothing"...)
			continue
		}
		for _, r := range s.Requirements {
			b = append(strconv.AppendQuote(append(b, ' '), r.Key), ' ')
			b = append(b, r.Op...)
			quoted(r.Values)
			b = append(b, ';')
		}
		b = append(b, '.')
	}
	return b
}
