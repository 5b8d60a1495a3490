package control

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// podEvery is how often one claim's last pod event is written at most, as users of Karpenter know it.
const podEvery = 10 * time.Second

// podPause is how long changes of pods are gathered.
const podPause = 200 * time.Millisecond

// podWatcher notes on each claim when pods last came to or left its node; consolidateAfter counts from there. What it
// remembers is only which pods it saw last: after a restart the first look changes nothing and the time on the claim
// stands.
type podWatcher struct {
	*Controller
	seen map[string]print // by claim UID
	late map[string]bool  // nodes of claims on which may be written later
}

// print is the fingerprint of the pods on a node. A list that is the same still says the same: pictures share what did not change.
type print struct {
	first **model.Pod
	n     int
	sum   uint64
	wrote time.Time // when it was written last; the claim shows it a little later
}

func printOf(pods []*model.Pod, last print) print {
	p := print{n: len(pods), wrote: last.wrote}
	if p.n > 0 {
		p.first = &pods[0]
	}
	if p.sum = last.sum; p.first != last.first || p.n != last.n || p.n == 0 {
		p.sum = fingerprint(pods)
	}
	return p
}

func (c *Controller) podEvents() *podWatcher {
	return &podWatcher{Controller: c, seen: map[string]print{}, late: map[string]bool{}}
}

// pass looks at all nodes.
func (p *podWatcher) pass(ctx context.Context) time.Duration {
	w := p.World.Snapshot()
	old := p.seen
	p.seen, p.late = make(map[string]print, len(w.Claims)), map[string]bool{}
	var next time.Duration
	for i := range w.Claims {
		claim := &w.Claims[i]
		if is, known := old[claim.UID]; known {
			p.seen[claim.UID] = is
		}
		next = sooner(next, p.look(ctx, &w, claim))
	}
	return next
}

// part looks at nodes on which pods changed, and at those that are late.
func (p *podWatcher) part(ctx context.Context, news world.News) time.Duration {
	w := p.World.Snapshot()
	type key struct{}
	byNode := w.Index.Memo(key{}, func() any {
		out := make(map[string][]string, len(w.Claims))
		for i := range w.Claims {
			out[w.Claims[i].NodeName] = append(out[w.Claims[i].NodeName], w.Claims[i].Name)
		}
		return out
	}).(map[string][]string)
	nodes := p.late
	maps.Copy(nodes, news.Nodes)
	p.late = map[string]bool{}
	var next time.Duration
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		for _, name := range byNode[node] {
			next = sooner(next, p.look(ctx, &w, w.Index.Claim(name)))
		}
	}
	return next
}

// look writes on the claim that pods came or left. It says when it may be written if that is not now.
func (p *podWatcher) look(ctx context.Context, w *model.World, claim *model.Claim) time.Duration {
	if claim.NodeName == "" || claim.Deleting() {
		return 0
	}
	now := p.Now()
	old, known := p.seen[claim.UID]
	is := printOf(w.Index.On(claim.NodeName).Pods, old)
	if !known || old.sum == is.sum {
		p.seen[claim.UID] = is
		return 0
	}
	last := claim.LastPodEvent
	if old.wrote.After(last) {
		last = old.wrote
	}
	wait := podEvery - now.Sub(last)
	if wait <= 0 || wait > podEvery {
		wait = p.others.start(ctx, "podevent/"+claim.Name, func(ctx context.Context) error {
			return p.patchClaim(ctx, claim.Name, kube.ClaimPatch{UID: claim.UID, LastPodEvent: now})
		})
	}
	if wait > 0 {
		p.late[claim.NodeName] = true // what was seen stays as it was
		return wait
	}
	is.wrote = now
	p.seen[claim.UID] = is
	return 0
}

// fingerprint changes when a pod that would need another place comes, goes, ends or starts to leave.
func fingerprint(pods []*model.Pod) uint64 {
	h := fnv.New64a()
	for i := range pods { // the picture is sorted
		if pods[i].Reschedulable() && !pods[i].Deleting() {
			h.Write([]byte(pods[i].UID))
			h.Write([]byte{0})
		}
	}
	return h.Sum64()
}
