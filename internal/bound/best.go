package bound

import (
	"container/heap"
	"math"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// Efforts, in numbers touched. A core does some three hundred millions of them per second.
const (
	Quick    = 5_000_000      // L0 and L1; a few milliseconds
	Brisk    = 200_000_000    // L1Split for any number of groups, L2 for some; tenths of a second
	Thorough = 1_000_000_000  // L2 for some dozens; a second or two
	Patient  = 20_000_000_000 // L2 for hundreds of groups; a minute or more
)

const (
	// maxGroups bounds the upper tiers, maxWhole the uppermost, each of whose steps costs its square.
	maxGroups = 20_000
	maxWhole  = 300
	// effortPerLeaf bounds the leaves of one machine's proof: a single machine without one lowers all prices.
	effortPerLeaf = 10_000
	maxLeaves     = 200_000
	maxTries      = 6
)

// Best returns the strongest bound that the effort buys, component by component. It names the tier of the dearest component. The same
// problem and effort give the same bytes.
func Best(p Problem, effort int) Certificate { return upTo(p, L2, effort) }

// upTo is Best that leaves the tiers above one alone.
func upTo(p Problem, tier Tier, effort int) Certificate {
	c := Certificate{Worth: make([]int64, len(p.Groups)), Use: make([]int32, len(p.Machines)), Proofs: []Proof{{Prices: make([]int64, len(p.Resources))}}}
	total, dearest := 0.0, -1.0
	list := parts(p, max(effort, Brisk))
	for _, q := range list {
		q.leaves = min(effort/effortPerLeaf, maxLeaves)
		worth, prices, t := q.strongest(tier, effort/len(list))
		proven := q.certify(&c, worth, prices)
		if q.below != nil && q.certified(&c) < q.sum(q.below) { // too much of it could not be proven: what may be cut is proven at once
			t, proven = L1Split, q.certify(&c, q.below, nil)
		}
		if v := q.sum(worth) * q.money; v > dearest {
			c.Tier, dearest = t, v
		}
		if !proven && prices == nil {
			worth, prices, _ = q.strongest(L1, effort)
			q.certify(&c, worth, prices)
		}
	}
	for g, x := range p.Groups {
		total += float64(c.Worth[g]) * float64(x.Count)
	}
	if total > math.MaxInt64/8 { // beyond what can be counted: claim nothing
		return Certificate{Worth: make([]int64, len(p.Groups)), Use: c.Use, Proofs: c.Proofs}
	}
	sum := int64(0)
	for g, x := range p.Groups {
		sum += c.Worth[g] * x.Count
	}
	c.Value = model.Price((sum + unit - 1) / unit)
	return c
}

// strongest climbs the tiers. prices of resources come with the lower two, where one list does for all machines.
func (q *part) strongest(tier Tier, effort int) (worth, prices []float64, t Tier) {
	prices = q.single()
	worth = q.worthOf(prices)
	if tier == L0 {
		return worth, prices, L0
	}
	if l1 := q.aggregate(); q.sum(q.worthOf(l1)) > q.sum(worth) {
		worth, prices, t = q.worthOf(l1), l1, L1
	}
	if tier == L1 || len(q.groups) > maxGroups || q.work > effort {
		return worth, prices, t
	}
	budget := effort
	if tier == L2 {
		budget = q.work + (effort-q.work)/2
	}
	if better := q.clustered(worth, prices, budget); q.sum(better) > q.sum(worth)*(1+tiny) {
		worth, prices, t = better, nil, L1Split
	}
	if tier == L1Split || len(q.groups) > maxWhole || q.work > effort {
		return worth, prices, t
	}
	if better := q.columns(effort); q.sum(better) > q.sum(worth)*(1+tiny) {
		q.below = worth
		worth, prices, t = better, nil, L2
	}
	return worth, prices, t
}

// certified is what all pods are worth in a certificate.
func (q *part) certified(c *Certificate) float64 {
	total := 0.0
	for i, g := range q.groups {
		total += float64(c.Worth[g]) / unit / q.money * q.count[i]
	}
	return total
}

// certify turns prices into whole numbers and proves them, machine by machine; prices that turn out a little too high are
// lowered until the proof holds. Where it never does, nothing is claimed.
func (q *part) certify(c *Certificate, worth, prices []float64) bool {
	shrink := 1 - 1e-7 // room for rounding
	for range maxTries {
		shrunk := slices.Clone(worth)
		for i, g := range q.groups {
			shrunk[i] *= shrink
			c.Worth[g] = int64(max(0, worth[i]*shrink*q.money*unit))
		}
		first := len(c.Proofs)
		excess := 0.0
		use := map[int]int32{}
		for m, id := range q.machines {
			w := &prover{q: q, m: m, c: c, nodes: q.leaves, excess: excess}
			use[id] = int32(len(c.Proofs))
			if prices != nil {
				c.Proofs = append(c.Proofs, w.given(prices, shrink))
			} else {
				c.Proofs = append(c.Proofs, w.prove(shrunk))
			}
			excess = w.excess
		}
		if excess <= 1 {
			for id, n := range use {
				c.Use[id] = n
			}
			for id, by := range q.beaten {
				c.Use[id] = use[by]
			}
			return true
		}
		c.Proofs = c.Proofs[:first]
		shrink /= excess * (1 + 1e-9)
	}
	for _, g := range q.groups {
		c.Worth[g] = 0
	}
	return false
}

// prover builds the proof for one machine.
type prover struct {
	q      *part
	m      int
	c      *Certificate
	nodes  int
	excess float64 // by how much the worst leaf of any machine so far is worth too much
}

// leaf is where a proof may still branch.
type leaf struct {
	at   *Proof
	k    knapsack
	cut  load
	over float64
}

// leaves is a heap, the worst first.
type leaves []leaf

func (l leaves) Len() int           { return len(l) }
func (l leaves) Less(i, j int) bool { return l[i].over > l[j].over }
func (l leaves) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

// Push adds a leaf.
func (l *leaves) Push(x any) { *l = append(*l, x.(leaf)) }

// Pop takes the last one away.
func (l *leaves) Pop() any {
	x := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return x
}

// given proves by a list of prices that does for all machines.
func (w *prover) given(prices []float64, shrink float64) Proof {
	x := w.leaf(prices, shrink)
	w.excess = max(w.excess, w.over(w.q.knapsack(w.m, nil), x.Prices))
	return x
}

// prove branches where a leaf is worth most beyond the price, until none is worth more than what another machine is already worth too much.
func (w *prover) prove(worth []float64) Proof {
	root := &Proof{Prices: make([]int64, len(w.q.scale))}
	list := &leaves{}
	w.open(list, root, w.q.knapsack(w.m, worth))
	for ; list.Len() > 0; w.nodes-- {
		x := (*list)[0]
		f := x.k.fraction(x.cut)
		if x.over <= max(1, w.excess) || f < 0 || w.nodes <= 0 {
			w.excess = max(w.excess, x.over)
			break
		}
		heap.Pop(list)
		n := math.Floor(x.cut.n[f])
		low, high := x.k, x.k
		low.high, high.low = slices.Clone(x.k.high), slices.Clone(x.k.low)
		low.high[f], high.low[f] = n, n+1
		*x.at = Proof{Group: int32(w.q.groups[w.q.fits[w.m][f].g]), At: int64(n), Low: &Proof{}, High: &Proof{}}
		w.open(list, x.at.Low, low)
		w.open(list, x.at.High, high)
	}
	return *root
}

// open proves what is between low and high by the prices of the best cut load; where nothing is, any prices do.
func (w *prover) open(list *leaves, at *Proof, k knapsack) {
	cut, ok := k.split()
	*at = w.leaf(cut.prices, 1)
	if !ok {
		return
	}
	if over := w.over(k, at.Prices); over > 1 {
		heap.Push(list, leaf{at, k, cut, over})
	}
}

// leaf writes prices of resources in whole numbers.
func (w *prover) leaf(prices []float64, shrink float64) Proof {
	x := Proof{Prices: make([]int64, len(w.q.scale))}
	for r := range x.Prices {
		if len(prices) > 0 && w.q.scale[r] > 0 {
			x.Prices[r] = int64(prices[r]*shrink*w.q.money*unit/w.q.scale[r] + 0.5)
		}
	}
	return x
}

// over is how much a leaf's pods may be worth, as a multiple of the machine's price.
func (w *prover) over(k knapsack, prices []int64) float64 {
	id := w.q.machines[w.m]
	sum := 0.0
	whole := int64(0)
	for r, v := range w.q.p.Machines[id].Room {
		sum += float64(prices[r]) * float64(v)
		whole += prices[r] * v
	}
	for i, f := range w.q.fits[w.m] {
		g := w.q.groups[f.g]
		beyond := w.c.Worth[g]
		for r, v := range w.q.p.Groups[g].Need {
			beyond -= prices[r] * v
		}
		n := k.low[i]
		if beyond > 0 {
			n = k.high[i]
		}
		sum += float64(beyond) * n
		whole += beyond * int64(n)
	}
	limit := int64(w.q.p.Machines[id].Price) * unit
	if sum < math.MaxInt64/4 && whole <= limit {
		return 0 // it holds
	}
	return max(sum/max(1, float64(limit)), 1+1e-12)
}
