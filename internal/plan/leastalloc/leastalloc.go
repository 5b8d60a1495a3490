// Package leastalloc answers: which of many places does kube-scheduler prefer for a pod?
//
// The one of which the largest share is free once the pod is there, of cpu and memory alike: that is
// NodeResourcesFit with LeastAllocated, its default, which counts the pod that it asks about. So a small
// pod goes to a small empty machine sooner than a large pod does. Whether a place may have the pod is not
// asked here. Machines of one size are in one heap, where the pod makes no difference.
package leastalloc

import (
	"container/heap"
	"math"
)

// Amounts are cpu in millicores and memory in bytes.
type Amounts [2]int64

// Queue is places by how much of them is free. The zero value is empty. Places are numbered by the caller,
// from 0 on, and are known until Forget. It is not for concurrent use.
type Queue struct {
	spots []spot // by place
	sizes []*size
	index map[Amounts]int32 // of sizes
}

// spot is one place.
type spot struct {
	size int32
	pos  int32   // in its size's heap; out = it is not there
	free float64 // share of cpu that is free, and of memory, added up
}

// out is the position of places that nobody is offered.
const out = -1

// size is the places of machines of one size, those first of which more is free.
type size struct {
	q     *Queue
	whole Amounts
	first int // place, of those that are known
	heap  []int32
}

// Add makes the next place known: a machine with so much in all, of which so much is free, and offers it.
// O(log n).
func (q *Queue) Add(whole, free Amounts) {
	for i := range whole {
		whole[i] = max(whole[i], 1)
	}
	at, known := q.index[whole]
	if !known {
		if q.index == nil {
			q.index = map[Amounts]int32{}
		}
		at = int32(len(q.sizes))
		q.index[whole] = at
		q.sizes = append(q.sizes, &size{q: q, whole: whole, first: len(q.spots)})
	}
	q.spots = append(q.spots, spot{size: at, pos: out})
	place := int32(len(q.spots) - 1)
	q.spots[place].free = q.sizes[at].share(free)
	q.Offer(place)
}

// Set says how much of a place is free now. O(log n).
func (q *Queue) Set(place int32, free Amounts) {
	x := &q.spots[place]
	s := q.sizes[x.size]
	x.free = s.share(free)
	if x.pos != out {
		heap.Fix(s, int(x.pos))
	}
}

// Offer offers a place that was taken out. O(log n).
func (q *Queue) Offer(place int32) {
	if x := &q.spots[place]; x.pos == out {
		heap.Push(q.sizes[x.size], place)
	}
}

// Remove takes a place out, if it is offered: nobody is offered it before Offer. O(log n).
func (q *Queue) Remove(place int32) {
	if x := &q.spots[place]; x.pos != out {
		heap.Remove(q.sizes[x.size], int(x.pos))
	}
}

// Forget forgets all places from this one on, and sizes that only they have: Best looks at each. O(log n) each.
func (q *Queue) Forget(from int) {
	for place := from; place < len(q.spots); place++ {
		q.Remove(int32(place))
	}
	q.spots = q.spots[:from]
	for n := len(q.sizes); n > 0 && q.sizes[n-1].first >= from; n-- {
		delete(q.index, q.sizes[n-1].whole)
		q.sizes = q.sizes[:n-1]
	}
}

// Best is the place for a pod that asks for so much; of equal ones the first. ok is false when no place is
// offered. O(sizes of machines).
func (q *Queue) Best(pod Amounts) (place int32, ok bool) {
	most := math.Inf(-1)
	for _, s := range q.sizes {
		if len(s.heap) == 0 {
			continue
		}
		at := s.heap[0]
		free := q.spots[at].free - s.share(pod)
		if !ok || free > most || free == most && at < place {
			place, most, ok = at, free, true
		}
	}
	return place, ok
}

// share is what amounts are of the whole, added up.
func (s *size) share(a Amounts) float64 {
	return float64(a[0])/float64(s.whole[0]) + float64(a[1])/float64(s.whole[1])
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (s *size) Len() int { return len(s.heap) }

func (s *size) Less(i, j int) bool {
	a, b := s.heap[i], s.heap[j]
	x, y := s.q.spots[a].free, s.q.spots[b].free
	return x > y || x == y && a < b
}

func (s *size) Swap(i, j int) {
	s.heap[i], s.heap[j] = s.heap[j], s.heap[i]
	s.q.spots[s.heap[i]].pos, s.q.spots[s.heap[j]].pos = int32(i), int32(j)
}

func (s *size) Push(place any) {
	at := place.(int32)
	s.q.spots[at].pos = int32(len(s.heap))
	s.heap = append(s.heap, at)
}

func (s *size) Pop() any {
	last := len(s.heap) - 1
	at := s.heap[last]
	s.heap = s.heap[:last]
	s.q.spots[at].pos = out
	return at
}
