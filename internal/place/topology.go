package place

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// host is the index of the topology key of single machines. Its domains are spots.
const host = 0

// What stands for a domain where there is none.
const (
	unknown = int32(-1) // the machine lacks the label
	either  = int32(-2) // the machine is on its way, and may still get one of several values
)

// counter counts pods per domain. Few domains are ever touched, so it keeps those only.
type counter struct {
	n     map[int32]int32
	total int64 // pods counted, on machines without a known domain too
}

func (t *counter) at(dom int32) int32 { return t.n[dom] }

func (t *counter) add(dom, n int32) {
	t.total += int64(n)
	if dom < 0 {
		return
	}
	if t.n == nil {
		t.n = map[int32]int32{}
	}
	if t.n[dom] += n; t.n[dom] == 0 {
		delete(t.n, dom)
	}
}

// term is one thing that pods are counted for: those that all pickers pick, by domains of one key. Spread and affinity count
// differently, so their terms are never shared.
type term struct {
	id      int
	key     int
	pickers []podSelector
	// elig is set on terms of spread: only pods on machines that count for the constraint are counted.
	elig *eligible
	// matched counts picked pods; owners counts pods that refuse them (anti-affinity).
	matched, owners counter
	// maybe counts picked pods on machines yet to be bought that may or may not count for the constraint.
	maybe counter
	// held and heldOwners count, likewise, planned pods that room is held for: nobody else may take their places.
	held, heldOwners counter
	// seekers counts planned pods that room is held for and that want to be near picked pods.
	seekers counter
	// going counts picked pods that are terminating: near them nobody may start, but they keep others from being the first.
	going int
	// lim remembers, per domain, the most picked pods that a pod placed in this decision can live with.
	lim map[int32]int32
	// used is set when a pod to place is picked or owns the term.
	used bool
	near bool // counts for affinity
	// volume is set when it counts the users of a volume that is yet to be made, which have to be in one domain, or, with onePod, of one that a
	// single pod may use at a time; said names it.
	volume, onePod bool
	said           string
}

// spot is a machine that is there or on its way, whether or not it takes pods.
type spot struct {
	labels map[string]string
	taints []model.Taint
	doms   []int32 // per key
	// claim is set for a machine on its way, of which more is known than its labels.
	claim *existingNode
	// may lists, per key whose value is still open, the values.
	may map[string][]string
}

// topology is everything about where pods stand to each other.
type topology struct {
	keys    []string // normalised; keys[host] is the host name
	keyOf   map[string]int
	values  []map[string]int32 // per key
	names   [][]string
	said    [][]string // per key, the values that machines have and pods ask for, sorted
	spots   []*spot
	spotOf  map[string]int32 // by node name; only read
	terms   []*term
	byText  map[string]*term
	eligs   map[string]*eligible
	ns      namespaces
	byLabel map[[2]string][]*term // terms whose first requirement asks for this label
	others  []*term
	pools   []model.Pool // those that some pod to place tolerates
}

func newTopology(ns namespaces) *topology {
	t := &topology{keyOf: map[string]int{}, byText: map[string]*term{}, eligs: map[string]*eligible{}, ns: ns,
		byLabel: map[[2]string][]*term{}}
	t.key(model.LabelHostname)
	return t
}

// key returns the index of a topology key.
func (t *topology) key(k string) int {
	k = require.Key(k)
	i, ok := t.keyOf[k]
	if !ok {
		i = len(t.keys)
		t.keyOf[k] = i
		t.keys, t.values, t.names = append(t.keys, k), append(t.values, map[string]int32{}), append(t.names, nil)
	}
	return i
}

// dom returns the domain of a value.
func (t *topology) dom(key int, value string) int32 {
	d, ok := t.values[key][value]
	if !ok {
		d = int32(len(t.names[key]))
		t.values[key][value] = d
		t.names[key] = append(t.names[key], value)
	}
	return d
}

// place works out the domains of all spots. Call it when all keys are known.
func (t *topology) place(s *spot, i int) {
	s.doms = make([]int32, len(t.keys))
	for k, name := range t.keys {
		s.doms[k] = unknown
		if v, ok := s.labels[name]; ok && k != host {
			s.doms[k] = t.dom(k, v)
		}
		if len(s.may[name]) > 0 {
			s.doms[k] = either
		}
	}
	s.doms[host] = int32(i)
}

// intern returns the term for pickers under a key. extra tells terms apart that count differently.
func (t *topology) intern(key int, pickers []podSelector, extra string) *term {
	b := binary.AppendUvarint(nil, uint64(key))
	for _, p := range pickers {
		b = appendPicker(b, p)
	}
	b = append(b, extra...)
	x := t.byText[string(b)]
	if x != nil {
		return x
	}
	x = &term{id: len(t.terms), key: key, pickers: pickers}
	t.byText[string(b)] = x
	t.terms = append(t.terms, x)
	if sel := pickers[0].sel; sel == nil {
		return x // picks nobody
	} else if i := slices.IndexFunc(sel.Requirements, func(r model.Requirement) bool { return r.Op == model.In }); i >= 0 {
		for _, v := range sel.Requirements[i].Values {
			at := [2]string{sel.Requirements[i].Key, v}
			t.byLabel[at] = append(t.byLabel[at], x)
		}
	} else {
		t.others = append(t.others, x)
	}
	return x
}

