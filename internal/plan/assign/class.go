package assign

import (
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// Class is a pod class while places are found for its pods.
type Class struct {
	topology.Class
	plain *level // set while the class is seated with preferences: what it asks for without
	Next  int    // pods[:next] have a place
	Asked int    // so many beyond next have machines to be bought for them, as parts say
	held  int    // the last so many pods have room held for them, on what was bought for them
	parts []part
	// buys is set when some machine on sale would hold a pod of the class, ties aside.
	buys bool
	// Kept is set when some of that is outside zones, where its pods are not to go for now.
	Kept bool
	// Cut is set when the limit on work was reached before all pods of the class had been asked.
	Cut bool
	// From is the first existing node that may have room for a pod of the class (see Skip).
	From int
	// Anew has its pods go to machines that are bought, whatever there is; the asker sets it.
	Anew bool
}

// Group is pods that packing takes for one kind: those of a class that machines are bought for in one cell, or a bundle.
type Group struct {
	Of         *Class
	Pods       []*model.Pod
	Next       int // pods[:next] are on machines that are bought
	Constraint *problem.NodeConstraint
	Size, Lean vec.Vec
	Shared     []problem.Mount
	Host       topology.Relations
	Cell       *Cell
	problem.Turn
	Bundled bool
	Members []Member // of a bundle
	// Given says, per pool (by index), why machines that were found had to be given up.
	Given map[int]string
}

// Waiting counts what packing has to place: pods, or one when all pods go together.
func (g *Group) Waiting() int {
	if g.Bundled {
		return min(1, len(g.Pods)-g.Next)
	}
	return len(g.Pods) - g.Next
}

// Unseated counts pods that have neither a place nor a cell in which one is to be bought.
func (g *Class) Unseated() int { return len(g.Pods) - g.Next - g.Asked - g.held }

func (g *Class) boughtIn(c *Cell) int {
	n := 0
	for _, p := range g.parts {
		if p.c == c {
			n += p.n
		}
	}
	return n
}

// take hands out the next n pods of the class, who have a place from now on.
func (g *Class) take(n int) []*model.Pod {
	out := g.Pods[g.Next : g.Next+n]
	g.Next += n
	return out
}

// Take hands out the next n pods of the class, for whom a machine is bought.
func (g *Group) Take(n int) []*model.Pod {
	out := g.Pods[g.Next : g.Next+n]
	g.Next += n
	return out
}
