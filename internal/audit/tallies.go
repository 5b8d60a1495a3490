package audit

import (
	"fmt"
	"iter"
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
	keys       []string   // the labels that make domains, by number
	names      [][]string // by key: its values, by number
	numbers    []map[string]int
	sure       []bool         // by key: no machine's value hangs on what is picked
	at         map[string]int // machines that are nodes, by name
	kins       map[string]*kin
	units      []*unit
	said       []*unit                // the units, each as often as it has pods, in the plan's order
	crew       map[*model.Daemon]*kin // daemons, with who counts them and whom they refuse
	splits     map[string]int         // numbers of the ways in which machines are sorted into domains
	worlds     []*domains             // by split: those that are alike whatever is picked
	text       []byte                 // scratch of kinOf
	states     []state                // of the play that is on, by tally
	room       []int                  // their counters
}

// tally counts, by domain, the pods that all of its terms pick.
type tally struct {
	id    int
	rule  Rule // Spread, Affinity or AntiAffinity
	terms []model.PodTerm
	keys  []int // by term
	split []int // by term
	// For spread: whose constraint it is, so that nodes may be left out as the policies say, and the labels that a node needs.
	spread model.Spread
	owner  *subject
	all    []int
	nodes  string  // what tells apart which machines count for it; spread only
	units  []*unit // planned pods that are counted
	there  []seat  // and running ones, which the plan gives no place
	ending []seat  // pods that end, which may be found as long as they are there
	owners []seat  // running pods whose anti-affinity it is
}

// seat is a pod and the machine that it is on.
type seat struct {
	pod     *model.Pod
	machine int
}

// kin is planned pods that are alike in all that matters here.
type kin struct {
	pod     *subject
	spreads []*tally // its own hard constraints
	limits  []model.Spread
	self    []int  // by constraint: 1 when it counts the pod itself, else 0
	looks   *tally // its required pod affinity
	shuns   []*tally
	counted []*tally // whoever counts it
}

// unit is planned pods of one kin on one machine.
type unit struct {
	kin         *kin
	machine     int
	pods        int
	first, last *subject
	waits       int // how many of them are not in the plan's order yet; see asSaid
}

func newTallies(a *audit) *tallies {
	t := &tallies{a: a, byText: map[string]*tally{}, byLabel: map[[2]string][]*tally{}, namespaces: map[string]map[string]string{},
		at: map[string]int{}, kins: map[string]*kin{}, crew: map[*model.Daemon]*kin{}, splits: map[string]int{}}
	for _, n := range a.w.Namespaces {
		t.namespaces[n.Name] = n.Labels
	}
	for k := range a.w.Index.Refusing().All() {
		a.hear(k.Pod())
	}
	for i := range a.w.Daemons {
		a.hear(&a.w.Daemons[i].Pod)
	}
	for i, m := range a.machines {
		if m.node != "" {
			t.at[m.node] = i
		}
		for _, p := range m.planned {
			p.seated = true
		}
	}
	for i := range a.subjects {
		if p := &a.subjects[i]; p.seated {
			p.kin = t.kinOf(p)
		}
	}
	t.refusing()
	for i := range a.w.Daemons {
		d := &a.w.Daemons[i]
		pod := d.Pod
		pod.Namespace = d.Namespace
		t.crew[d] = &kin{pod: &subject{Pod: &pod}, shuns: t.shunned(&pod)}
	}
	for _, k := range t.kins {
		k.counted = t.picking(k.pod.Pod)
	}
	for _, k := range t.crew {
		k.counted = t.picking(k.pod.Pod)
	}
	for i, m := range a.machines {
		t.unite(i, m)
	}
	for k := range a.w.Index.Kinds().All() {
		if counted := t.picking(k.Pod()); len(counted) > 0 {
			for s := range t.seats(k) {
				for _, x := range counted {
					if s.pod.Deleting() {
						x.ending = append(x.ending, s)
					} else {
						x.there = append(x.there, s)
					}
				}
			}
		}
	}
	t.learn()
	t.worlds, t.states = make([]*domains, len(t.splits)), make([]state, len(t.list))
	t.room = make([]int, t.counters())
	t.said = t.asSaid()
	return t
}

// counters is how many numbers the states of all tallies have.
func (t *tallies) counters() (n int) {
	for _, x := range t.list {
		for _, k := range x.keys {
			n += len(t.names[k])
			if len(x.ending) > 0 {
				n += len(t.names[k])
			}
		}
		if x.rule == AntiAffinity {
			n += len(t.names[x.keys[0]])
		}
	}
	return n
}

