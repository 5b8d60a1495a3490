package problem

import (
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// NodeConstraint is what a machine must look like for some pods, whatever their size: the alternatives of its labels, and which
// taints are tolerated. Classes of one constraint share all answers about labels and taints.
type NodeConstraint struct {
	Terms []require.Set
	// each list must cover the taints: pods that move together all have to
	tolerations [][]model.Toleration
	Picky       bool // taints that only discourage count as well
	// daemons that they cannot share a new machine with; existing nodes count daemons themselves
	Conflicts []DaemonConflict
	// size is set where the answer depends on it: of alternatives that cannot be promised together, the one that holds the pods is taken.
	size vec.Vec
	// Allowed says, per pool (by index), what it can offer.
	Allowed []*Allowed
	// slots lists capacity that is paid for and takes the constraint; nil = not asked yet.
	slots    []int32
	hasSlots bool
}

// Tolerates reports whether the pods tolerate all of the taints.
func (f *NodeConstraint) Tolerates(taints []model.Taint) bool {
	_, bad := f.Untolerated(taints)
	return !bad
}

// Untolerated is the first of the taints that the pods do not tolerate.
func (f *NodeConstraint) Untolerated(taints []model.Taint) (model.Taint, bool) {
	for _, list := range f.tolerations {
		if x, bad := model.Untolerated(taints, list); bad {
			return x, true
		}
		if x, bad := Discouraging(taints, list); f.Picky && bad {
			return x, true
		}
	}
	return model.Taint{}, false
}

// Discouraging returns the first taint that only discourages and is not tolerated.
func Discouraging(taints []model.Taint, list []model.Toleration) (model.Taint, bool) {
	for _, x := range taints {
		if x.Effect == model.PreferNoSchedule &&
			!slices.ContainsFunc(list, func(t model.Toleration) bool { return t.Tolerates(x) }) {
			return x, true
		}
	}
	return model.Taint{}, false
}

// constraints interns node constraints. The same labels and tolerations are one form.
type constraints struct {
	byText map[string]*NodeConstraint
	pools  []*NodePool
}

// GetPicky is the constraint of machines without discouraging taints.
func (fs *constraints) GetPicky(f *NodeConstraint) *NodeConstraint {
	return fs.like(f, f.Terms, true)
}

// Plain is the constraint of machines whether or not their taints discourage.
func (fs *constraints) Plain(f *NodeConstraint) *NodeConstraint {
	return fs.like(f, f.Terms, false)
}

// like is f with other alternatives, picky or not.
func (fs *constraints) like(f *NodeConstraint, terms []require.Set, picky bool) *NodeConstraint {
	return fs.intern(&NodeConstraint{Terms: terms, tolerations: f.tolerations,
		Conflicts: f.Conflicts, size: f.size, Picky: picky})
}

func (fs *constraints) intern(n *NodeConstraint) *NodeConstraint {
	terms, tolerations, size := n.Terms, n.tolerations, n.size
	var b []byte
	if n.Picky {
		b = append(b, '!')
	}
	for _, t := range terms {
		b = append(append(b, t.String()...), '\n')
	}
	for _, list := range tolerations {
		b = append(b, '|')
		for _, t := range list {
			for _, s := range []string{t.Key, t.Op, t.Value, string(t.Effect)} {
				b = append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...)
			}
		}
	}
	for _, x := range n.Conflicts {
		b = append(strconv.AppendInt(append(b, '#'), int64(x.Daemon), 10), x.Why...)
		b = append(append(b, ' '), x.Key...)
	}
	if !fs.split(terms) {
		size = nil
	}
	for _, v := range size {
		b = append(strconv.AppendInt(b, v, 10), ' ')
	}
	if fs.byText == nil {
		fs.byText = map[string]*NodeConstraint{}
	}
	f := fs.byText[string(b)]
	if f == nil {
		f = n
		f.size = size
		fs.byText[string(b)] = f
	}
	return f
}

// split reports whether some pool cannot promise all of the alternatives at once.
func (fs *constraints) split(terms []require.Set) bool {
	return len(terms) > 1 &&
		slices.ContainsFunc(fs.pools, func(s *NodePool) bool { return s.splits(terms) })
}

