// Package portfolio answers: on which machines do these pods cost least?
//
// It packs groups of like pods into machines of several kinds, in several ways, and keeps the best: filling by what pods
// are worth, beginning with the prices of a linear program, column generation over whole pods, an exact search where there
// are few, and a local search over what these found. It knows amounts, which kinds of pods a machine takes, counts that bound who may be
// on one machine, limits of sellers, and a budget of steps; nothing of Kubernetes. Same input, same answer.
package portfolio

import (
	"cmp"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/unbeaten"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// Load is how many pods of one group go onto a machine.
type Load struct{ Group, N int }

// Bin is one machine of a draft: a choice and what goes onto it.
type Bin struct {
	Choice int
	Loads  []Load // by group
}

// Draft is a way to pack: machines, and what found no place.
type Draft struct {
	Bins   []Bin
	Left   []int // per group
	Missed int   // sum of left
	Price  int64
}

// Better orders drafts: more pods placed, then cheaper, then fewer machines.
func (d *Draft) Better(o *Draft) bool {
	return cmp.Or(cmp.Compare(d.Missed, o.Missed), cmp.Compare(d.Price, o.Price), cmp.Compare(len(d.Bins), len(o.Bins))) < 0
}

// Choice is one kind of machine that may be bought.
type Choice struct {
	unbeaten.Option
	Price int64 // micro-dollars per hour
}

// like reports whether two choices cost and hold the same, as machines of one size in several zones do.
func (c *Choice) like(o *Choice) bool {
	return c.Price == o.Price && c.Seller == o.Seller && slices.Equal(c.Room, o.Room) && slices.Equal(c.Cost, o.Cost)
}

// Packer packs waiting pods of some groups into machines of some choices. Every answer depends on the values of its input only.
type Packer struct {
	Sizes   []vec.Vec // per group
	Kinds   []int     // per group: position of its form in the sets of choices
	Ties    [][]Tie
	Counts  int       // how many different counts ties speak of
	lay     *layout   // made when first asked for
	scratch []pattern // of the last fill, for the room of its loads
	Choices []Choice
	Limits  []vec.Vec // per seller: what is left
	// steps is what the search may still cost, in visits of a group by a choice. It never goes below zero by much.
	Steps int
	Cut   bool
	// Arrivals says how the pods of each group are let in; nil = anyhow.
	Arrivals []Arrival
	// Without leaves mechanisms out.
	Without []Mechanism
}

// NoLimit is what a count bears that nobody minds.
const NoLimit = int32(1) << 30

// noCap stands for "as many as you like".
const noCap = 1 << 40

// Tie is a relation in packing: the count's number, what a pod adds to it, and the most that it bears.
type Tie struct{ Count, Adds, Limit int32 }

// Among is the packer with other kinds and choices.
func (p *Packer) Among(kind []int, choices []Choice) *Packer {
	q := *p
	q.lay, q.scratch, q.Kinds, q.Choices = nil, nil, kind, choices
	return &q
}

// takes reports whether machines of the choice suit the group.
func (p *Packer) takes(ci, g int) bool { return p.Choices[ci].Takes.Has(p.Kinds[g]) }

// bearable returns how many pods of group g may join the loads on one machine, as far as ties go.
func (p *Packer) bearable(loads []Load, g int) int {
	best := noCap
	for _, t := range p.Ties[g] {
		n, limit := int32(0), t.Limit
		for _, l := range loads {
			for _, o := range p.Ties[l.Group] {
				if o.Count == t.Count {
					n += o.Adds * int32(l.N)
					limit = min(limit, o.Limit)
				}
			}
		}
		if t.Adds > 0 {
			best = min(best, int(max(0, limit-n)/t.Adds))
		} else if n > limit {
			best = 0
		}
	}
	return best
}

// Bounds of the portfolio, in steps. Each part of the search gets a little whatever the size of the input and a little per pod, so
// that few pods are looked at thoroughly and many in a time that grows as they do.
const (
	thorough = 400_000 // for the exact search where there are few pods
	fewPods  = 600     // pods of which the exact search gets half of that
	learn    = 60_000  // for learning what pods are worth, beyond the first lessons
	learnFew = 10_000  // likewise, where pods are let in one after the other: see share
	polish   = 5_000   // for making one draft cheaper
)

// Pack returns the best draft that the portfolio finds for want pods per group. It always returns a sound draft.
func (p *Packer) Pack(want []int) *Draft {
	if p.uses(packingApart) {
		if d := p.apart(want); d != nil {
			return d
		}
	}
	return p.together(want)
}

// together packs pods that may share machines.
func (p *Packer) together(want []int) *Draft {
	budget := min(p.Steps/2, max(polish, thorough/(fewPods+sum(want))*fewPods))
	if d := p.small(want, budget); d != nil {
		return d
	}
	lessons := learn
	if p.inTurn(want) {
		lessons = learnFew
	}
	best, guide, least := p.learned(want, lessons)
	best = p.frugally(polish, func(q *Packer) *Draft { return q.improve(best, want, guide) })
	if p.uses(columnPacking) {
		if d := p.columns(want, best, least); d != nil && d.Better(best) {
			best = d
		}
	}
	return best
}

// sum is the number of pods.
func sum(want []int) int {
	total := 0
	for _, n := range want {
		total += n
	}
	return total
}

// small is the exact search, where it is used.
func (p *Packer) small(want []int, budget int) *Draft {
	if !p.uses(exactSearch) {
		return nil
	}
	return p.exact(want, budget)
}

// frugally lets f work on a part of the budget.
func (p *Packer) frugally(budget int, f func(q *Packer) *Draft) *Draft {
	q := *p
	q.Steps, q.Cut = min(budget, p.Steps), false
	start := q.Steps
	d := f(&q)
	p.Steps -= start - max(q.Steps, 0)
	return d
}

// ByPriority packs again in order of priority where not all pods found a place: what is short goes to those that matter
// most. Turn says of each group how many priorities are above its own; groups come in this order.
func (p *Packer) ByPriority(best *Draft, want, turn []int) *Draft {
	last := turn[len(turn)-1]
	if last == 0 {
		return best
	}
	out := &Draft{}
	q := *p
	for now := range last + 1 {
		some := make([]int, len(want))
		for g, t := range turn {
			if t == now {
				some[g] = want[g]
			}
		}
		q.Limits = p.Remaining(out.Bins)
		q.topUp(out.Bins, some)
		if slices.Max(some) > 0 {
			out.Bins = append(out.Bins, q.Pack(some).Bins...)
		}
	}
	p.Steps, p.Cut = q.Steps, q.Cut
	p.settle(out, want)
	had, have := make([]int, last+1), make([]int, last+1)
	for g, t := range turn {
		had[t] += best.Left[g]
		have[t] += out.Left[g]
	}
	if slices.Compare(have, had) < 0 {
		return out
	}
	return best
}

// topUp puts pods onto machines of a draft that have room for them, and takes them out of want. Of their groups, none is on any yet.
func (p *Packer) topUp(bins []Bin, want []int) {
	for i := range bins {
		b := &bins[i]
		room := p.Choices[b.Choice].Room.Clone()
		for _, l := range b.Loads {
			room.Take(p.Sizes[l.Group], l.N)
		}
		for g, n := range want {
			if n == 0 || !p.takes(b.Choice, g) {
				continue
			}
			if k := min(room.Times(p.Sizes[g], n), p.bearable(b.Loads, g)); k > 0 {
				b.Loads = append(slices.Clip(b.Loads), Load{g, k})
				room.Take(p.Sizes[g], k)
				want[g] -= k
			}
		}
	}
}

// settle computes the sums of a draft from its bins.
func (p *Packer) settle(d *Draft, want []int) *Draft {
	d.Left, d.Missed, d.Price = slices.Clone(want), 0, 0
	for _, b := range d.Bins {
		d.Price += p.Choices[b.Choice].Price
		for _, l := range b.Loads {
			d.Left[l.Group] -= l.N
		}
	}
	for _, n := range d.Left {
		d.Missed += n
	}
	return d
}

// weight is what the loads need.
func (p *Packer) weight(loads []Load) vec.Vec {
	v := make(vec.Vec, len(p.Choices[0].Room))
	for _, l := range loads {
		v.Take(p.Sizes[l.Group], -l.N)
	}
	return v
}

// cheapest returns the first choice, in order of price, that takes the loads within the limits; -1 when none does.
func (p *Packer) cheapest(loads []Load, limits []vec.Vec) int {
	need := p.weight(loads)
	for ci := range p.Choices {
		c := &p.Choices[ci]
		if c.Room.Covers(need) && limits[c.Seller].Covers(c.Cost) && p.suits(ci, loads) {
			return ci
		}
	}
	return -1
}

func (p *Packer) suits(ci int, loads []Load) bool {
	for _, l := range loads {
		if !p.takes(ci, l.Group) {
			return false
		}
	}
	return true
}

// Remaining returns the limits less what the bins take.
func (p *Packer) Remaining(bins []Bin) []vec.Vec {
	out := make([]vec.Vec, len(p.Limits))
	for i, v := range p.Limits {
		out[i] = v.Clone()
	}
	for _, b := range bins {
		c := p.Choices[b.Choice]
		out[c.Seller].Take(c.Cost, 1)
	}
	return out
}