// unite makes the units of a machine: of those only who ask something of others, or of whom others do. The rest may be bound at any time.
func (t *tallies) unite(at int, m *machine) {
	own := len(t.units) // where the machine's units begin: few
	for _, p := range m.planned {
		k := p.kin
		if len(k.spreads)+len(k.shuns)+len(k.counted) == 0 && k.looks == nil {
			continue
		}
		i := own
		for i < len(t.units) && t.units[i].kin != k {
			i++
		}
		if i == len(t.units) {
			u := &unit{kin: k, machine: at, first: p}
			t.units = append(t.units, u)
			for _, x := range k.counted {
				x.units = append(x.units, u)
			}
		}
		u := t.units[i]
		u.last, p.unit = p, u
		u.pods++
	}
}

// seats yields the running pods of a kind that the plan leaves where they are.
func (t *tallies) seats(k *model.Kind) iter.Seq[seat] {
	return func(yield func(seat) bool) {
		for p := range k.Pods.All() {
			i, ok := t.at[p.Node]
			if ok && !t.a.moves[p] && !yield(seat{p, i}) {
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
	l := newLookup(t.a.w, t.a.placed())
	for k := range t.a.w.Index.Refusing().All() {
		for _, term := range k.Pod().PodAntiAffinity {
			if !l.picks(term) {
				continue
			}
			x := t.tally(AntiAffinity, []model.PodTerm{term}, termText(term), "")
			for s := range t.seats(k) {
				if !s.pod.Deleting() {
					x.owners = append(x.owners, s)
				}
			}
		}
	}
}

// kinOf sorts a planned pod, and makes the tallies of what it asks.
func (t *tallies) kinOf(p *subject) *kin {
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
		nodes := string(appendNodes(nil, p, &s)) + fmt.Sprint(all)
		x := t.tally(Spread, []model.PodTerm{term}, termText(term)+nodes, nodes)
		x.spread, x.owner, x.all = s, p, nil
		for _, key := range all {
			x.all = append(x.all, t.key(key))
		}
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
		k.looks = t.tally(Affinity, p.PodAffinity, texts, "")
	}
	k.shuns = t.shunned(p.Pod)
	return k
}

// shunned makes the tallies of whom a pod refuses. A term that it says twice is one: it would otherwise seem to meet itself.
func (t *tallies) shunned(p *model.Pod) []*tally {
	var out []*tally
	for _, term := range p.PodAntiAffinity {
		if x := t.tally(AntiAffinity, []model.PodTerm{term}, termText(term), ""); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// appendNodes appends what tells apart which nodes a spread constraint leaves out.
func appendNodes(b []byte, p *subject, s *model.Spread) []byte {
	if s.HonorAffinity && p.kind != nil {
		b = strconv.AppendInt(append(b, " affinity "...), int64(p.kind.id), 10)
	}
	if s.HonorTaints {
		b = append(b, " taints"...)
		for _, x := range p.Tolerations {
			b = quoted(quoted(quoted(quoted(append(b, ' '), x.Key), x.Op), x.Value), string(x.Effect))
		}
	}
	return b
}

// kinText appends what tells planned pods apart here: what they ask of others, and what others ask about.
func (t *tallies) kinText(b []byte, p *subject) []byte {
	b = quoted(append(strconv.AppendInt(b, int64(p.says), 10), ' '), p.Namespace)
	for _, k := range t.a.asked {
		if v, ok := p.Labels[k]; ok {
			b = quoted(b, v)
		} else {
			b = append(b, '-')
		}
	}
	return b
}

// tally makes a tally, or finds it. nodes tells apart which machines count for it.
func (t *tallies) tally(rule Rule, terms []model.PodTerm, text, nodes string) *tally {
	text = string(rule) + text
	if x := t.byText[text]; x != nil {
		return x
	}
	x := &tally{id: len(t.list), rule: rule, terms: terms, nodes: nodes}
	t.byText[text] = x
	t.list = append(t.list, x)
	for _, term := range terms {
		x.keys = append(x.keys, t.key(term.Key))
		split := canonical(term.Key) + " " + nodes
		n, known := t.splits[split]
		if !known {
			n = len(t.splits)
			t.splits[split] = n
		}
		x.split = append(x.split, n)
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
