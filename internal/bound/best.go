package bound

import (
	"math"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// Efforts, in numbers touched. A core does some three hundred millions of them per second.
const (
	Quick    = 5_000_000      // L0 and L1; a few milliseconds
	Brisk    = 200_000_000    // L1Split for any number of groups, L2 for some; tenths of a second
	Thorough = 1_000_000_000  // L2 for some dozens; a second or two
	Patient  = 20_000_000_000 // L2 for a hundred groups; a minute or more
)

const (
	// maxGroups bounds the upper tiers, maxWhole the uppermost, each of whose steps costs its square.
	maxGroups = 20_000
	maxWhole  = 300
	// nodesProof bounds the leaves of one machine's proof.
	nodesProof = 4000
	maxTries   = 6
)

// Best returns the strongest bound that the effort buys, component by component. It names the tier of the dearest component. The same
// problem and effort give the same bytes.
func Best(p Problem, effort int) Certificate { return upTo(p, L2, effort) }

// upTo is Best that leaves the tiers above one alone.
func upTo(p Problem, tier Tier, effort int) Certificate {
	c := Certificate{Worth: make([]int64, len(p.Groups)), Use: make([]int32, len(p.Machines)), Proofs: []Proof{{Prices: make([]int64, len(p.Resources))}}}
	total, dearest := 0.0, -1.0
	list := parts(p)
	for _, q := range list {
		worth, prices, t := q.strongest(tier, effort/len(list))
		if v := q.sum(worth) * q.money; v > dearest {
			c.Tier, dearest = t, v
		}
		if !q.certify(&c, worth, prices) && prices == nil {
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
	if better := q.generate(worth, true, effort); q.sum(better) > q.sum(worth)*(1+tiny) {
		worth, prices, t = better, nil, L2
	}
	return worth, prices, t
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
			w := &prover{q: q, m: m, c: c, nodes: nodesProof}
			proof := w.prove(q.knapsack(m, shrunk), prices, shrink)
			use[id] = int32(len(c.Proofs))
			c.Proofs = append(c.Proofs, proof)
			excess = max(excess, w.excess)
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
	excess float64 // by how much the worst leaf is worth too much
}

// prove returns a proof for what is between low and high.
func (w *prover) prove(k knapsack, prices []float64, shrink float64) Proof {
	given := prices != nil
	var cut load
	ok := true
	if !given {
		if cut, ok = k.split(); ok {
			prices, shrink = cut.prices, 1
		}
	}
	leaf := Proof{Prices: make([]int64, len(w.q.scale))}
	for r := range leaf.Prices {
		if len(prices) > 0 && w.q.scale[r] > 0 {
			leaf.Prices[r] = int64(prices[r]*shrink*w.q.money*unit/w.q.scale[r] + 0.5)
		}
	}
	if !ok {
		return leaf // nothing is between: any prices do
	}
	over := w.over(k, leaf.Prices)
	f := -1
	if !given {
		f = k.fraction(cut)
	}
	if over <= 1 || f < 0 || w.nodes <= 0 {
		w.excess = max(w.excess, over)
		return leaf
	}
	w.nodes--
	n := math.Floor(cut.n[f])
	low, high := k, k
	low.high, high.low = slices.Clone(k.high), slices.Clone(k.low)
	low.high[f], high.low[f] = n, n+1
	less, more := w.prove(low, nil, 1), w.prove(high, nil, 1)
	return Proof{Group: int32(w.q.groups[w.q.fits[w.m][f].g]), At: int64(n), Low: &less, High: &more}
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
