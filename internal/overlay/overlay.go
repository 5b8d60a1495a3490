// Package overlay answers: what do overlays change?
//
// Judge says which overlays are in force, and what is wrong with the others. Apply gives the catalogue that a pool sees under
// those in force: other prices, and extended resources that the cloud does not know of. It is pure. It neither asks the cloud nor
// writes status, and it does not decide where the changed catalogue is used: everybody sees it (internal/world).
//
// Heavy overlays come first, and of equal weight the one whose name is later in the alphabet. For one offering the first
// overlay that names a price settles it; for one size, the first that names a resource settles that. Two of equal weight may not
// settle the same thing: then the later of the two is out of force as a whole, everywhere.
//
// A size has one capacity, whatever the zone. So capacity is added only to sizes of which an overlay picks every offering that
// the pool may buy; sizes picked in part are left alone and named in words.
package overlay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Reason says what kind of thing is wrong with an overlay. These words stand in its status.
type Reason string

// The reasons.
const (
	Invalid  Reason = "RuntimeValidation" // its own content cannot be right
	Conflict Reason = "Conflict"          // another one of equal weight settles the same
	Partly   Reason = "PartlyApplied"     // it is in force, but not on everything that it picks
)

// Problem is something wrong with one overlay.
type Problem struct {
	Overlay string
	Reason  Reason
	Detail  string // in words
}

// Verdict is what became of the overlays.
type Verdict struct {
	// InForce lists the overlays that count, in the order in which they settle things.
	InForce []model.Overlay
	// Problems are sorted by overlay, then in the order found. Those with reason Partly leave the overlay in force.
	Problems []Problem
}

// Input is what Judge looks at. The catalogues may be with or without overlays applied: only their labels count.
type Input struct {
	Overlays []model.Overlay
	Pools    []model.Pool
	Catalogs map[model.ClassRef]model.Catalog
}

// Judge says which overlays are in force. O(pairs of equal weight × pools × offerings).
func Judge(in Input) Verdict {
	var v Verdict
	var rules []rule
	for _, o := range ordered(in.Overlays) {
		if wrong := problems(o); len(wrong) > 0 {
			v.Problems = append(v.Problems, Problem{o.Name, Invalid, strings.Join(wrong, "; ")})
			continue
		}
		r := compile(o)
		if detail := in.clash(r, rules); detail != "" {
			v.Problems = append(v.Problems, Problem{o.Name, Conflict, detail})
			continue
		}
		rules = append(rules, r)
		v.InForce = append(v.InForce, o)
		if detail := in.partly(r); detail != "" {
			v.Problems = append(v.Problems, Problem{o.Name, Partly, detail})
		}
	}
	slices.SortStableFunc(v.Problems, func(a, b Problem) int { return cmp.Compare(a.Overlay, b.Overlay) })
	return v
}

// ordered sorts a copy: heavy first, then by name from the end of the alphabet.
func ordered(list []model.Overlay) []model.Overlay {
	return slices.SortedFunc(slices.Values(list), func(a, b model.Overlay) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Name, a.Name))
	})
}

// clash says with which accepted rule of equal weight r settles the same thing, and where; "" when with none.
func (in Input) clash(r rule, accepted []rule) string {
	for _, other := range accepted {
		if other.o.Weight != r.o.Weight {
			continue
		}
		shared := r.shared(other)
		if shared == "" {
			continue
		}
		for _, s := range in.scenes(r.byPool || other.byPool) {
			for i := range s.cat.Types {
				t := &s.cat.Types[i]
				if r.priced && other.priced {
					for _, o := range t.Offerings {
						if s.picks(r, t, o) && s.picks(other, t, o) {
							return fmt.Sprintf("NodeOverlay %s has the same weight, %d, and also sets the %s of %s", other.o.Name, r.o.Weight, shared, o.Key())
						}
					}
				}
				if r.sharesCapacity(other) && s.some(r, t) && s.some(other, t) {
					return fmt.Sprintf("NodeOverlay %s has the same weight, %d, and also sets the %s of %s", other.o.Name, r.o.Weight, r.sharedCapacity(other), t.Name)
				}
			}
		}
	}
	return ""
}

