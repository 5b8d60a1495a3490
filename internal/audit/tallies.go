package audit

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/model"
)

// tallies is everything that pods count about each other, with those who are counted.
type tallies struct {
	a      *audit
	list   []*tally
	byText map[string]*tally
	// byLabel finds the tallies that can only pick pods with one of a label's values; rest may pick any.
	byLabel    map[[2]string][]*tally
	rest       []*tally
	namespaces map[string]map[string]string
	keys       map[string]bool // the labels that make domains
	at         map[string]int  // machines that are nodes, by name
	kins       map[string]*kin
	units      []*unit
	said       []*unit                // the units, each as often as it has pods, in the plan's order
	crew       map[*model.Daemon]*kin // daemons, with who counts them and whom they refuse
	same       map[string]bool        // labels, and whether no machine's value hangs on what is picked
	worlds     map[string]*domains    // those that are alike whatever is picked
	// Scratch of kinText, which is asked of every pod of the plan.
	text   []byte
	labels []string
}

// tally counts, by domain, the pods that all of its terms pick.
type tally struct {
	id    int
	rule  Rule // Spread, Affinity or AntiAffinity
	terms []model.PodTerm
	// For spread: whose constraint it is, so that nodes may be left out as the policies say, and the labels that a node needs.
	spread model.Spread
	owner  *model.Pod
	all    []string
	nodes  string // what tells apart which machines count for it; spread only
	who    []seat // pods that are counted, running and planned
	there  []seat // those of them that the plan gives no place
	ending []seat // pods that end, which may be found as long as they are there
	owners []seat // running pods whose anti-affinity it is
}

// seat is a pod and the machine that it is on.
type seat struct {
	pod     *model.Pod
	machine int
}

// kin is planned pods that are alike in all that matters here.
type kin struct {
	pod     *model.Pod
	spreads []*tally // its own hard constraints
	limits  []model.Spread
	self    []int  // by constraint: 1 when it counts the pod itself, else 0
	looks   *tally // its required pod affinity
	shuns   []*tally
	counted []*tally // whoever counts it
}

// unit is planned pods of one kin on one machine.
type unit struct {
	kin     *kin
	machine int
	pods    []*model.Pod
	waits   int // how many of them are not in the plan's order yet; see asSaid
}

func newTallies(a *audit) *tallies {
	t := &tallies{a: a, byText: map[string]*tally{}, byLabel: map[[2]string][]*tally{}, namespaces: map[string]map[string]string{},
		keys: map[string]bool{}, at: map[string]int{}, kins: map[string]*kin{}, crew: map[*model.Daemon]*kin{}, same: map[string]bool{}, worlds: map[string]*domains{}}
	for _, n := range a.w.Namespaces {
		t.namespaces[n.Name] = n.Labels
	}
	for i, m := range a.machines {
		if m.node != "" {
			t.at[m.node] = i
		}
		own := len(t.units) // where the machine's units begin: few
		for _, p := range m.planned {
			k := t.kinOf(p)
			at := own
			for at < len(t.units) && t.units[at].kin != k {
				at++
			}
			if at == len(t.units) {
				t.units = append(t.units, &unit{kin: k, machine: i})
			}
			t.units[at].pods = append(t.units[at].pods, p)
		}
	}
	t.refusing()
	for i := range a.w.Daemons {
		d := &a.w.Daemons[i]
		pod := d.Pod
		pod.Namespace = d.Namespace
		t.crew[d] = &kin{pod: &pod, shuns: t.shunned(&pod)}
	}
	for _, k := range t.kins {
		k.counted = t.picking(k.pod)
	}
	for _, k := range t.crew {
		k.counted = t.picking(k.pod)
	}
	for _, u := range t.units {
		for _, x := range u.kin.counted {
			for _, p := range u.pods {
				x.who = append(x.who, seat{p, u.machine})
			}
		}
	}
	for k := range a.w.Index.Kinds().All() {
		if counted := t.picking(k.Pod()); len(counted) > 0 {
			for s := range t.seats(k) {
				for _, x := range counted {
					if s.pod.Deleting() {
						x.ending = append(x.ending, s)
					} else {
						x.who = append(x.who, s)
					}
				}
			}
		}
	}
	for _, x := range t.list {
		for _, s := range x.who {
			if !a.placed[s.pod] {
				x.there = append(x.there, s)
			}
		}
	}
	t.said = t.asSaid()
	return t
}

