package place

import (
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// nodeConstraint is what a machine must look like for some pods, whatever their size: the alternatives of its labels, and which
// taints are tolerated. Groups of one form share all answers about labels and taints.
type nodeConstraint struct {
	terms       []require.Set
	tolerations [][]model.Toleration // each list must cover the taints: pods that move together all have to
	picky       bool                 // taints that only discourage count as well
	conflicts   []daemonConflict     // daemons that they cannot share a new machine with; existing nodes count daemons themselves
	// size is set where the answer depends on it: of alternatives that cannot be promised together, the one that holds the pods is taken.
	size vec.Vec
	// allowed says, per pool (by index), what it can offer.
	allowed []*allowed
	// slots lists capacity that is paid for and takes the form; nil = not asked yet.
	slots    []int32
	hasSlots bool
}

func (f *nodeConstraint) tolerates(taints []model.Taint) bool {
	_, bad := f.untolerated(taints)
	return !bad
}

func (f *nodeConstraint) untolerated(taints []model.Taint) (model.Taint, bool) {
	for _, list := range f.tolerations {
		if x, bad := model.Untolerated(taints, list); bad {
			return x, true
		}
		if x, bad := discouraging(taints, list); f.picky && bad {
			return x, true
		}
	}
	return model.Taint{}, false
}

// discouraging returns the first taint that only discourages and is not tolerated.
func discouraging(taints []model.Taint, list []model.Toleration) (model.Taint, bool) {
	for _, x := range taints {
		if x.Effect == model.PreferNoSchedule && !slices.ContainsFunc(list, func(t model.Toleration) bool { return t.Tolerates(x) }) {
			return x, true
		}
	}
	return model.Taint{}, false
}

// constraints interns node constraints. The same labels and tolerations are one form.
type constraints struct {
	byText map[string]*nodeConstraint
	pools  []*nodePool
}

func (fs *constraints) get(f nodeConstraint) *nodeConstraint { return fs.intern(&f) }

// getPicky is the form of machines without discouraging taints.
func (fs *constraints) getPicky(f *nodeConstraint) *nodeConstraint {
	return fs.intern(&nodeConstraint{terms: f.terms, tolerations: f.tolerations, conflicts: f.conflicts, size: f.size, picky: true})
}

// plain is the form of machines whether or not their taints discourage.
func (fs *constraints) plain(f *nodeConstraint) *nodeConstraint {
	return fs.intern(&nodeConstraint{terms: f.terms, tolerations: f.tolerations, conflicts: f.conflicts, size: f.size})
}

// like is f with other alternatives.
func (fs *constraints) like(f *nodeConstraint, terms []require.Set) *nodeConstraint {
	return fs.intern(&nodeConstraint{terms: terms, tolerations: f.tolerations, conflicts: f.conflicts, size: f.size, picky: f.picky})
}

func (fs *constraints) intern(n *nodeConstraint) *nodeConstraint {
	terms, tolerations, size := n.terms, n.tolerations, n.size
	var b []byte
	if n.picky {
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
	for _, x := range n.conflicts {
		b = append(append(append(strconv.AppendInt(append(b, '#'), int64(x.daemon), 10), x.why...), ' '), x.key...)
	}
	if !fs.split(terms) {
		size = nil
	}
	for _, v := range size {
		b = append(strconv.AppendInt(b, v, 10), ' ')
	}
	if fs.byText == nil {
		fs.byText = map[string]*nodeConstraint{}
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
	return len(terms) > 1 && slices.ContainsFunc(fs.pools, func(s *nodePool) bool { return s.splits(terms) })
}

// pin narrows f to machines with these values of keys; "" stands for no such label. nil when that contradicts f.
func (fs *constraints) pin(f *nodeConstraint, keys, values []string) *nodeConstraint {
	var terms []require.Set
	for _, t := range f.terms {
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
	return fs.like(f, terms)
}

// merge is the form of machines that suit both.
func (fs *constraints) merge(a, b *nodeConstraint, size vec.Vec) *nodeConstraint {
	if a == b {
		return a
	}
	var terms []require.Set
	for _, x := range a.terms {
		for _, y := range b.terms {
			if z := x.And(y); z.Impossible() == "" {
				terms = append(terms, z)
			}
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return fs.get(nodeConstraint{terms: terms, tolerations: append(slices.Clone(a.tolerations), b.tolerations...), conflicts: append(slices.Clone(a.conflicts), b.conflicts...), size: size})
}

// existingFor lists capacity that is paid for and takes the form, in order of preference.
func (d *problem) existingFor(f *nodeConstraint) []int32 {
	if f.hasSlots {
		return f.slots
	}
	f.hasSlots = true
	for i, s := range d.existing {
		if s.takes(f) {
			f.slots = append(f.slots, int32(i))
		}
	}
	return f.slots
}

// allowedOf asks a pool about a form, once.
func (d *problem) allowedOf(s *nodePool, f *nodeConstraint) *allowed {
	if f.allowed == nil {
		f.allowed = make([]*allowed, len(d.pools))
	}
	if f.allowed[s.id] == nil {
		f.allowed[s.id] = newLot(s, f)
		s.setup += 1 + len(f.terms)
	}
	return f.allowed[s.id]
}

// wish narrows a form to machines that have what is wished for; nil when none of its alternatives can.
func (fs *constraints) wish(f *nodeConstraint, s require.Set) *nodeConstraint {
	var terms []require.Set
	for _, t := range f.terms {
		if t = t.And(s); t.Impossible() == "" {
			terms = append(terms, t)
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return fs.like(f, terms)
}

// possible reports whether anything is there or on sale that suits the form and holds one pod of the group.
func (d *problem) possible(f *nodeConstraint, g *podClass) bool {
	for _, i := range d.existingFor(f) {
		if d.existing[i].holds(g, 1) > 0 {
			return true
		}
	}
	return d.sold(f, g)
}

// sold reports whether anything is on sale that suits the form and holds one pod of the group.
func (d *problem) sold(f *nodeConstraint, g *podClass) bool {
	for _, s := range d.pools {
		ok := d.allowedOf(s, f).ok
		for i := ok.First(); i >= 0; i = ok.Next(i + 1) {
			if s.room[i].Covers(g.size) {
				return true
			}
		}
	}
	return false
}

// discouraging lists, once each, the taints of pools and nodes that only discourage.
func (d *problem) discouraging() []model.Taint {
	var out []model.Taint
	note := func(list []model.Taint) {
		for _, t := range list {
			if t.Effect == model.PreferNoSchedule && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	for _, s := range d.pools {
		note(s.pool.Taints)
	}
	for _, s := range d.existing {
		note(s.taints)
	}
	return out
}
