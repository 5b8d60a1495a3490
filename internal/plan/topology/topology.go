// Package topology answers: may a pod be here, as far as other pods go?
//
// It is the one place that knows spread, affinity, anti-affinity, host ports and volumes that pods share, as kube-scheduler counts
// them. Counts change through a journal, and can be taken back.
package topology

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/portfolio"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Host is the index of the topology key of single machines. Its domains are spots.
const Host = 0

// What stands for a domain where there is none.
const (
	Unknown = int32(-1) // the machine lacks the label
	Either  = int32(-2) // the machine is on its way, and may still get one of several values
)

// Counter counts pods per domain. Few domains are ever touched, so it keeps those only.
type Counter struct {
	n     map[int32]int32
	Total int64 // pods counted, on machines without a known domain too
	host  bool  // the domains are single machines
	// lifted are domains that count very many more (see Journal.Lift), and bare is how many of these have none else.
	// Machines that go are lifted for many terms each: a bit is much cheaper than an entry of the map.
	lifted bitset.Set
	bare   int
}

// lift is what is counted in a domain that is lifted.
const lift = NoBound / 2

// At is how many are counted in a domain.
func (t *Counter) At(dom int32) int32 {
	if t.isLifted(dom) {
		return t.n[dom] + lift
	}
	return t.n[dom]
}

// Domains is in how many domains any are counted.
func (t *Counter) Domains() int { return len(t.n) + t.bare }

func (t *Counter) isLifted(dom int32) bool {
	return dom >= 0 && int(dom/64) < len(t.lifted) && t.lifted.Has(int(dom))
}

// lift lifts a domain, which it has not done; sink takes that back.
func (t *Counter) lift(dom int32) {
	for int(dom/64) >= len(t.lifted) {
		t.lifted = append(t.lifted, 0)
	}
	t.lifted.Add(int(dom))
	t.Total += int64(lift)
	if t.n[dom] == 0 {
		t.bare++
	}
}

func (t *Counter) sink(dom int32) {
	t.lifted.Remove(int(dom))
	t.Total -= int64(lift)
	if t.n[dom] == 0 {
		t.bare--
	}
}

// Add counts n more in a domain; negative n takes back.
func (t *Counter) Add(dom, n int32) {
	t.Total += int64(n)
	if dom < 0 {
		return
	}
	if t.n == nil {
		t.n = map[int32]int32{}
	}
	had := len(t.n)
	if t.n[dom] += n; t.n[dom] == 0 {
		delete(t.n, dom)
	}
	if len(t.lifted) > 0 && t.isLifted(dom) {
		t.bare += had - len(t.n)
	}
}

// Term is one thing that pods are counted for: those that all pickers pick, by domains of one key. Spread and affinity count
// differently, so their terms are never shared.
type Term struct {
	id      int
	Key     int
	pickers []alike.PodSelector
	// Elig is set on terms of spread: only pods on machines that count for the constraint are counted.
	Elig *Eligible
	// Matched counts picked pods; owners counts pods that refuse them (anti-affinity).
	Matched, Owners Counter
	// Maybe counts picked pods on machines yet to be bought that may or may not count for the constraint.
	Maybe Counter
	// Held and HeldOwners count, likewise, planned pods that room is held for: nobody else may take their places.
	Held, HeldOwners Counter
	// Seekers counts planned pods that room is held for and that want to be near picked pods.
	Seekers Counter
	// going counts picked pods that are terminating: near them nobody may start, but they keep others from being the first.
	going int
	// lim remembers, per domain, the most picked pods that a pod placed in this decision can live with.
	lim map[int32]int32
	// tight is the least skew that any class to place asks for by the term; 0 when none does.
	tight int32
	// used is set when a pod to place is picked or owns the term.
	used bool
	Near bool // counts for affinity
	// Volume is set when it counts the users of a volume that is yet to be made, which have to be in one domain, or, with OnePod, of one that a
	// single pod may use at a time; said names it.
	Volume, OnePod bool
	Said           string
}

// Spot is a machine that is there or on its way, whether or not it takes pods.
type Spot struct {
	Labels map[string]string
	Taints []model.Taint
	Doms   []int32 // per key
	// Claim is set for a machine on its way, of which more is known than its labels.
	Claim *problem.ExistingNode
	// May lists, per key whose value is still open, the values.
	May map[string][]string
}

