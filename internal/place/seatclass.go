package place

import (
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// seatClass is a pod class while places are found for its pods.
type seatClass struct {
	tiedClass
	plain *level // set while the class is seated with preferences: what it asks for without
	next  int    // pods[:next] have a place
	asked int    // so many beyond next have machines to be bought for them, as parts say
	held  int    // the last so many pods have room held for them, on what was bought for them
	parts []part
	// buys is set when some machine on sale would hold a pod of the class, ties aside.
	buys bool
	// kept is set when some of that is outside zones, where its pods are not to go for now.
	kept bool
	// cut is set when the limit on work was reached before all pods of the class had been asked.
	cut bool
}

// group is pods that packing takes for one kind: those of a class that machines are bought for in one cell, or a bundle.
type group struct {
	key        string // of the class
	of         *seatClass
	pods       []*model.Pod
	next       int // pods[:next] are on machines that are bought
	constraint *nodeConstraint
	size, lean vec.Vec
	shared     []mount
	host       relations
	cell       *cell
	turn
	bundled bool
	members []member // of a bundle
	// given says, per pool (by index), why machines that were found had to be given up.
	given map[int]string
}

// waiting counts what packing has to place: pods, or one when all pods go together.
func (g *group) waiting() int {
	if g.bundled {
		return min(1, len(g.pods)-g.next)
	}
	return len(g.pods) - g.next
}

// unseated counts pods that have neither a place nor a cell in which one is to be bought.
func (g *seatClass) unseated() int { return len(g.pods) - g.next - g.asked - g.held }

func (g *seatClass) boughtIn(c *cell) int {
	n := 0
	for _, p := range g.parts {
		if p.c == c {
			n += p.n
		}
	}
	return n
}

// take hands out the next n pods of the class, who have a place from now on.
func (g *seatClass) take(n int) []*model.Pod {
	out := g.pods[g.next : g.next+n]
	g.next += n
	return out
}

// take hands out the next n pods of the group, for whom a machine is bought.
func (g *group) take(n int) []*model.Pod {
	out := g.pods[g.next : g.next+n]
	g.next += n
	return out
}
