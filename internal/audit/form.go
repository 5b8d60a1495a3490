package audit

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// form is everything that a machine may turn out to be. Many purchases differ in nothing but their pods: they share one, and what is
// wrong whichever pods they are for is looked for once.
type form struct {
	faces  []*face // one for a node; one per offering otherwise
	sizes  []size
	suited map[*kind]bool
	values [][]seen // by the tallies' keys: what the label may turn out to be, in the order of names
	open   []bool   // by the tallies' keys: it hangs on the face

	// Of purchases only.
	times int64 // how many have it
	claim *place.NewClaim
	pool  *model.Pool // nil when nothing may be bought from it
	wrong []Finding   // without the purchase's name
}

// seen is a value of a label, by number, and the first face that shows it.
type seen struct{ value, face int }

// size is what some of the faces give, and what daemons take of it.
type size struct{ gives, daemons model.Resources }

// terms finds forms of purchases. Options are told apart by where they stand in memory: a list that is written down twice is looked
// at twice.
type terms struct {
	pool    string
	class   model.ClassRef
	relaxed bool
	options *place.Option
	count   int
}

// formOf is the form of a purchase, which has options.
func (a *audit) formOf(b *place.NewClaim) *form {
	at := terms{b.Pool, b.Class, b.Relaxed, &b.Options[0], len(b.Options)}
	for _, f := range a.forms[at] {
		if slices.EqualFunc(f.claim.Requirements, b.Requirements, sameRequirement) {
			return f
		}
	}
	f := &form{claim: b, suited: map[*kind]bool{}}
	a.forms[at] = append(a.forms[at], f)
	a.bought = append(a.bought, f)
	a.fill(f)
	return f
}

func sameRequirement(x, y model.Requirement) bool {
	return x.Key == y.Key && x.Op == y.Op && x.MinValues == y.MinValues && slices.Equal(x.Values, y.Values)
}

// fill looks at all that does not hang on the pods of a purchase.
func (a *audit) fill(f *form) {
	b := f.claim
	pool := a.pool(b.Pool)
	if pool == nil || !open(*pool) || pool.Class != b.Class {
		f.bad(OpenPool, "the pool may not buy this")
		return
	}
	f.pool = pool
	if class, ok := find(a.w.Classes, func(c model.Class) bool { return c.Ref == b.Class }); !ok || !class.Ready() {
		f.bad(OpenPool, "its class is not ready")
	}
	asks := requirementText(b.Requirements)
	last := model.Price(0)
	for _, o := range b.Options {
		if last-o.Price > last/10_000 {
			f.bad(BestFirst, "%s is cheaper than the option before it", o.Key)
		}
		last = o.Price
		x, ok := a.offering(b.Pool, b.Class, o.Key)
		if !ok || !x.o.Available || x.o.Price != o.Price {
			f.bad(OnSale, "%s is not on sale at %s", o.Key, o.Price)
			continue
		}
		g := a.face(pool, b.Requirements, asks, x)
		f.add(g)
		for _, r := range pool.Requirements {
			if !g.holds(r) {
				f.bad(Labels, "%s breaks the pool's requirement on %s", g.what, r.Key)
			}
		}
		for _, r := range b.Requirements {
			if !g.holds(r) {
				f.bad(Labels, "%s breaks the claim's requirement on %s", g.what, r.Key)
			}
		}
	}
	a.variety(f)
	f.asks()
}

func (f *form) bad(r Rule, format string, args ...any) {
	f.wrong = append(f.wrong, Finding{r, fmt.Sprintf(format, args...)})
}

// add notes one thing more that the machine may turn out to be.
func (f *form) add(g *face) {
	f.faces = append(f.faces, g)
	x := size{g.typ.Allocatable, g.daemons}
	same := func(y size) bool { return equal(x.gives, y.gives) && equal(x.daemons, y.daemons) }
	if !slices.ContainsFunc(f.sizes, same) {
		f.sizes = append(f.sizes, x)
	}
}

func equal(x, y model.Resources) bool { return x.FitsIn(y) && y.FitsIn(x) }

// suits reports whether all faces suit the pod.
func (f *form) suits(p *subject) bool {
	ok, known := f.suited[p.kind]
	if !known {
		ok = !slices.ContainsFunc(f.faces, func(g *face) bool {
			return !g.accepts(p) || slices.ContainsFunc(p.Volumes, func(v model.Volume) bool { return !g.reaches(v) })
		})
		f.suited[p.kind] = ok
	}
	return ok
}

// reaches reports whether the volume can be reached from there.
func (f *face) reaches(v model.Volume) bool {
	return v.Terms == nil || slices.ContainsFunc(v.Terms, f.meets)
}

// pool finds a pool; nil = there is none.
func (a *audit) pool(name string) *model.Pool {
	for i := range a.w.Pools {
		if a.w.Pools[i].Name == name {
			return &a.w.Pools[i]
		}
	}
	return nil
}
