package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// nodePool is a pool with what it could buy now.
type nodePool struct {
	id        int // position in the order in which pools are asked
	pool      model.Pool
	offerings *offeringIndex
	own       require.Set // what every node of the pool must look like: requirements, labels, pool and class
	base      bitset.Set  // offerings that satisfy own
	// closed says why the pool takes nobody; Why "" when it is open.
	closed Refusal

	names    dims               // columns of room
	overhead []model.Resources  // per item: what daemons take there
	room     []vec.Vec          // per item: what daemons leave
	taken    []vec.Vec          // per item: overhead, in the order of room
	light    bool               // no daemon runs on any of them
	runs     []bitset.Set       // per daemon: where it runs
	limits   []string           // names of limited resources, sorted
	cost     []vec.Vec          // per item: what a new claim takes from the limits
	left     vec.Vec            // of the limits, in the order of limits
	bounded  map[int]int        // per limit that stands for a scarce offering: which
	tabs     map[string]vec.Vec // per node of the pool: what it takes from the limits; nil without limits
	wanted   []string           // keys with minValues
	choosy   []string           // wanted when they are a must, else nil
	counts   *variety           // see variety
	// setup is the work of finding out what the pool can sell to whom, as far as it has been done.
	setup int
}

// newNodePools lists the pools in the order in which they are asked: heavy first, then by name.
func newNodePools(w model.World, crew daemons, d dims, choice MinValues) []*nodePool {
	shelves := newShelves(w)
	var out []*nodePool
	for _, p := range w.Pools {
		sh := shelves.of(p.Name, p.Class)
		s := newNodePool(sh, p)
		s.closed = closed(w, p, sh)
		// A pool that is not ready for that very reason says it in the same words.
		if len(sh.items) > 0 && (s.closed.Why == "" || s.closed.Why == model.WhyPoolNotReady && model.IsFalse(p.Conditions, model.InstanceTypesFound)) {
			if r := s.barren(choice); r.Why != "" {
				s.closed = r
			}
		}
		if s.closed.Why == "" {
			s.measure(crew, d)
			s.meter(&w)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *nodePool) int {
		return cmp.Or(cmp.Compare(b.pool.Weight, a.pool.Weight), strings.Compare(a.pool.Name, b.pool.Name))
	})
	for i, s := range out {
		s.id = i
	}
	return out
}

// newNodePool is the pool with what it may ever buy of the offering index.
func newNodePool(s *offeringIndex, p model.Pool) *nodePool {
	out := &nodePool{pool: p, offerings: s, own: ownSet(p)}
	if out.base = s.filter(s.all, out.own); out.own.Impossible() != "" {
		out.base = bitset.New(len(s.items))
	}
	for _, k := range out.own.Keys() {
		if v, _ := out.own.Get(k); v.MinValues() > 0 {
			out.wanted = append(out.wanted, k)
		}
	}
	out.choosy = out.wanted
	return out
}

// classLabel is the label that names the class on nodes and claims.
func classLabel(r model.ClassRef) string { return r.Group + "/" + strings.ToLower(r.Kind) }

func ownSet(p model.Pool) require.Set {
	return require.New(p.Requirements).And(require.Labels(p.Labels)).
		With(model.LabelPool, require.One(p.Name)).With(classLabel(p.Class), require.One(p.Class.Name))
}

// closed says why a pool takes nobody, whatever the pod.
func closed(w model.World, p model.Pool, sh *offeringIndex) Refusal {
	r := Refusal{Pool: p.Name}
	class := slices.IndexFunc(w.Classes, func(c model.Class) bool { return c.Ref == p.Class })
	switch {
	case p.Replicas != nil:
		r.Why, r.Detail = model.WhyStaticPool, "the pool has a fixed number of replicas"
	case p.Deleting:
		r.Why, r.Detail = model.WhyPoolDeleting, "the pool is being deleted"
	case !p.Ready():
		r.Why, r.Detail = model.WhyPoolNotReady, "the pool is not ready"+conditionText(p.Conditions)
	case class < 0:
		r.Why, r.Detail = model.WhyPoolNotReady, fmt.Sprintf("the pool's class %s does not exist", p.Class)
	case !w.Classes[class].Ready():
		r.Why, r.Detail = model.WhyPoolNotReady, fmt.Sprintf("the pool's class %s is not ready%s", p.Class, conditionText(w.Classes[class].Conditions))
	case len(sh.items) == 0:
		r.Why, r.Detail = model.WhyNoOfferings, fmt.Sprintf("the cloud has nothing on offer for class %s (yet)", p.Class)
	}
	return r
}

