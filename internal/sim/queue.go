package sim

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// flushAfter is how long kube-scheduler leaves a pod aside when nothing happens.
const flushAfter = 5 * time.Minute

// queue holds the pods that the scheduler tried in vain. They are tried again when a node changes, when a pod leaves the place that it had or
// that was kept for it, and after flushAfter; not when a node is nominated for them, and not when a pod runs elsewhere than where its room was kept.
type queue struct {
	// mu guards the fields below.
	mu    sync.Mutex
	since map[model.PodKey]time.Time // when it was put aside
	nodes string
	holds map[model.PodKey]hold
}

// hold is where a pod takes, or keeps, room.
type hold struct{ node, nominated string }

// wake looks at what happened and lets pods be tried again.
func (q *queue) wake(o model.World) {
	var nodes strings.Builder
	for _, n := range o.Nodes {
		fmt.Fprintln(&nodes, n.Name, n.Taints, n.Cordoned, n.Ready, n.Allocatable)
	}
	holds := map[model.PodKey]hold{}
	for _, p := range o.Pods {
		holds[p.Key()] = hold{p.Node, p.Nominated}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	all := nodes.String() != q.nodes
	for key, was := range q.holds {
		is := holds[key]
		all = all || was.node != is.node && was.node != "" || was.nominated != is.nominated && was.nominated != "" && is.node == ""
	}
	if q.nodes, q.holds = nodes.String(), holds; all {
		clear(q.since)
	}
}

// aside reports whether the pod is not tried now.
func (q *queue) aside(p model.Pod) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, ok := q.since[p.Key()]
	return ok && time.Since(at) < flushAfter
}

// put leaves the pod aside.
func (q *queue) put(p model.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.since == nil {
		q.since = map[model.PodKey]time.Time{}
	}
	q.since[p.Key()] = time.Now()
}
