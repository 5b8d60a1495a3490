package bound

import (
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// grain is the unit of memory and disk in problems, in bytes: fine enough that rounding costs nothing, coarse enough that prices
// of one unit are whole numbers with many digits. Needs are rounded down and room up, so that the bound stays a bound.
const grain = 64 << 10

// FromWorld asks what machines for these pods cost at least, if all of them go onto machines yet to be bought from the
// pools of the picture: it bounds plans, or the part of plans, that use neither existing nodes nor claims in flight. Kept are: which offerings
// are on sale, what pools require, taints, node selectors and affinity, reach of volumes, daemons that run there for certain, and at most one
// pod per machine where pods refuse their own kind per host. Left out, which lowers the bound: limits, weights, minValues, spread,
// affinity to pods, host ports and attach limits. O(pods + kinds of pods × offerings), the latter as far as usual care goes.
func FromWorld(w model.World, pods []model.Pod) Problem {
	list := make([]Demand, len(pods))
	for i := range pods {
		list[i] = Demand{Pod: &pods[i], Count: 1}
	}
	p, _ := FromDemand(w, list, nil)
	return p
}

// Demand is so many pods that are alike.
type Demand struct {
	Pod   *model.Pod
	Count int64
}

// Standing is a machine that is there, and that a plan may go on paying for, as often as it likes.
type Standing struct {
	Name  string
	Room  model.Resources // daemons already taken away
	Price model.Price
}

// FromDemand is FromWorld of pods that were counted before, where machines that are there may be used,
// too: by all pods, which can only lower the bound. of says which group each demand is in, -1 where
// nothing holds its pods. O(demands + kinds of pods × offerings + standing), the products as far as usual care goes.
func FromDemand(w model.World, pods []Demand, standing []Standing) (p Problem, of []int32) {
	return usual().fromDemand(w, pods, standing)
}

// care is how much is looked at to set a problem up; what is beyond it is asked for less than it asks for, so that the bound stays a bound.
type care struct {
	// questions bounds how often it is asked whether a term of a kind of pods accepts an offering of a pool. Kinds beyond it may run anywhere.
	questions int
	// cells bounds groups of pods times machines. Beyond it needs are rounded down until there are few enough groups.
	cells int
}

// usual is some seconds of a core at most, and far more than a cluster asks for.
func usual() care { return care{questions: 50_000_000, cells: 50_000_000} }

func (c care) fromDemand(w model.World, pods []Demand, standing []Standing) (p Problem, of []int32) {
	b := &builder{w: w, care: c, columns: map[string]int{}, kinds: map[string]*kind{}, groups: map[string]int{}}
	b.sites = b.count()
	for _, r := range []string{model.ResourceCPU, model.ResourceMemory, model.ResourceEphemeral, model.ResourcePods} {
		b.column(r)
	}
	for _, d := range pods {
		for _, name := range slices.Sorted(maps.Keys(d.Pod.Requests.Extended)) {
			b.column(name)
		}
	}
	of = make([]int32, len(pods))
	for i, d := range pods {
		of[i] = b.add(*d.Pod, d.Count)
	}
	b.offer()
	b.keep(standing)
	merged := b.coarsen()
	kept := b.finish()
	for i, g := range of {
		of[i] = kept[merged[g]]
	}
	return b.p, of
}

type builder struct {
	w       model.World
	p       Problem
	columns map[string]int
	kinds   map[string]*kind
	order   []*kind
	groups  map[string]int
	kindOf  []*kind // by group
	care    care
	sites   int // offerings of pools
	asked   int // terms of the kinds so far
}

// kind is pods that may run on the same machines, sizes aside.
type kind struct {
	pod   model.Pod
	terms []require.Set
	reach [][]require.Set // by volume: where it can be reached
	on    []int32
	// anywhere is set of the kind that stands for all that are beyond what is looked at.
	anywhere bool
}

// beyond is the key of that kind.
const beyond = "\x04"

// count counts the offerings of all pools.
func (b *builder) count() (n int) {
	for _, pool := range b.w.Pools {
		for _, t := range b.w.Catalog(pool.Name, pool.Class).Types {
			n += len(t.Offerings)
		}
	}
	return n
}

func (b *builder) column(name string) {
	if _, ok := b.columns[name]; !ok {
		b.columns[name] = len(b.p.Resources)
		b.p.Resources = append(b.p.Resources, name)
	}
}

// vector writes resources in the problem's units, rounded up or down.
func (b *builder) vector(r model.Resources, up bool) []int64 {
	out := make([]int64, len(b.p.Resources))
	for i, name := range b.p.Resources {
		v := r.Get(name)
		if name == model.ResourceMemory || name == model.ResourceEphemeral {
			if up {
				v += grain - 1
			}
			v /= grain
		}
		out[i] = min(max(0, v), maxNeed)
	}
	return out
}

// add puts pods into their group, and returns which it is.
func (b *builder) add(p model.Pod, count int64) int32 {
	key := kindText(p)
	k := b.kinds[key]
	if k == nil {
		if k = b.kind(p); k.anywhere {
			key = beyond
		}
		if b.kinds[key] == nil {
			b.kinds[key], b.order = k, append(b.order, k)
		}
		k = b.kinds[key]
	}
	if k.anywhere {
		b.p.Loosened += count
	}
	need := b.vector(p.Requests, false)
	most := int64(0)
	if lonely(p) {
		most = 1
		key += "\x00" + labelText(p) // its own kind is who has its labels
	}
	var text strings.Builder
	for _, n := range need {
		text.WriteString(strconv.FormatInt(n, 36) + " ")
	}
	key = text.String() + strconv.FormatInt(most, 10) + key
	g, ok := b.groups[key]
	if !ok {
		g = len(b.p.Groups)
		b.groups[key] = g
		b.p.Groups = append(b.p.Groups, Group{Name: p.Key().String(), Need: need, Most: most})
		b.kindOf = append(b.kindOf, k)
	}
	b.p.Groups[g].Count += count
	return int32(g)
}

// kind is a new kind of pods, or the one that may run anywhere when there are too many terms already.
func (b *builder) kind(p model.Pod) *kind {
	asks := max(1, len(p.Affinity))
	for _, v := range p.Volumes {
		asks += len(v.Terms)
	}
	if (b.asked+asks)*b.sites > b.care.questions {
		return &kind{anywhere: true}
	}
	b.asked += asks
	k := &kind{pod: p, terms: sets(p.NodeSelector, p.Affinity)}
	for _, v := range p.Volumes {
		if v.Terms != nil {
			k.reach = append(k.reach, sets(nil, v.Terms))
		}
	}
	return k
}

// coarsen merges groups of a kind whose needs are about the same, to the least of them, until there are few enough. It says which group each is in then.
func (b *builder) coarsen() (now []int32) {
	now = make([]int32, len(b.p.Groups))
	for g := range now {
		now[g] = int32(g)
	}
	for digits := 8; digits >= 0 && len(b.p.Groups)*len(b.p.Machines) > b.care.cells; digits -= 2 {
		b.merge(now, digits)
	}
	return now
}

// merge makes one of the groups of a kind that agree in so many leading binary digits of all needs, and of all of a kind where digits is 0.
func (b *builder) merge(now []int32, digits int) {
	at := map[string]int32{}
	var groups []Group
	var kinds []*kind
	to := make([]int32, len(b.p.Groups))
	number := map[*kind]int64{}
	for i, k := range b.order {
		number[k] = int64(i)
	}
	for g, x := range b.p.Groups {
		key := []int64{number[b.kindOf[g]]}
		if digits > 0 {
			key = append(key, x.Most)
			for _, v := range x.Need {
				shift := max(0, bits.Len64(uint64(v))-digits)
				key = append(key, v>>shift<<shift)
			}
		}
		text := string(textOf(key))
		i, known := at[text]
		if !known {
			i = int32(len(groups))
			at[text], groups, kinds = i, append(groups, x), append(kinds, b.kindOf[g])
			groups[i].Need = slices.Clone(x.Need)
			to[g] = i
			continue
		}
		to[g] = i
		y := &groups[i]
		if y.Most != x.Most {
			y.Most = 0
		}
		for r, v := range x.Need {
			y.Need[r] = min(y.Need[r], v)
		}
		y.Count += x.Count
	}
	for i, g := range now {
		now[i] = to[g]
	}
	b.p.Groups, b.kindOf = groups, kinds
	b.p.Loosened = 0
	for _, x := range groups {
		b.p.Loosened += x.Count
	}
}

// lonely reports whether a pod refuses pods like itself on its host.
func lonely(p model.Pod) bool {
	return slices.ContainsFunc(p.PodAntiAffinity, func(t model.PodTerm) bool {
		return t.Key == model.LabelHostname && slices.Contains(t.Namespaces, p.Namespace) && t.Selector.Matches(p.Labels)
	})
}

func labelText(p model.Pod) string {
	var out strings.Builder
	out.WriteString(p.Namespace)
	for _, k := range slices.Sorted(maps.Keys(p.Labels)) {
		out.WriteString("\x00" + k + "\x00" + p.Labels[k])
	}
	return out.String()
}

func kindText(p model.Pod) string {
	if len(p.NodeSelector) == 0 && p.Affinity == nil && len(p.Tolerations) == 0 && len(p.Volumes) == 0 {
		return ""
	}
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(p.NodeSelector)) {
		out.WriteString(k + "=" + p.NodeSelector[k] + "\x00")
	}
	terms := func(list []model.Term) {
		out.WriteString(strconv.FormatBool(list != nil))
		for _, t := range list {
			out.WriteString("\x01")
			for _, r := range t {
				out.WriteString(r.Key + " " + string(r.Op) + " " + strings.Join(r.Values, ",") + "\x00")
			}
		}
	}
	terms(p.Affinity)
	for _, t := range p.Tolerations {
		out.WriteString("\x02" + t.Key + "\x00" + t.Op + "\x00" + t.Value + "\x00" + string(t.Effect))
	}
	for _, v := range p.Volumes {
		out.WriteString("\x03")
		terms(v.Terms)
	}
	return out.String()
}

