package bound

import (
	"errors"
	"fmt"
	"math"

	"github.com/karpenter-aks/karpenter/model"
)

// maxDepth bounds how deep a proof may branch.
const maxDepth = 500

// Check verifies a certificate from nothing but the problem, and returns the price that it proves. Every pod is worth what
// Worth says, and no machine holds pods worth more than its price: so the machines of any plan cost at least what all pods
// are worth. A leaf proves that by duality: with prices for resources, a machine's pods are worth at most what its room is worth, plus,
// per group, what a pod is worth beyond the room it takes, as often as that may be. O(groups × resources × leaves).
func Check(c Certificate, p Problem) (model.Price, error) {
	if len(c.Worth) != len(p.Groups) || len(c.Use) != len(p.Machines) {
		return 0, errors.New("the certificate is for another problem")
	}
	total, size := int64(0), 0.0
	on := make([][]int32, len(p.Machines))
	for g, x := range p.Groups {
		size += float64(c.Worth[g]) * float64(x.Count)
		if c.Worth[g] < 0 || x.Count < 0 || size > math.MaxInt64/4 {
			return 0, fmt.Errorf("group %d: worth %d of %d pods is out of range", g, c.Worth[g], x.Count)
		}
		total += c.Worth[g] * x.Count
		for _, m := range x.On {
			on[m] = append(on[m], int32(g))
		}
	}
	v := verifier{c: c, p: p, low: make([]int64, len(p.Groups)), high: make([]int64, len(p.Groups))}
	for m := range p.Machines {
		clear(v.high)
		for _, g := range on[m] {
			v.high[g] = most(p.Groups[g], p.Machines[m])
		}
		if v.on = on[m]; c.Use[m] < 0 || int(c.Use[m]) >= len(c.Proofs) || !v.holds(&c.Proofs[c.Use[m]], p.Machines[m], 0) {
			return 0, fmt.Errorf("machine %d may hold pods worth more than its price", m)
		}
	}
	if c.Value > model.Price((total+unit-1)/unit) { // prices are whole: round up
		return 0, fmt.Errorf("the pods are worth %d, less than %s", total, c.Value)
	}
	return c.Value, nil
}

// most is how many pods of a group fit on a machine that is theirs alone.
func most(g Group, m Machine) int64 {
	n := g.Count
	if g.Most > 0 {
		n = min(n, g.Most)
	}
	for r, need := range g.Need {
		if need > 0 {
			n = min(n, m.Room[r]/need)
		}
	}
	return n
}

type verifier struct {
	c         Certificate
	p         Problem
	on        []int32
	low, high []int64
}

func (v *verifier) holds(x *Proof, m Machine, depth int) bool {
	if x.Low != nil && x.High != nil {
		if x.Group < 0 || int(x.Group) >= len(v.low) {
			return false
		}
		low, high := &v.low[x.Group], &v.high[x.Group]
		l, h := *low, *high
		*high = min(h, x.At)
		ok := depth < maxDepth && (*low > *high || v.holds(x.Low, m, depth+1)) // between nothing there is no load
		*low, *high = max(l, x.At+1), h
		ok = ok && (*low > *high || v.holds(x.High, m, depth+1))
		*low, *high = l, h
		return ok
	}
	sum, size := int64(0), 0.0
	add := func(a, b int64) { sum, size = sum+a*b, size+math.Abs(float64(a)*float64(b)) }
	full := make([]int64, len(m.Room))
	for r, room := range m.Room {
		if len(x.Prices) != len(m.Room) || x.Prices[r] < 0 {
			return false
		}
		add(x.Prices[r], room)
	}
	for _, g := range v.on {
		beyond, cost := v.c.Worth[g], 0.0
		for r, need := range v.p.Groups[g].Need {
			beyond -= x.Prices[r] * need
			cost += float64(x.Prices[r]) * float64(need)
			full[r] += need * v.low[g]
		}
		if cost > math.MaxInt64/4 {
			return false
		}
		if beyond > 0 {
			add(beyond, v.high[g])
		} else {
			add(beyond, v.low[g])
		}
	}
	for r, n := range full {
		if n > m.Room[r] {
			return true // it would not fit
		}
	}
	return size < math.MaxInt64/4 && sum <= int64(m.Price)*unit
}
