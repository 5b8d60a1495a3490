package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// NodePool is a pool with what it could buy now.
type NodePool struct {
	ID        int // position in the order in which pools are asked
	Pool      model.Pool
	Offerings *offerings.Index
	// what every node of the pool must look like: requirements, labels, pool and class
	Own  require.Set
	Base bitset.Set // offerings that satisfy own
	// Closed says why the pool takes nobody; Why "" when it is open.
	Closed answer.Refusal

	Names    dims              // columns of room
	Overhead []model.Resources // per item: what daemons take there
	Room     []vec.Vec         // per item: what daemons leave
	Taken    []vec.Vec         // per item: overhead, in the order of room
	Light    bool              // no daemon runs on any of them
	Runs     []bitset.Set      // per daemon: where it runs
	Limits   []string          // names of limited resources, sorted
	Cost     []vec.Vec         // per item: what a new claim takes from the limits
	Left     vec.Vec           // of the limits, in the order of limits
	Bounded  map[int]int       // per limit that stands for a scarce offering: which
	// per node of the pool: what it takes from the limits; nil without limits
	Tabs   map[string]vec.Vec
	Wanted []string // keys with minValues
	Choosy []string // wanted when they are a must, else nil
	counts *Variety // see variety
	// Setup is the work of finding out what the pool can sell to whom, as far as it has been done.
	Setup int
}

// newNodePools lists the pools in the order in which they are asked: heavy first, then by name.
func newNodePools(w model.World, crew daemons, d dims, choice MinValues) []*NodePool {
	shelves := offerings.NewIndexes(w)
	var out []*NodePool
	for _, p := range w.Pools {
		sh := shelves.Of(p.Name, p.Class)
		s := newNodePool(sh, p)
		s.Closed = closed(w, p, sh)
		// A pool that is not ready for that very reason says it in the same words.
		if len(sh.Items) > 0 &&
			(s.Closed.Why == "" || s.Closed.Why == model.WhyPoolNotReady &&
				model.IsFalse(p.Conditions, model.InstanceTypesFound)) {
			if r := s.barren(choice); r.Why != "" {
				s.Closed = r
			}
		}
		if s.Closed.Why == "" {
			s.measure(crew, d)
			s.meter(&w)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *NodePool) int {
		return cmp.Or(cmp.Compare(b.Pool.Weight, a.Pool.Weight),
			strings.Compare(a.Pool.Name, b.Pool.Name))
	})
	for i, s := range out {
		s.ID = i
	}
	return out
}

// newNodePool is the pool with what it may ever buy of the offering index.
func newNodePool(s *offerings.Index, p model.Pool) *NodePool {
	out := &NodePool{Pool: p, Offerings: s, Own: OwnSet(p)}
	if out.Base = s.Filter(s.All, out.Own); out.Own.Impossible() != "" {
		out.Base = bitset.New(len(s.Items))
	}
	for _, k := range out.Own.Keys() {
		if v, _ := out.Own.Get(k); v.MinValues() > 0 {
			out.Wanted = append(out.Wanted, k)
		}
	}
	out.Choosy = out.Wanted
	return out
}

// ClassLabel is the label that names the class on nodes and claims.
func ClassLabel(r model.ClassRef) string { return r.Group + "/" + strings.ToLower(r.Kind) }

// OwnSet is what every node of the pool looks like.
func OwnSet(p model.Pool) require.Set {
	return require.New(p.Requirements).And(require.Labels(p.Labels)).
		With(model.LabelPool, require.One(p.Name)).
		With(ClassLabel(p.Class), require.One(p.Class.Name))
}

// closed says why a pool takes nobody, whatever the pod.
func closed(w model.World, p model.Pool, sh *offerings.Index) answer.Refusal {
	r := answer.Refusal{Pool: p.Name}
	class := slices.IndexFunc(w.Classes, func(c model.Class) bool { return c.Ref == p.Class })
	switch {
	case p.Replicas != nil:
		r.Why, r.Detail = model.WhyStaticPool, "the pool has a fixed number of replicas"
	case p.Deleting:
		r.Why, r.Detail = model.WhyPoolDeleting, "the pool is being deleted"
	case w.PauseOf(&p).Provisioning:
		r.Why, r.Detail = model.WhyPaused, "provisioning is paused, by the annotation "+
			model.AnnotationPause+" of the pool or for all pools"
	case !p.Ready():
		r.Why, r.Detail = model.WhyPoolNotReady, "the pool is not ready"+conditionText(p.Conditions)
	case class < 0:
		r.Why, r.Detail = model.WhyPoolNotReady, fmt.Sprintf("the pool's class %s does not exist",
			p.Class)
	case !w.Classes[class].Ready():
		r.Why, r.Detail = model.WhyPoolNotReady, fmt.Sprintf("the pool's class %s is not ready%s",
			p.Class, conditionText(w.Classes[class].Conditions))
	case len(sh.Items) == 0:
		r.Why = model.WhyNoOfferings
		r.Detail = fmt.Sprintf("the cloud has nothing on offer for class %s (yet)", p.Class)
	}
	return r
}

