package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// flushAfter is how long kube-scheduler leaves a pod aside when nothing happens.
const flushAfter = 5 * time.Minute

// How long kube-scheduler waits at least before it tries a pod again, after the first vain try and at most; doubled each time.
const (
	backoffFirst = time.Second
	backoffMost  = 10 * time.Second
)

// queue holds the pods that the scheduler tried in vain. They are tried again, after a while, when a node changes, when a pod leaves the place that it had
// or that was kept for it, when a pod is bound that theirs depends on, and after flushAfter; not when a node is nominated for them, and not when a pod runs
// elsewhere than where its room was kept.
type queue struct {
	// mu guards the fields below.
	mu    sync.Mutex
	tried map[model.PodKey]*trial
	nodes string
	holds map[model.PodKey]hold
}

// trial is what became of a pod: how often it was tried in vain, when last, and whether something happened since.
type trial struct {
	times int
	last  time.Time
	woken bool
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
	var fresh []*model.Pod
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range o.Pods {
		p := &o.Pods[i]
		if holds[p.Key()] = (hold{p.Node, p.Nominated}); p.Node != "" && q.holds[p.Key()].node == "" {
			fresh = append(fresh, p)
		}
	}
	all := nodes.String() != q.nodes
	for key, was := range q.holds {
		is := holds[key]
		all = all || was.node != is.node && was.node != "" || was.nominated != is.nominated && was.nominated != "" && is.node == ""
	}
	q.nodes, q.holds = nodes.String(), holds
	for i := range o.Pods {
		p := &o.Pods[i]
		if t := q.tried[p.Key()]; t != nil && (all || slices.ContainsFunc(fresh, func(f *model.Pod) bool { return minds(p, f) })) {
			t.woken = true
		}
	}
}

// minds reports whether where p may go depends on where f went.
func minds(p, f *model.Pod) bool {
	return slices.ContainsFunc(p.Spread, func(s model.Spread) bool { return s.Selector.Matches(f.Labels) }) ||
		slices.ContainsFunc(p.PodAffinity, func(t model.PodTerm) bool { return t.Selector.Matches(f.Labels) })
}

// aside reports whether the pod is not tried now.
func (q *queue) aside(p model.Pod) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.tried[p.Key()]
	if t == nil {
		return false
	}
	age := time.Since(t.last)
	return age < flushAfter && (!t.woken || age < min(backoffMost, backoffFirst<<min(t.times-1, 10)))
}

// put leaves the pod aside.
func (q *queue) put(p model.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tried == nil {
		q.tried = map[model.PodKey]*trial{}
	}
	t := q.tried[p.Key()]
	if t == nil {
		t = &trial{}
		q.tried[p.Key()] = t
	}
	t.times, t.last, t.woken = t.times+1, time.Now(), false
}