// Pin narrows f to machines with these values of keys; "" stands for no such label. nil when that contradicts f.
func (fs *constraints) Pin(f *NodeConstraint, keys, values []string) *NodeConstraint {
	var terms []require.Set
	for _, t := range f.Terms {
		for i, k := range keys {
			v := require.One(values[i])
			if values[i] == "" {
				v = require.Of(model.Requirement{Key: k, Op: model.DoesNotExist})
			}
			t = t.With(require.Key(k), v)
		}
		if t.Impossible() == "" {
			terms = append(terms, t)
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return fs.like(f, terms, f.Picky)
}

// Merge is the constraint of machines that suit both.
func (fs *constraints) Merge(a, b *NodeConstraint, size vec.Vec) *NodeConstraint {
	if a == b {
		return a
	}
	var terms []require.Set
	for _, x := range a.Terms {
		for _, y := range b.Terms {
			if z := x.And(y); z.Impossible() == "" {
				terms = append(terms, z)
			}
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return fs.intern(&NodeConstraint{
		Terms:       terms,
		tolerations: append(slices.Clone(a.tolerations), b.tolerations...),
		Conflicts:   append(slices.Clone(a.Conflicts), b.Conflicts...),
		size:        size,
	})
}

// ExistingFor lists capacity that is paid for and takes the constraint, in order of preference.
func (d *Problem) ExistingFor(f *NodeConstraint) []int32 {
	if f.hasSlots {
		return f.slots
	}
	f.hasSlots = true
	for i, s := range d.Existing {
		if s.Takes(f) {
			f.slots = append(f.slots, int32(i))
		}
	}
	return f.slots
}

// AllowedOf asks a pool about a constraint, once.
func (d *Problem) AllowedOf(s *NodePool, f *NodeConstraint) *Allowed {
	if f.Allowed == nil {
		f.Allowed = make([]*Allowed, len(d.Pools))
	}
	if f.Allowed[s.ID] == nil {
		f.Allowed[s.ID] = newLot(s, f)
		s.Setup += 1 + len(f.Terms)
	}
	return f.Allowed[s.ID]
}

// AtLeast is the constraint with only those machines on sale that have so much room beside daemons.
func (d *Problem) AtLeast(f *NodeConstraint, room vec.Vec) *NodeConstraint {
	large := *f
	large.Allowed = make([]*Allowed, len(d.Pools))
	for _, s := range d.Pools {
		l := *d.AllowedOf(s, f)
		l.OK = s.holding(l.OK, room)
		l.All = slices.Clone(l.All)
		for i := range l.All {
			l.All[i].OK = s.holding(l.All[i].OK, room)
		}
		large.Allowed[s.ID] = &l
	}
	return &large
}

func (s *NodePool) holding(list bitset.Set, room vec.Vec) bitset.Set {
	return list.Where(func(i int) bool { return s.Room[i].Covers(room) })
}

// Wish narrows a constraint to machines that have what is wished for; nil when none of its alternatives can.
func (fs *constraints) Wish(f *NodeConstraint, s require.Set) *NodeConstraint {
	var terms []require.Set
	for _, t := range f.Terms {
		if t = t.And(s); t.Impossible() == "" {
			terms = append(terms, t)
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return fs.like(f, terms, f.Picky)
}

// Possible reports whether anything is there or on sale that suits the constraint and holds one pod of the class.
func (d *Problem) Possible(f *NodeConstraint, g *PodClass) bool {
	for _, i := range d.ExistingFor(f) {
		if d.Existing[i].Holds(g, 1) > 0 {
			return true
		}
	}
	return d.Sold(f, g)
}

// Sold reports whether anything is on sale that suits the constraint and holds one pod of the class.
func (d *Problem) Sold(f *NodeConstraint, g *PodClass) bool {
	for _, s := range d.Pools {
		ok := d.AllowedOf(s, f).OK
		for i := ok.First(); i >= 0; i = ok.Next(i + 1) {
			if s.Room[i].Covers(g.Size) {
				return true
			}
		}
	}
	return false
}

// Discouraging lists, once each, the taints of pools and nodes that only discourage.
func (d *Problem) Discouraging() []model.Taint {
	var out []model.Taint
	note := func(list []model.Taint) {
		for _, t := range list {
			if t.Effect == model.PreferNoSchedule && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	for _, s := range d.Pools {
		note(s.Pool.Taints)
	}
	for _, s := range d.Existing {
		note(s.Taints)
	}
	return out
}
