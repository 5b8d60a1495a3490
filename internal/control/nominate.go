package control

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// nominators bounds how many nominations of one claim are written at the same time.
const nominators = 8

// nominate tells kube-scheduler where waiting pods were planned, as soon as the node is there. It remembers nothing: what
// was planned stands on the claim, what was told on the pod.
func (c *Controller) nominate(ctx context.Context) time.Duration {
	if !c.Settings.Nominate {
		return 0
	}
	w := c.World.Snapshot()
	var next time.Duration
	for i := range w.Claims {
		claim := &w.Claims[i]
		if claim.NodeName == "" || claim.Deleting() || !claim.Is(model.Registered) {
			continue
		}
		if pods := unpromised(w, *claim); len(pods) > 0 {
			node := claim.NodeName
			next = sooner(next, c.promises.start(ctx, claim.Name, func(ctx context.Context) error { return c.promise(ctx, node, pods) }))
		}
	}
	return next
}

// unpromised lists the pods that were planned for the claim, still wait, and were not told of a node that is there.
func unpromised(w model.World, claim model.Claim) []model.Pod {
	list := claim.Annotations[place.AnnotationPods]
	if list == "" {
		return nil
	}
	var out []model.Pod
	for key := range strings.SplitSeq(list, ",") {
		ns, name, _ := strings.Cut(key, "/")
		i, ok := slices.BinarySearchFunc(w.Pods, model.Pod{Namespace: ns, Name: name}, comparePods)
		if ok && w.Pods[i].Provisionable() && !w.Pods[i].Virtual && !nodeThere(w, w.Pods[i].Promised) {
			out = append(out, w.Pods[i])
		}
	}
	return out
}

func nodeThere(w model.World, name string) bool {
	_, ok := slices.BinarySearchFunc(w.Nodes, name, func(n model.Node, name string) int { return strings.Compare(n.Name, name) })
	return ok
}

func comparePods(a, b model.Pod) int {
	if d := strings.Compare(a.Namespace, b.Namespace); d != 0 {
		return d
	}
	return strings.Compare(a.Name, b.Name)
}

// promise nominates the node for each of the pods. One that is gone or bound meanwhile needs it no more.
func (c *Controller) promise(ctx context.Context, node string, pods []model.Pod) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(nominators)
	for _, p := range pods {
		g.Go(func() error {
			err := c.Store.Nominate(ctx, kube.Nomination{Pod: p.Key(), UID: p.UID, Node: node})
			if code := kube.CodeOf(err); code == kube.NotFound || code == kube.Invalid {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}