// matching returns the terms that pick pods with these labels, by id.
func (t *topology) matching(ns string, labels map[string]string) []*term {
	var out []*term
	try := func(list []*term) {
		for _, x := range list {
			if !slices.ContainsFunc(x.pickers, func(p podSelector) bool { return !t.ns.picks(p, ns, labels) }) {
				out = append(out, x)
			}
		}
	}
	if len(t.byLabel) > 0 {
		for k, v := range labels {
			try(t.byLabel[[2]string{k, v}])
		}
	}
	try(t.others)
	if len(out) > 1 {
		slices.SortFunc(out, func(a, b *term) int { return a.id - b.id })
		out = slices.Compact(out)
	}
	return out
}

// spreadRule is one spread constraint of a group, required or granted.
type spreadRule struct {
	term      *term
	skew, min int32
	self      int32 // 1 when its own pods count
	crew      int32 // daemons that count on every new machine
}

// nearRule is the required pod affinity of a group as a whole: kube-scheduler counts pods that all terms pick.
type nearRule struct {
	terms []*term // one per key
	self  bool
}

// relation is what a pod of a group does to a count on its own machine: it adds, and it bears at most limit.
type relation struct {
	term  *term
	adds  int32
	limit int32
}

// relations are what pods do to counts on their machine.
type relations []relation

// noBound is what a count bears that nobody minds.
const noBound = portfolio.NoLimit

// join adds what n pods with relations do to counts on a machine.
func (all *relations) join(rel relations, n int32) {
	for _, r := range rel {
		i := slices.IndexFunc(*all, func(x relation) bool { return x.term == r.term })
		if i < 0 {
			i = len(*all)
			*all = append(*all, relation{term: r.term, limit: noBound})
		}
		(*all)[i].adds += r.adds * n
		(*all)[i].limit = min((*all)[i].limit, r.limit)
	}
}

// rules are a group's ties to other pods.
type rules struct {
	spread  []spreadRule
	anti    []*term
	near    nearRule
	joint   []*term // volumes that are yet to be made, or that one pod may use: where others that use them are
	avoid   []*term // wished: not where these are
	toward  []*term // wished: where these are, under each key
	matches []*term // terms that pick the group's pods
	keys    []int   // keys, but host, under which it matters where the pods go
	host    relations
}

// tiedClass is a pod class with its ties.
type tiedClass struct {
	podClass
	rules
	ports       []*term
	preferences []preference // heaviest first; nil unless preferences are granted
	// among holds the domains per spread rule.
	among [][]int32
}

// nearHost reports whether its pods have to share a machine with others or with each other.
func (r *rules) nearHost() bool {
	onHost := func(x *term) bool { return x.key == host && !x.onePod }
	return slices.ContainsFunc(r.near.terms, onHost) || slices.ContainsFunc(r.joint, onHost)
}

func (r *rules) hostSpread() bool {
	return slices.ContainsFunc(r.spread, func(s spreadRule) bool { return s.term.key == host })
}

func (r *rules) tied() bool {
	return len(r.avoid)+len(r.toward)+len(r.spread)+len(r.anti)+len(r.near.terms)+len(r.joint)+len(r.matches)+len(r.host) > 0
}

// least is the smallest count among the domains; held says whether planned pods that wait for their turn count.
func (x *term) least(doms []int32, held bool) int32 {
	held = held && len(x.held.n) > 0
	if !held && len(x.matched.n) < len(doms) {
		return 0
	}
	low := noBound
	for _, d := range doms {
		n := x.matched.n[d]
		if held {
			n += x.held.n[d]
		}
		if low = min(low, n); low == 0 {
			return 0
		}
	}
	return low
}

// ties are where pods stand to each other now, and what they ask: the one place that knows.
type ties struct {
	problem
	topo *topology
	undo *undo // nil when nothing is taken back
	// keeping is set while a planned pod asks for its own place.
	keeping bool
	// standing is set in what-ifs: the classes' pods run, and count where they are.
	standing bool
	// granted says that preferences are granted as far as possible.
	granted bool
	// placing are pods that run but get a new place: they no longer count where they are.
	placing map[model.PodKey]bool
	// spreads remembers whether machines to be bought for a constraint count for a spread.
	spreads map[countedKey]counting
}

type countedKey struct {
	e *eligible
	f *nodeConstraint
}

// builder works out the ties of a problem.
type builder struct {
	*ties
	classes []*tiedClass
	portIPs map[string][]string
}

// bind works out the ties of the classes to each other and to what runs.
func (d *ties) bind(list []*podClass) []*tiedClass {
	d.topo = newTopology(d.namespaces)
	flat, out := make([]tiedClass, len(list)), make([]*tiedClass, len(list))
	for i, g := range list {
		flat[i].podClass = *g
		out[i] = &flat[i]
	}
	b := &builder{ties: d, classes: out}
	b.notePorts()
	b.tie(d.existing)
	return out
}

// ask is the work of one question about the group's ties.
func (g *rules) ask() int {
	return 1 + (len(g.spread)+len(g.anti)+len(g.avoid)+len(g.toward)+len(g.matches)+len(g.near.terms))/tiesAsOne
}