// seats yields the running pods of a kind that the plan leaves where they are.
func (t *tallies) seats(k *model.Kind) iter.Seq[seat] {
	return func(yield func(seat) bool) {
		for p := range k.Pods.All() {
			i, ok := t.at[p.Node]
			if ok && !t.a.placed[p] && !t.a.moves[p] && !yield(seat{p, i}) {
				return
			}
		}
	}
}

// refusing makes the tallies of whom running pods refuse, as far as that is pods of the plan.
func (t *tallies) refusing() {
	if t.a.w.Index.Refusing().Len() == 0 {
		return
	}
	l := newLookup(t.a.w, maps.Keys(t.a.placed))
	for k := range t.a.w.Index.Refusing().All() {
		for _, term := range k.Pod().PodAntiAffinity {
			if !l.picks(term) {
				continue
			}
			x := t.tally(AntiAffinity, []model.PodTerm{term}, termText(term))
			for s := range t.seats(k) {
				if !s.pod.Deleting() {
					x.owners = append(x.owners, s)
				}
			}
		}
	}
}

// kinOf sorts a planned pod, and makes the tallies of what it asks.
func (t *tallies) kinOf(p *model.Pod) *kin {
	t.text = t.kinText(t.text[:0], p)
	if k := t.kins[string(t.text)]; k != nil {
		return k
	}
	k := &kin{pod: p}
	t.kins[string(t.text)] = k
	var all []string
	for _, s := range p.Spread {
		if s.Hard {
			all = append(all, canonical(s.Key))
		}
	}
	slices.Sort(all)
	for _, s := range p.Spread {
		if !s.Hard {
			continue
		}
		term := model.PodTerm{Key: s.Key, Selector: s.Selector, Namespaces: []string{p.Namespace}}
		nodes := t.nodesText(p, s) + fmt.Sprint(all)
		x := t.tally(Spread, []model.PodTerm{term}, termText(term)+nodes)
		x.spread, x.owner, x.all, x.nodes = s, p, all, nodes
		self := 0
		if selects(s.Selector, p.Labels) {
			self = 1
		}
		k.spreads, k.limits, k.self = append(k.spreads, x), append(k.limits, s), append(k.self, self)
	}
	if len(p.PodAffinity) > 0 {
		texts := ""
		for _, term := range p.PodAffinity {
			texts += termText(term)
		}
		k.looks = t.tally(Affinity, p.PodAffinity, texts)
	}
	k.shuns = t.shunned(p)
	return k
}

