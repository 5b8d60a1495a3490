package place

import (
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// problem is what stands fixed for one decision, and the room that is left of it.
type problem struct {
	world     model.World
	minValues MinValues
	// choices are what the search varies.
	choices
	meter
	namespaces  namespaces
	shared      map[string]bool // volumes that several pods use, by ID
	constraints constraints
	daemons     daemons
	existing    []*existingNode
	pools       []*nodePool
	rooms       rooms
	movers      []mover
}

// setup is the work of finding out what can be sold to whom.
func (d *problem) setup() int {
	n := 0
	for _, s := range d.pools {
		n += s.setup
	}
	return n
}

// shape works out how large the pods of the classes are, and what their machines must look like. Classes that differ in amounts or priority
// only share the latter.
func (d *problem) shape(list []*podClass, names dims, classes *classer) {
	byTraits := map[string]*podClass{}
	flat := make(vec.Vec, 0, len(names)*len(list))
	for _, g := range list {
		flat = names.appendVec(flat, g.requests)
		g.size = flat[len(flat)-len(names) : len(flat) : len(flat)]
		names.attachSize(g.size, g.first())
		g.mounts(names, classes.shared)
		if o := byTraits[g.traits]; o != nil && (o.why != "" || o.constraint.size == nil && (o.selectsNodes == nil || o.selectsNodes.size == nil)) {
			g.like, g.why, g.detail, g.constraint, g.selectsNodes = o, o.why, o.detail, o.constraint, o.selectsNodes
			continue
		}
		terms, why, detail := terms(g.first())
		if g.why, g.detail = why, detail; why == "" {
			g.constraint = d.constraints.get(nodeConstraint{terms: terms, tolerations: [][]model.Toleration{g.tolerations}, conflicts: d.shunned(g.first()), size: g.size})
			if len(g.first().Spread) > 0 {
				g.selectsNodes = d.constraints.get(nodeConstraint{terms: selected(g.first()), tolerations: g.constraint.tolerations, size: g.size})
			}
		}
		if byTraits[g.traits] == nil {
			byTraits[g.traits] = g
		}
	}
}

// build works out what stands fixed, and the classes of the pods.
func (d *problem) build(pods []*model.Pod) []*podClass {
	d.world = d.world.Indexed()
	w := &d.world
	d.namespaces, d.daemons = newNamespaces(w), newDaemons(w.Daemons)
	classes := newClasser(w.Index, pods, d.daemons.pods())
	list := newPodClasses(pods, classes)
	d.shared = classes.shared
	d.promote(list)
	names := newDims(list, w.Daemons)
	d.existing, d.pools = newExisting(*w, d.daemons, names), newNodePools(*w, d.daemons, names, d.minValues)
	d.constraints.pools = d.pools
	d.movers = movers(w, d.existing, names)
	d.shape(list, names, classes)
	d.rooms = newRooms(d.existing)
	return list
}
