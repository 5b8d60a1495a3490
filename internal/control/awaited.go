package control

import (
	"slices"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// awaitedFor is how long a node stays after the last pod that was expected on it is seen no more: a pod of a StatefulSet is gone for a moment before
// it comes back. It is as long as Karpenter keeps a node to which it nominated a pod (twice the longest batch by default).
const awaitedFor = 20 * time.Second

// awaited remembers on which nodes pods were expected a moment ago. A restart forgets it: at worst an empty node leaves a little early.
type awaited struct {
	mu    sync.Mutex
	asked time.Time // last
	last  map[string]bool
	until map[string]time.Time
}

// with adds to the nodes on which pods are expected now those on which they were when it was asked last and to which none came since, and says
// how long the first of these still stays; 0 when there are none.
func (a *awaited) with(now time.Time, claims []model.Claim, expected map[string]bool) (nodes map[string]bool, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[string]time.Time{}
	}
	for n := range a.last {
		// Events are written down to the second.
		came := func(c model.Claim) bool {
			return c.NodeName == n && !c.LastPodEvent.Before(a.asked.Truncate(time.Second))
		}
		if _, known := a.until[n]; !expected[n] && !known && !slices.ContainsFunc(claims, came) {
			a.until[n] = now.Add(awaitedFor)
		}
	}
	a.asked, a.last, nodes = now, expected, map[string]bool{}
	for n := range expected {
		nodes[n] = true
		delete(a.until, n)
	}
	for n, end := range a.until {
		if !end.After(now) {
			delete(a.until, n)
			continue
		}
		nodes[n] = true
		if left := end.Sub(now); wait == 0 || left < wait {
			wait = left
		}
	}
	return nodes, wait
}
