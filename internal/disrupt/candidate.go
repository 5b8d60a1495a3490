package disrupt

import (
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// candidate is a claim with all that belongs to it.
type candidate struct {
	claim *model.Claim
	node  *model.Node // nobody's when none has joined
	pool  *model.Pool
	there model.NodePods
	price model.Price // zero when the cloud does not sell it any more
	// record is the move that it leaves by, as its claim says, and written that text.
	record  Record
	written string
	// moves reports that the record can be read.
	moves bool
	// taken reports that the cloud takes its machine away: lifecycle deletes the claim.
	taken bool
	// keeps is what keeps it as long as nobody looks further.
	keeps reason
}

// leaves reports whether there is no way back.
func (x *candidate) leaves() bool { return x.taken || x.claim.Deleting() || x.node.Deleting() }

// marked reports whether the node is chosen to leave, but may still stay.
func (x *candidate) marked() bool { return !x.leaves() && x.node.HasTaint(model.TaintDisrupted) }

// move is the move of an empty node.
func (x *candidate) move() Move {
	return Move{Claims: []string{x.claim.Name}, Nodes: []string{x.node.Name}, Why: model.WhyEmpty,
		Saves: x.price, Marked: x.marked()}
}

// cost is what moving the node's pods costs, in pods of the ordinary kind.
func (x *candidate) cost() float64 {
	sum := 1.0
	for _, p := range x.there.Pods {
		if p.Reschedulable() {
			sum += max(0, p.EvictionCost())
		}
	}
	return sum
}

// picture is the input sorted by candidate, and what is decided so far.
type picture struct {
	Input
	out        Decision
	candidates []*candidate
	byClaim    map[string]*candidate
	budgets    budgets
	// rolling is how many nodes of static pools begin to be replaced by this decision, by pool.
	rolling map[string]int64
	wards   outage.Wards
	// done are claims that are decided about.
	done map[string]bool
	// nominated are the nodes for which kube-scheduler has made room for a pod.
	nominated map[string]model.PodKey
	// guards are the disruption budgets of pods, closed those that let nobody go.
	guards map[model.PodKey][]*model.PDB
	// replacing are the claims that were bought for a move which is not over.
	replacing map[string]bool
	// receiving are the nodes that pods of this decision's moves go to.
	receiving map[string]bool
	// expected is the answer of Expected, once it was asked.
	expected map[string]bool
	asked    bool
	// latePod is the answer of late, once it was asked.
	latePod   *model.Pod
	lateAsked bool
	ifs       *place.WhatIf
	names     map[string]bool        // of claims, and of those that are to be made
	pauses    map[string]model.Pause // by pool, as far as it was asked
	rollouts  map[string]*rollout    // by pool; nil until one is asked for
	// watching is set while moves are told and not made.
	watching bool
}

func survey(in Input) *picture {
	in.World = in.World.Indexed()
	s := &picture{
		Input: in, nominated: map[string]model.PodKey{}, guards: map[model.PodKey][]*model.PDB{},
		byClaim: map[string]*candidate{}, done: map[string]bool{}, replacing: map[string]bool{},
		receiving: map[string]bool{}, names: map[string]bool{}, rolling: map[string]int64{},
		pauses: map[string]model.Pause{},
	}
	w, none := &s.World, &model.Node{}
	for p := range w.Index.Unbound().All() {
		if p.Nominated != "" {
			s.nominated[p.Nominated] = p.Key()
		}
	}
	for i := range w.PDBs {
		for _, k := range w.PDBs[i].Pods {
			s.guards[k] = append(s.guards[k], &w.PDBs[i])
		}
	}
	pools := make(map[string]*model.Pool, len(w.Pools))
	for i := range w.Pools {
		pools[w.Pools[i].Name] = &w.Pools[i]
	}
	prices := prices{w: w}
	s.candidates = make([]*candidate, 0, len(w.Claims))
	flat := make([]candidate, len(w.Claims))
	for i := range w.Claims {
		c, x := &w.Claims[i], &flat[i]
		x.claim, x.node, x.price = c, w.Index.NodeBy(c.ProviderID), prices.of(c)
		if c.Pool != "" {
			x.pool = pools[c.Pool]
		}
		if x.node == nil {
			x.node = none
		} else {
			x.there, x.taken = w.Index.On(x.node.Name), outage.Interrupted(x.node)
		}
		s.candidates, s.byClaim[c.Name], s.names[c.Name] = append(s.candidates, x), x, true
		x.record, x.written, x.moves = RecordOf(c)
		for _, name := range x.record.Replacements {
			s.replacing[name] = s.replacing[name] || x.moves
			s.names[name] = s.names[name] || x.moves // who may not be made yet; another's replacement is not its
		}
	}
	if in.Repair {
		s.wards = outage.Survey(w)
	}
	for _, x := range s.candidates {
		for _, name := range x.record.Replacements {
			if x.moves && x.pool != nil && s.byClaim[name] == nil {
				s.rolling[x.pool.Name]++ // on its way into the picture
			}
		}
	}
	s.budgets = budgets{now: in.Now, of: map[string]*counts{}, known: map[asked]int{}}
	for _, x := range s.candidates {
		s.budgets.count(x)
	}
	return s
}

// budgets is the one account of how many nodes of each pool leave, whatever for.
type budgets struct {
	now time.Time
	of  map[string]*counts // by pool
	// known is what budgets allow at all, once all nodes are counted.
	known map[asked]int
}

type asked struct{ pool, reason string }

type counts struct{ total, leaving int }

func (b *budgets) pool(name string) *counts {
	if b.of[name] == nil {
		b.of[name] = &counts{}
	}
	return b.of[name]
}

// count counts a node as budgets see it: initialized ones whose machine is not on its way out already,
// and among these the ones that are leaving or not ready.
func (b *budgets) count(x *candidate) {
	if x.node.Name == "" || !x.claim.Is(model.Initialized) ||
		x.claim.Is(model.InstanceTerminating) {
		return
	}
	n := b.pool(x.claim.Pool)
	n.total++
	if x.leaves() || x.marked() || x.moves || x.node.Ready != model.True {
		n.leaving++
	}
}

// left is how many nodes of the pool may still begin to leave for the reason.
func (b *budgets) left(p model.Pool, reason string) int {
	most := b.most(&p, reason)
	if most == budget.Unlimited {
		return most
	}
	return max(most-b.pool(p.Name).leaving, 0)
}

// most is how many nodes of the pool may be leaving at the same time for the reason. Budgets are read
// once for a decision: to read a time zone costs a look into a table of them.
func (b *budgets) most(p *model.Pool, reason string) int {
	k := asked{p.Name, reason}
	most, known := b.known[k]
	if !known {
		most = budget.Allowed(*p, reason, b.pool(p.Name).total, 0, b.now)
		b.known[k] = most
	}
	return most
}

// take has one more node of the pool leave.
func (b *budgets) take(pool string) { b.pool(pool).leaving++ }

// Prices says what machines of claims cost now, 0 when the cloud does not sell them any more.
func Prices(w *model.World) func(*model.Claim) model.Price {
	l := prices{w: w}
	return l.of
}

// prices knows what machines cost now; each kind is looked up once.
type prices struct {
	w     *model.World
	known map[priced]model.Price
}

type priced struct {
	pool  string
	class model.ClassRef
	key   model.OfferingKey
}

func (l *prices) of(c *model.Claim) model.Price {
	k := priced{c.Pool, c.Class, c.Offering()}
	price, ok := l.known[k]
	if ok {
		return price
	}
	t, _ := l.w.Catalog(c.Pool, c.Class).Type(k.key.Type)
	for _, o := range t.Offerings {
		if o.Zone == k.key.Zone && o.CapacityType == k.key.CapacityType {
			price = o.Price
			break
		}
	}
	if l.known == nil {
		l.known = map[priced]model.Price{}
	}
	l.known[k] = price
	return price
}
