// Package held answers: which pods that leave are still there when others of them look for a place?
//
// Disruption budgets let pods go a few at a time. Whoever follows the first finds the others where they were: in the zone
// to which it is tied, or on the machine that counts in its spread. It does not decide where anybody goes.
package held

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/model"
)

// Pods are pods of a class that leave one machine.
type Pods struct {
	Class *topology.Class
	Pods  []*model.Pod
	Doms  []int32 // of the machine, per key
}

// Anchor is N pods that a term picks, which still count in a domain when others look for a place.
type Anchor struct {
	Term   *topology.Term
	Dom, N int32
}

// Budgets know which disruption budgets are over a pod. The zero value knows none.
type Budgets struct {
	// PDBs are all of them. They must not change.
	PDBs []model.PDB
	over map[model.PodKey][]int // nil until somebody asks
}

// Anchors are the pods that hold others when all in the list leave. O(pods of the list), and once O(pods of all budgets).
func (b *Budgets) Anchors(list []Pods) (out []Anchor) {
	minds := func(x Pods) bool { return x.Class.Near.Self || x.Class.HostSpread() }
	if len(b.PDBs) == 0 || !slices.ContainsFunc(list, minds) {
		return nil
	}
	b.note()
	leave := map[int]int{} // pods, by budget
	for _, x := range list {
		for _, pod := range x.Pods {
			for _, i := range b.over[pod.Key()] {
				leave[i]++
			}
		}
	}
	for _, x := range list {
		out = append(out, b.near(x)...)
		out = append(out, b.spread(x, leave)...)
	}
	return out
}

// note works out who is under which budget.
func (b *Budgets) note() {
	if b.over != nil {
		return
	}
	b.over = map[model.PodKey][]int{}
	for i := range b.PDBs {
		for _, key := range b.PDBs[i].Pods {
			b.over[key] = append(b.over[key], i)
		}
	}
}

// Turn says how many of n more pods of a class, of which all are given, come in their turn. The
// others come when all else has a place.
type Turn func(all []*model.Pod, n int) int

// Turns begins a drain of pods that are alike: as many come in their turn as may go together.
func (b *Budgets) Turns() Turn {
	left := map[*model.Pod]int{} // by the first of all
	return func(all []*model.Pod, n int) int {
		if len(b.PDBs) == 0 || len(all) == 0 {
			return n
		}
		if _, known := left[all[0]]; !known {
			b.note()
			left[all[0]] = len(all)
			for _, i := range b.over[all[0].Key()] { // who may not go at all does not leave
				left[all[0]] = min(left[all[0]], max(int(b.PDBs[i].Allowed), 1))
			}
		}
		n = min(n, left[all[0]])
		left[all[0]] -= n
		return n
	}
}

// near are the terms by which the pods look for each other in more than one machine, where a budget keeps some when others leave: who follows the
// first goes where the others still are, and not where all were planned to go. On the machine itself nobody can follow them.
func (b *Budgets) near(x Pods) (out []Anchor) {
	some := func(i int) bool { return int(b.PDBs[i].Allowed) < len(b.PDBs[i].Pods) }
	kept := func(p *model.Pod) bool { return slices.ContainsFunc(b.over[p.Key()], some) }
	if !x.Class.Near.Self || !slices.ContainsFunc(x.Pods, kept) {
		return nil
	}
	for _, t := range x.Class.Near.Terms {
		if t.Key != topology.Host && x.Doms[t.Key] >= 0 {
			out = append(out, Anchor{t, x.Doms[t.Key], int32(len(x.Pods))})
		}
	}
	return out
}

// spread are the last pods on the machine, where they are spread over machines and a budget lets fewer go together than leave. As long as these are there
// the machine counts, and whoever follows the first goes nowhere where it would be too many more; and as long as it waits, nobody else is let go.
// Without them in the picture all pods of two machines were planned on one of these: a machine was bought for who came to wait, and emptied in
// turn, without end.
func (b *Budgets) spread(x Pods, leave map[int]int) (out []Anchor) {
	last, some := len(x.Pods), false
	for _, i := range b.over[x.Pods[0].Key()] {
		allowed := max(int(b.PDBs[i].Allowed), 1) // who may not go at all does not leave
		some = some || allowed < leave[i]
		last = min(last, allowed)
	}
	for _, r := range x.Class.Spread {
		if some && r.Term.Key == topology.Host && r.Self > 0 {
			out = append(out, Anchor{r.Term, x.Doms[topology.Host], int32(last)})
		}
	}
	return out
}

// Count counts the pods of the anchors, as often as sign says.
func Count(j *topology.Journal, list []Anchor, sign int32) {
	for _, a := range list {
		j.Add(&a.Term.Matched, a.Dom, sign*a.N)
	}
}

// Lift has the machines on which the pods of anchors are be the emptiest of their spread no longer.
func Lift(j *topology.Journal, list []Anchor) {
	for _, a := range list {
		if a.Term.Key == topology.Host {
			j.Lift(a.Term, []int32{a.Dom})
		}
	}
}

// Others are the machines, by spot, on which no pods hold those that the term spreads.
func Others(list []Anchor, x *topology.Term, spots []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(spots), func(spot int32) bool {
		there := func(a Anchor) bool { return a.Term == x && a.Dom == spot }
		return slices.ContainsFunc(list, there)
	})
}