func conditionText(list []model.Condition) string {
	if c, ok := model.FindCondition(list, model.Ready); ok && c.Message != "" &&
		c.Status != model.True {
		return ": " + c.Message
	}
	return ""
}

// measure fills overhead, room and runs: a daemon runs on a machine whose labels it selects and whose lasting taints it
// tolerates.
func (s *NodePool) measure(crew daemons, d dims) {
	n := len(s.Offerings.Items)
	s.Names, s.Light = d, true
	s.Overhead, s.Room, s.Taken = make([]model.Resources, n), make([]vec.Vec, n), make([]vec.Vec, n)
	for i := range crew {
		on := crew[i].among(s, s.Base, s.Pool.Taints)
		s.Runs, s.Light = append(s.Runs, on), s.Light && on.First() < 0
		on.Each(func(at int) { s.Overhead[at] = s.Overhead[at].Add(crew[i].Pod.Requests) })
	}
	// Offerings of a type that no daemon tells apart have one room.
	rooms, nothing := make([]vec.Vec, s.Offerings.Types), make(vec.Vec, len(d))
	flat := make(vec.Vec, 0, len(d)*s.Offerings.Types)
	for i, it := range s.Offerings.Items {
		if s.Light {
			if s.Taken[i] = nothing; rooms[it.TypeNo] == nil {
				flat = s.appendRoom(flat, it.Type, nothing)
				rooms[it.TypeNo] = flat[len(flat)-len(d) : len(flat) : len(flat)]
			}
			s.Room[i] = rooms[it.TypeNo]
			continue
		}
		s.Taken[i] = d.Vec(s.Overhead[i])
		s.Room[i] = s.appendRoom(make(vec.Vec, 0, len(d)), it.Type, s.Taken[i])
	}
}

// appendRoom appends what a machine of the type has beside what daemons take.
func (s *NodePool) appendRoom(v vec.Vec, t *model.InstanceType, taken vec.Vec) vec.Vec {
	for j, name := range s.Names {
		if driver, ok := strings.CutPrefix(name, AttachPrefix); ok {
			n, ok := t.AttachLimits[driver]
			if !ok {
				n = Unlimited
			}
			v = append(v, n)
			continue
		}
		v = append(v, t.Allocatable.Get(name)-taken[j])
	}
	return v
}

// Suiting returns those of the offerings whose labels suit one of a pod's alternatives at least.
func (s *NodePool) Suiting(from bitset.Set, terms []require.Set) bitset.Set {
	out := bitset.New(len(s.Offerings.Items))
	for _, t := range terms {
		if s.Conflict(t) == "" {
			out.Or(s.Offerings.Filter(from,
				s.Own.And(t).Only(func(k string) bool { _, ok := t.Get(k); return ok })))
		}
	}
	return out
}

// Conflict names the first label on which the pool and one term of a pod or daemon cannot agree, whatever the machine;
// "" when there is none. Labels that machines bring are judged elsewhere, per machine.
func (s *NodePool) Conflict(t require.Set) string {
	for _, k := range t.Keys() {
		want, _ := t.Get(k)
		have, defined := s.Own.Get(k)
		switch {
		case defined && !have.Meets(want):
			return k
		case k == model.LabelHostname:
			// A new machine gets a name nobody knows yet: only exclusions and "has a name" can be met.
			if _, listed := want.Listed(); listed {
				return k
			}
		case !defined && !s.Offerings.Machine(k) && !want.AllowsAbsent():
			return k
		}
	}
	return ""
}

// Open reports whether key is one on which a node of this pool may still go either way.
func (s *NodePool) Open(key string) bool {
	if s.Offerings.Either[key] {
		return true
	}
	v, ok := s.Own.Get(key)
	if !ok || s.Offerings.Machine(key) {
		return false
	}
	list, listed := v.Listed()
	return !listed || v.AllowsAbsent() || len(list) > 1
}

// HandsOut lists the values that the pool may give its nodes under a label of its own, as far as the pods agree; "" stands
// for none. Where the pool allows any value, those come into question that others have or ask for; one is invented
// only where there is none.
func (s *NodePool) HandsOut(k string, free require.Set, said []string) []string {
	v, defined := s.Own.Get(k)
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