// sets writes a selector and OR-ed terms as alternatives.
func sets(selector map[string]string, terms []model.Term) []require.Set {
	base := require.Labels(selector)
	if terms == nil {
		return []require.Set{base}
	}
	var out []require.Set
	for _, t := range terms {
		if len(t) > 0 {
			out = append(out, base.And(require.New(t)))
		}
	}
	return out
}

// offer lists what the pools sell, once per room, price and kinds of pods that may run there.
func (b *builder) offer() {
	type same struct{ room, kinds string }
	seen := map[same]int{}
	for _, pool := range b.w.Pools {
		if !pool.Ready() || pool.Replicas != nil {
			continue
		}
		given := maps.Clone(pool.Labels)
		if given == nil {
			given = map[string]string{}
		}
		given[model.LabelPool] = pool.Name
		given[pool.Class.Group+"/"+strings.ToLower(pool.Class.Kind)] = pool.Class.Name
		own := require.New(pool.Requirements).And(require.Labels(given))
		for _, t := range b.w.Catalog(pool.Name, pool.Class).Types {
			for _, o := range t.Offerings {
				s := site{pool: pool, own: own, t: t, labels: labelsOf(t, o)}
				if !o.Available || !s.sells() {
					continue
				}
				room, kinds := s.room(b), b.suited(&s)
				key := same{string(textOf(room)), kinds}
				m, ok := seen[key]
				if !ok {
					m = len(b.p.Machines)
					seen[key] = m
					b.p.Machines = append(b.p.Machines, Machine{Name: o.Key().String(), Room: room, Price: o.Price})
					for i, k := range b.order {
						if kinds[i] == '1' {
							k.on = append(k.on, int32(m))
						}
					}
				}
				if x := &b.p.Machines[m]; o.Price < x.Price {
					x.Name, x.Price = o.Key().String(), o.Price
				}
			}
		}
	}
}

