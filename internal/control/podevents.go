package control

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// podEvery is how often one claim's last pod event is written at most, as users of Karpenter know it.
const podEvery = 10 * time.Second

// podWatcher notes on each claim when pods last came to or left its node; consolidateAfter counts from there. What it
// remembers is only which pods it saw last: after a restart the first look changes nothing and the time on the claim
// stands.
type podWatcher struct {
	*Controller
	seen map[string]print // by claim UID
}

// print is the fingerprint of the pods on a node. A list that is the same still says the same: pictures share what did not change.
type print struct {
	first **model.Pod
	n     int
	sum   uint64
}

func printOf(pods []*model.Pod, last print) print {
	p := print{n: len(pods)}
	if p.n > 0 {
		p.first = &pods[0]
	}
	if p.sum = last.sum; p.first != last.first || p.n != last.n || p.n == 0 {
		p.sum = fingerprint(pods)
	}
	return p
}

func (c *Controller) podEvents() *podWatcher {
	return &podWatcher{Controller: c, seen: map[string]print{}}
}

func (p *podWatcher) pass(ctx context.Context) time.Duration {
	w := p.World.Snapshot()
	now := p.Now()
	var next time.Duration
	seen := make(map[string]print, len(w.Claims))
	for i := range w.Claims {
		claim := &w.Claims[i]
		if claim.NodeName == "" || claim.Deleting() {
			continue
		}
		old, known := p.seen[claim.UID]
		is := printOf(w.Index.On(claim.NodeName).Pods, old)
		seen[claim.UID] = is
		if !known || old.sum == is.sum {
			continue
		}
		if age := now.Sub(claim.LastPodEvent); age >= 0 && age < podEvery {
			seen[claim.UID] = old // looked at again when it may be written
			next = sooner(next, podEvery-age)
			continue
		}
		wait := p.others.start(ctx, "podevent/"+claim.Name, func(ctx context.Context) error {
			return p.patchClaim(ctx, claim.Name, kube.ClaimPatch{UID: claim.UID, LastPodEvent: now})
		})
		if wait > 0 {
			seen[claim.UID] = old
			next = sooner(next, wait)
		}
	}
	p.seen = seen
	return next
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