// topology is everything about where pods stand to each other.
type topology struct {
	Keys    []string // normalised; keys[host] is the host name
	keyOf   map[string]int
	values  []map[string]int32 // per key
	Names   [][]string
	Said    [][]string // per key, the values that machines have and pods ask for, sorted
	Spots   []*Spot
	SpotOf  map[string]int32 // by node name; only read
	Terms   []*Term
	byText  map[string]*Term
	Eligs   map[string]*Eligible
	ns      alike.Namespaces
	byLabel map[[2]string][]*Term // terms whose first requirement asks for this label
	others  []*Term
	pools   []model.Pool // those that some pod to place tolerates
}

func newTopology(ns alike.Namespaces) *topology {
	t := &topology{
		keyOf:   map[string]int{},
		byText:  map[string]*Term{},
		Eligs:   map[string]*Eligible{},
		ns:      ns,
		byLabel: map[[2]string][]*Term{},
	}
	t.Key(model.LabelHostname)
	return t
}

// Key returns the index of a topology key.
func (t *topology) Key(k string) int {
	k = require.Key(k)
	i, ok := t.keyOf[k]
	if !ok {
		i = len(t.Keys)
		t.keyOf[k] = i
		t.Keys, t.Names = append(t.Keys, k), append(t.Names, nil)
		t.values = append(t.values, map[string]int32{})
	}
	return i
}

// Dom returns the domain of a value.
func (t *topology) Dom(key int, value string) int32 {
	d, ok := t.values[key][value]
	if !ok {
		d = int32(len(t.Names[key]))
		t.values[key][value] = d
		t.Names[key] = append(t.Names[key], value)
	}
	return d
}

// Place works out the domains of all spots. Call it when all keys are known.
func (t *topology) Place(s *Spot, i int) {
	s.Doms = make([]int32, len(t.Keys))
	for k, name := range t.Keys {
		s.Doms[k] = Unknown
		if v, ok := s.Labels[name]; ok && k != Host {
			s.Doms[k] = t.Dom(k, v)
		}
		if len(s.May[name]) > 0 {
			s.Doms[k] = Either
		}
	}
	s.Doms[Host] = int32(i)
}

// Refused returns the term that counts whom a rule of pod anti-affinity picks.
func (t *topology) Refused(x model.PodTerm) *Term {
	return t.Intern(t.Key(x.Key), []alike.PodSelector{alike.PodSelectorOf(x)}, "pods")
}

// Intern returns the term for pickers under a key. extra tells terms apart that count differently.
func (t *topology) Intern(key int, pickers []alike.PodSelector, extra string) *Term {
	b := binary.AppendUvarint(nil, uint64(key))
	for _, p := range pickers {
		b = alike.AppendPicker(b, p)
	}
	b = append(b, extra...)
	x := t.byText[string(b)]
	if x != nil {
		return x
	}
	x = &Term{id: len(t.Terms), Key: key, pickers: pickers}
	x.Matched.host, x.Maybe.host, x.Owners.host = key == Host, key == Host, key == Host
	t.byText[string(b)] = x
	t.Terms = append(t.Terms, x)
	if sel := pickers[0].Sel; sel == nil {
		return x // picks nobody
	} else if i := slices.IndexFunc(sel.Requirements, oneOf); i >= 0 {
		for _, v := range sel.Requirements[i].Values {
			at := [2]string{sel.Requirements[i].Key, v}
			t.byLabel[at] = append(t.byLabel[at], x)
		}
	} else {
		t.others = append(t.others, x)
	}
	return x
}

