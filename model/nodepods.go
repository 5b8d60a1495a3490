package model

import (
	"slices"
	"sync"
)

// onNodes is what runs on each node, in the order of the nodes, in chunks that never change: of two pictures with the same nodes, a chunk is the very
// same one unless pods of one of its nodes changed. What is worked out per node is kept, and worked out anew where chunks differ.
type onNodes []*nodeChunk

// nodesPerChunk is how many nodes a chunk has: few enough that copying one costs nothing, enough that there are few chunks.
const nodesPerChunk = 64

// nodeChunk is what runs on some nodes that follow each other; nil where nothing does.
type nodeChunk [nodesPerChunk]*NodePods

// newOnNodes looks every node up. O(nodes).
func newOnNodes(nodes []Node, on *shards[NodePods]) onNodes {
	out := make(onNodes, (len(nodes)+nodesPerChunk-1)/nodesPerChunk)
	for i := range nodes {
		if i%nodesPerChunk == 0 {
			out[i/nodesPerChunk] = &nodeChunk{}
		}
		out[i/nodesPerChunk][i%nodesPerChunk] = on.find(nodes[i].Name)
	}
	return out
}

// next is the list after pods on these nodes changed. O(chunks + names + changed chunks).
func (o onNodes) next(names []string, number map[string]int32, on *shards[NodePods]) onNodes {
	out := slices.Clone(o)
	for _, name := range names {
		i, ok := number[name]
		if !ok {
			continue // pods may name a node that is not there (yet)
		}
		at := i / nodesPerChunk
		if out[at] == o[at] { // not ours yet
			c := *o[at]
			out[at] = &c
		}
		out[at][i%nodesPerChunk] = on.find(name)
	}
	return out
}

// amounts are what was worked out per node, and from what.
type amounts struct {
	mu   sync.Mutex // guards the fields below
	from onNodes
	of   []int64
}

// PerNode returns width amounts for each node, in the order of the nodes, as of works them out: zeroes before, and pods that others may see. They must
// depend on nodes, claims, the key and those pods alone. The caller may change what it gets. O(nodes) to copy, and of for each node whose pods
// changed since the question was asked last.
func (x *Index) PerNode(key any, width int, of func(i int, on NodePods, out []int64)) []int64 {
	type kept struct{ key any }
	a := x.Memo(kept{key}, func() any {
		return &amounts{from: make(onNodes, (len(x.nodes)+nodesPerChunk-1)/nodesPerChunk), of: make([]int64, len(x.nodes)*width)}
	}).(*amounts)
	now := x.byNode()
	a.mu.Lock()
	defer a.mu.Unlock()
	for c, chunk := range now {
		old := a.from[c]
		if old == chunk {
			continue
		}
		a.from[c] = chunk
		for i := c * nodesPerChunk; i < min((c+1)*nodesPerChunk, len(x.nodes)); i++ {
			there := chunk[i%nodesPerChunk]
			if old != nil && old[i%nodesPerChunk] == there {
				continue
			}
			out := a.of[i*width : (i+1)*width]
			clear(out)
			if there == nil {
				there = &NodePods{}
			}
			of(i, *there, out)
		}
	}
	return slices.Clone(a.of)
}