func textOf(v []int64) []byte {
	var out []byte
	for _, n := range v {
		out = append(strconv.AppendInt(out, n, 36), ' ')
	}
	return out
}

// suited writes, per kind of pod, whether it may run there.
func (b *builder) suited(s *site) string {
	out := make([]byte, len(b.order))
	for i, k := range b.order {
		if out[i] = '0'; k.anywhere {
			out[i] = '1'
			continue
		}
		_, bad := model.Untolerated(s.pool.Taints, k.pod.Tolerations)
		ok := !bad && slices.ContainsFunc(k.terms, func(t require.Set) bool { may, _ := s.meets(t); return may })
		for _, v := range k.reach {
			ok = ok && slices.ContainsFunc(v, func(t require.Set) bool { may, _ := s.meets(t); return may })
		}
		if ok {
			out[i] = '1'
		}
	}
	return string(out)
}

// keep lists machines that are there, once per room and price.
func (b *builder) keep(standing []Standing) {
	seen := map[string]bool{}
	for _, s := range standing {
		room := b.vector(s.Room, true)
		key := string(textOf(room)) + s.Price.String()
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, k := range b.order {
			k.on = append(k.on, int32(len(b.p.Machines)))
		}
		b.p.Machines = append(b.p.Machines, Machine{Name: s.Name, Room: room, Price: s.Price})
	}
}

// finish tells groups where they may run, sorts out the pods that may run nowhere, and says which
// number each group has then, -1 where it has none.
func (b *builder) finish() (now []int32) {
	kept := b.p.Groups[:0]
	for i, g := range b.p.Groups {
		g.On = b.kindOf[i].on
		if slices.ContainsFunc(g.On, func(m int32) bool { return most(g, b.p.Machines[m]) > 0 }) {
			now = append(now, int32(len(kept)))
			kept = append(kept, g)
		} else {
			now = append(now, -1)
			b.p.Unplaceable += g.Count
		}
	}
	b.p.Groups = kept
	return now
}