// Matching returns the terms that pick pods with these labels, by id.
func (t *topology) Matching(ns string, labels map[string]string) []*Term {
	var out []*Term
	try := func(list []*Term) {
		for _, x := range list {
			if !slices.ContainsFunc(x.pickers, func(p alike.PodSelector) bool {
				return !t.ns.Picks(p, ns, labels)
			}) {
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
		slices.SortFunc(out, func(a, b *Term) int { return a.id - b.id })
		out = slices.Compact(out)
	}
	return out
}

// SpreadRule is one spread constraint of a class, required or granted.
type SpreadRule struct {
	Term      *Term
	Skew, Min int32
	Self      int32 // 1 when its own pods count
	crew      int32 // daemons that count on every new machine
}

// NearRule is the required pod affinity of a class as a whole: kube-scheduler counts pods that all terms pick.
type NearRule struct {
	Terms []*Term // one per key
	Self  bool
}

// Relation is what a pod of a class does to a count on its own machine: it adds, and it bears at most limit.
type Relation struct {
	Term  *Term
	Adds  int32
	Limit int32
}

// Relations are what pods do to counts on their machine.
type Relations []Relation

// NoBound is what a count bears that nobody minds.
const NoBound = portfolio.NoLimit

// Join adds what n pods with relations do to counts on a machine.
func (all *Relations) Join(rel Relations, n int32) {
	for _, r := range rel {
		i := slices.IndexFunc(*all, func(x Relation) bool { return x.Term == r.Term })
		if i < 0 {
			i = len(*all)
			*all = append(*all, Relation{Term: r.Term, Limit: NoBound})
		}
		(*all)[i].Adds += r.Adds * n
		(*all)[i].Limit = min((*all)[i].Limit, r.Limit)
	}
}

// Rules are a class's ties to other pods.
type Rules struct {
	Spread []SpreadRule
	Anti   []*Term
	Near   NearRule
	// volumes that are yet to be made, or that one pod may use: where others that use them are
	Joint   []*Term
	Avoid   []*Term // wished: not where these are
	Toward  []*Term // wished: where these are, under each key
	Matches []*Term // terms that pick the class's pods
	Keys    []int   // keys, but host, under which it matters where the pods go
	Host    Relations
}

// Class is a pod class with its ties.
type Class struct {
	problem.PodClass
	Rules
	Ports       []*Term
	Preferences []preference // heaviest first; nil unless preferences are granted
	// Among holds the domains per spread rule.
	Among [][]int32
}

// NearHost reports whether its pods have to share a machine with others or with each other.
func (r *Rules) NearHost() bool {
	onHost := func(x *Term) bool { return x.Key == Host && !x.OnePod }
	return slices.ContainsFunc(r.Near.Terms, onHost) || slices.ContainsFunc(r.Joint, onHost)
}

// HostSpread reports whether the pods are spread over nodes.
func (r *Rules) HostSpread() bool {
	return slices.ContainsFunc(r.Spread, func(s SpreadRule) bool { return s.Term.Key == Host })
}

// Tied reports whether it matters at all where other pods are.
func (r *Rules) Tied() bool {
	return len(r.Avoid)+len(
		r.Toward,
	)+len(r.Spread)+len(r.Anti)+len(r.Near.Terms)+len(r.Joint)+len(r.Matches)+len(r.Host) > 0
}

// least is the smallest count among the domains; held says whether planned pods that wait for their turn count.
func (x *Term) least(doms []int32, held bool) int32 {
	held = held && len(x.Held.n) > 0
	if !held && x.Matched.Domains() < len(doms) {
		return 0
	}
	low := NoBound
	for _, d := range doms {
		n := x.Matched.At(d)
		if held {
			n += x.Held.At(d)
		}
		if low = min(low, n); low == 0 {
			return 0
		}
	}
	return low
}

// Ties are where pods stand to each other now, and what they ask: the one place that knows.
type Ties struct {
	problem.Problem
	Topo    *topology
	Journal *Journal // nil when nothing is taken back
	// Standing is set in what-ifs: the classes' pods run, and count where they are.
	Standing bool
	// Granted says that preferences are granted as far as possible.
	Granted bool
	// Placing are pods that run but get a new place: they no longer count where they are.
	Placing map[model.PodKey]bool
	// spreads remembers whether machines to be bought for a constraint count for a spread.
	spreads map[countedKey]Counting
}

type countedKey struct {
	e *Eligible
	f *problem.NodeConstraint
}

// builder works out the ties of a problem.
type builder struct {
	*Ties
	classes []*Class
	portIPs map[string][]string
}

// Tie works out the ties of the classes to each other and to what runs.
func (d *Ties) Tie(list []*problem.PodClass) []*Class {
	d.Topo = newTopology(d.Namespaces)
	flat, out := make([]Class, len(list)), make([]*Class, len(list))
	for i, g := range list {
		flat[i].PodClass = *g
		out[i] = &flat[i]
	}
	b := &builder{Ties: d, classes: out}
	b.notePorts()
	b.tie(d.Existing)
	return out
}

// Ask is the work of one question about the class's ties.
func (g *Rules) Ask() int {
	ties := len(g.Spread) + len(g.Anti) + len(g.Avoid) + len(g.Toward) + len(g.Matches)
	return 1 + (ties+len(g.Near.Terms))/problem.TiesAsOne
}

func oneOf(r model.Requirement) bool { return r.Op == model.In }
