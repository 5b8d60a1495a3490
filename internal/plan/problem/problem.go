// Package problem answers: what stands fixed for one decision?
//
// Pods become classes that no rule can tell apart, nodes and claims existing nodes with the room that is left, NodePools what they
// can sell, and selectors node constraints with an answer per pool. It asks what fits by itself, and never where pods stand to each other.
package problem

import (
	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// Problem is what stands fixed for one decision, and the room that is left of it.
type Problem struct {
	World     model.World
	MinValues MinValues
	// choices are what the search varies.
	Choices
	meter
	Namespaces  alike.Namespaces
	Shared      map[string]bool // volumes that several pods use, by ID
	Constraints constraints
	Daemons     daemons
	Existing    []*ExistingNode
	Pools       []*NodePool
	Rooms       rooms
	Movers      []mover
}

// Setup is the work of finding out what can be sold to whom.
func (d *Problem) Setup() int {
	n := 0
	for _, s := range d.Pools {
		n += s.Setup
	}
	return n
}

// shape works out how large the pods of the classes are, and what their machines must look like. Classes that differ in amounts or priority
// only share the latter.
func (d *Problem) shape(list []*PodClass, names dims, classes *alike.Classer) {
	byTraits := map[string]*PodClass{}
	flat := make(vec.Vec, 0, len(names)*len(list))
	for _, g := range list {
		flat = names.appendVec(flat, g.Requests)
		g.Size = flat[len(flat)-len(names) : len(flat) : len(flat)]
		names.attachSize(g.Size, g.First())
		g.mounts(names, classes.Shared)
		if o := byTraits[g.traits]; o != nil &&
			(o.Why != "" || o.Constraint.size == nil &&
				(o.SelectsNodes == nil || o.SelectsNodes.size == nil)) {
			g.Like, g.Why, g.Detail = o, o.Why, o.Detail
			g.Constraint, g.SelectsNodes = o.Constraint, o.SelectsNodes
			continue
		}
		terms, why, detail := alike.Terms(g.First())
		if g.Why, g.Detail = why, detail; why == "" {
			g.Constraint = d.Constraints.intern(&NodeConstraint{
				Terms:       terms,
				tolerations: [][]model.Toleration{g.Tolerations},
				Conflicts:   d.shunned(g.First()),
				size:        g.Size,
			})
			if len(g.First().Spread) > 0 {
				g.SelectsNodes = d.Constraints.intern(&NodeConstraint{
					Terms:       alike.Selected(g.First()),
					tolerations: g.Constraint.tolerations,
					size:        g.Size,
				})
			}
		}
		if byTraits[g.traits] == nil {
			byTraits[g.traits] = g
		}
	}
}

// Build works out what stands fixed, and the classes of the pods.
func (d *Problem) Build(pods []*model.Pod) []*PodClass {
	d.World = d.World.Indexed()
	w := &d.World
	d.Namespaces, d.Daemons = alike.NewNamespaces(w), newDaemons(w.Daemons)
	classes := alike.NewClasser(w.Index, pods, d.Daemons.pods())
	list := newPodClasses(pods, classes)
	d.Shared = classes.Shared
	d.promote(list)
	names := NewDims(list, w.Daemons)
	d.Existing = newExisting(*w, d.Daemons, names)
	d.Pools = newNodePools(*w, d.Daemons, names, d.MinValues)
	d.Constraints.pools = d.Pools
	d.Movers = movers(w, d.Existing, names)
	d.shape(list, names, classes)
	d.Rooms = newRooms(d.Existing)
	return list
}