func conditionText(list []model.Condition) string {
	if c, ok := model.FindCondition(list, model.Ready); ok && c.Message != "" && c.Status != model.True {
		return ": " + c.Message
	}
	return ""
}

// measure fills overhead, room and runs: a daemon runs on a machine whose labels it selects and whose lasting taints it
// tolerates.
func (s *nodePool) measure(crew daemons, d dims) {
	n := len(s.offerings.items)
	s.names, s.light = d, true
	s.overhead, s.room, s.taken = make([]model.Resources, n), make([]vec.Vec, n), make([]vec.Vec, n)
	for i := range crew {
		on := crew[i].among(s, s.base, s.pool.Taints)
		s.runs, s.light = append(s.runs, on), s.light && on.First() < 0
		on.Each(func(at int) { s.overhead[at] = s.overhead[at].Add(crew[i].pod.Requests) })
	}
	// Offerings of a type that no daemon tells apart have one room.
	rooms, nothing := make([]vec.Vec, s.offerings.types), make(vec.Vec, len(d))
	flat := make(vec.Vec, 0, len(d)*s.offerings.types)
	for i, it := range s.offerings.items {
		if s.light {
			if s.taken[i] = nothing; rooms[it.typ] == nil {
				flat = s.appendRoom(flat, it.t, nothing)
				rooms[it.typ] = flat[len(flat)-len(d) : len(flat) : len(flat)]
			}
			s.room[i] = rooms[it.typ]
			continue
		}
		s.taken[i] = d.vec(s.overhead[i])
		s.room[i] = s.appendRoom(make(vec.Vec, 0, len(d)), it.t, s.taken[i])
	}
}

// appendRoom appends what a machine of the type has beside what daemons take.
func (s *nodePool) appendRoom(v vec.Vec, t *model.InstanceType, taken vec.Vec) vec.Vec {
	for j, name := range s.names {
		if driver, ok := strings.CutPrefix(name, attachPrefix); ok {
			n, ok := t.AttachLimits[driver]
			if !ok {
				n = unlimited
			}
			v = append(v, n)
			continue
		}
		v = append(v, t.Allocatable.Get(name)-taken[j])
	}
	return v
}

// suiting returns those of the offerings whose labels suit one of a pod's alternatives at least.
func (s *nodePool) suiting(from bitset.Set, terms []require.Set) bitset.Set {
	out := bitset.New(len(s.offerings.items))
	for _, t := range terms {
		if s.conflict(t) == "" {
			out.Or(s.offerings.filter(from, s.own.And(t).Only(func(k string) bool { _, ok := t.Get(k); return ok })))
		}
	}
	return out
}

// conflict names the first label on which the pool and one term of a pod or daemon cannot agree, whatever the machine;
// "" when there is none. Labels that machines bring are judged elsewhere, per machine.
func (s *nodePool) conflict(t require.Set) string {
	for _, k := range t.Keys() {
		want, _ := t.Get(k)
		have, defined := s.own.Get(k)
		switch {
		case defined && !have.Meets(want):
			return k
		case k == model.LabelHostname:
			// A new machine gets a name nobody knows yet: only exclusions and "has a name" can be met.
			if _, listed := want.Listed(); listed {
				return k
			}
		case !defined && !s.offerings.machine(k) && !want.AllowsAbsent():
			return k
		}
	}
	return ""
}

// open reports whether key is one on which a node of this pool may still go either way.
func (s *nodePool) open(key string) bool {
	if s.offerings.either[key] {
		return true
	}
	v, ok := s.own.Get(key)
	if !ok || s.offerings.machine(key) {
		return false
	}
	list, listed := v.Listed()
	return !listed || v.AllowsAbsent() || len(list) > 1
}

// handsOut lists the values that the pool may give its nodes under a label of its own, as far as the pods agree; "" stands
// for none. Where the pool allows any value, those come into question that others have or ask for; one is invented
// only where there is none.
func (s *nodePool) handsOut(k string, free require.Set, said []string) []string {
	v, defined := s.own.Get(k)
	if !defined {
		return []string{""}
	}
	if narrow, ok := free.Get(k); ok {
		v = v.And(narrow)
	}
	if list, listed := v.Listed(); listed {
		return list
	}
	out := slices.DeleteFunc(slices.Clone(said), func(x string) bool { return !v.Has(x) })
	if len(out) > 0 {
		return out
	}
	if one, ok := v.Pick(); ok {
		return []string{one}
	}
	return []string{""}
}