// shunned makes the tallies of whom a pod refuses. A term that it says twice is one: it would otherwise seem to meet itself.
func (t *tallies) shunned(p *model.Pod) []*tally {
	var out []*tally
	for _, term := range p.PodAntiAffinity {
		if x := t.tally(AntiAffinity, []model.PodTerm{term}, termText(term)); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// nodesText tells apart which nodes a spread constraint leaves out.
func (t *tallies) nodesText(p *model.Pod, s model.Spread) string {
	out := ""
	if s.HonorAffinity {
		out += "affinity " + t.a.kind(p)
	}
	if s.HonorTaints {
		out += fmt.Sprint("taints ", p.Tolerations)
	}
	return out
}

// kinText appends what tells planned pods apart here.
func (t *tallies) kinText(b []byte, p *model.Pod) []byte {
	b = append(b, p.Namespace...)
	t.labels = t.labels[:0]
	for k := range p.Labels {
		t.labels = append(t.labels, k)
	}
	slices.Sort(t.labels)
	for _, k := range t.labels {
		b = append(b, 0)
		b = append(append(append(b, k...), 0), p.Labels[k]...)
	}
	for _, s := range p.Spread {
		if s.Hard {
			b = append(strconv.AppendInt(append(b, 1), int64(s.MaxSkew), 10), ' ')
			b = append(strconv.AppendInt(b, int64(s.MinDomains), 10), ' ')
			b = appendTerm(b, model.PodTerm{Key: s.Key, Selector: s.Selector})
			b = append(b, t.nodesText(p, s)...)
		}
	}
	for _, x := range p.PodAffinity {
		b = appendTerm(append(b, 2), x)
	}
	for _, x := range p.PodAntiAffinity {
		b = appendTerm(append(b, 3), x)
	}
	return b
}

func (t *tallies) tally(rule Rule, terms []model.PodTerm, text string) *tally {
	text = string(rule) + text
	if x := t.byText[text]; x != nil {
		return x
	}
	x := &tally{id: len(t.list), rule: rule, terms: terms}
	t.byText[text] = x
	t.list = append(t.list, x)
	for _, term := range terms {
		t.keys[canonical(term.Key)] = true
	}
	if s := terms[0].Selector; s != nil {
		for _, r := range s.Requirements {
			if r.Op == model.In {
				for _, v := range r.Values {
					t.byLabel[[2]string{r.Key, v}] = append(t.byLabel[[2]string{r.Key, v}], x)
				}
				return x
			}
		}
	}
	t.rest = append(t.rest, x)
	return x
}

// picking lists the tallies that count the pod.
func (t *tallies) picking(p *model.Pod) []*tally {
	var out []*tally
	ask := func(list []*tally) {
		for _, x := range list {
			if !slices.ContainsFunc(x.terms, func(term model.PodTerm) bool { return !picks(t.namespaces, term, p) }) {
				out = append(out, x)
			}
		}
	}
	for k, v := range p.Labels {
		ask(t.byLabel[[2]string{k, v}])
	}
	ask(t.rest)
	slices.SortFunc(out, func(x, y *tally) int { return x.id - y.id })
	return slices.Compact(out)
}

// picks reports whether a term means the pod.
func picks(namespaces map[string]map[string]string, term model.PodTerm, p *model.Pod) bool {
	if !slices.Contains(term.Namespaces, p.Namespace) && !selects(term.NamespaceSelector, namespaces[p.Namespace]) {
		return false
	}
	return selects(term.Selector, p.Labels)
}

// selects reads a label selector: nil picks nothing, an empty one everything.
func selects(s *model.Selector, labels map[string]string) bool {
	if s == nil {
		return false
	}
	for _, r := range s.Requirements {
		v, there := labels[r.Key]
		if !value(r, v, there) {
			return false
		}
	}
	return true
}

// settled reports whether the domains of a tally's label are the same whatever is picked. For spread, so must be the other
// labels that a machine needs to count, and the pod must look at no more labels.
func (t *tallies) settled(x *tally, key string) bool {
	if !t.sure(key) || x.rule != Spread {
		return t.sure(key)
	}
	looks := x.spread.HonorAffinity && (len(x.owner.NodeSelector) > 0 || x.owner.Affinity != nil)
	return !looks && !slices.ContainsFunc(x.all, func(k string) bool { return !t.sure(k) })
}

// sure reports whether every machine has the same value of the label, or none, as each of its faces.
func (t *tallies) sure(key string) bool {
	sure, known := t.same[key]
	if !known {
		sure = !slices.ContainsFunc(t.a.machines, func(m *machine) bool { return m.open(key) })
		t.same[key] = sure
	}
	return sure
}

// open reports whether the value of a label hangs on which face the machine shows.
func (m *machine) open(key string) bool {
	if len(m.faces) < 2 {
		return false
	}
	v, has := m.faces[0].domain(key, m)
	return slices.ContainsFunc(m.faces[1:], func(f *face) bool {
		w, too := f.domain(key, m)
		return w != v || too != has
	})
}