// partly names a size of which r picks some offerings that a pool may buy, and not all.
func (in Input) partly(r rule) string {
	if len(r.o.Capacity) == 0 {
		return ""
	}
	for _, s := range in.scenes(len(in.Pools) > 0) {
		n, example := 0, ""
		for i := range s.cat.Types {
			t := &s.cat.Types[i]
			if s.some(r, t) && !s.all(r, t) {
				if n++; example == "" {
					example = t.Name
				}
			}
		}
		if n > 0 {
			return fmt.Sprintf("capacity is not set on %d sizes, such as %s: only some of the offerings of them that %s may buy are picked", n, example, s.who())
		}
	}
	return ""
}

// scene is a catalogue as one pool, or nobody in particular, looks at it.
type scene struct {
	cat  model.Catalog
	pool *model.Pool
	own  require.Set // what every node of the pool looks like
}

func newScene(cat model.Catalog, pool *model.Pool) scene {
	s := scene{cat: cat, pool: pool}
	if pool != nil {
		class := pool.Class.Group + "/" + strings.ToLower(pool.Class.Kind)
		s.own = require.New(pool.Requirements).And(require.Labels(pool.Labels)).
			With(model.LabelPool, require.One(pool.Name)).With(class, require.One(pool.Class.Name))
	}
	return s
}

// scenes lists one scene per pool, or one per class.
func (in Input) scenes(byPool bool) []scene {
	var out []scene
	if byPool {
		for i := range in.Pools {
			if cat, ok := in.Catalogs[in.Pools[i].Class]; ok {
				out = append(out, newScene(cat, &in.Pools[i]))
			}
		}
		return out
	}
	var refs []model.ClassRef
	for ref := range in.Catalogs {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b model.ClassRef) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for _, ref := range refs {
		out = append(out, newScene(in.Catalogs[ref], nil))
	}
	return out
}

func (s scene) who() string {
	if s.pool == nil {
		return "class " + s.cat.Class.Name
	}
	return "NodePool " + s.pool.Name
}

// state returns what a label may be on a node made from the offering.
func (s scene) state(key string, t *model.InstanceType, o model.Offering) require.Values {
	switch key {
	case model.LabelInstanceType:
		return require.One(t.Name)
	case model.LabelZone:
		return require.One(o.Zone)
	case model.LabelCapacityType:
		return require.One(o.CapacityType)
	}
	if v, ok := o.Labels[key]; ok {
		return require.One(v)
	}
	if v, ok := t.Labels[key]; ok {
		return require.One(v)
	}
	if vs, ok := t.Either[key]; ok {
		return require.OneOf(vs...)
	}
	if v, ok := s.own.Get(key); ok && !require.Cloud(key) {
		return v
	}
	return require.Of(model.Requirement{Key: key, Op: model.DoesNotExist})
}

// picks reports whether the rule is about the offering in this scene. A rule about pools picks nothing where there is none.
func (s scene) picks(r rule, t *model.InstanceType, o model.Offering) bool {
	return (s.pool != nil || !r.byPool) && s.meets(r.want, t, o)
}

func (s scene) meets(want require.Set, t *model.InstanceType, o model.Offering) bool {
	for _, k := range want.Keys() {
		if v, _ := want.Get(k); !v.Meets(s.state(k, t, o)) {
			return false
		}
	}
	return true
}

// some and all are about the offerings of the size that the pool may buy.
func (s scene) some(r rule, t *model.InstanceType) bool {
	return slices.ContainsFunc(t.Offerings, func(o model.Offering) bool { return s.meets(s.own, t, o) && s.picks(r, t, o) })
}

func (s scene) all(r rule, t *model.InstanceType) bool {
	return s.some(r, t) && !slices.ContainsFunc(t.Offerings, func(o model.Offering) bool { return s.meets(s.own, t, o) && !s.picks(r, t, o) })
}
