// Package judge answers: would kube-scheduler let these pods land where the plan says?
//
// It runs kube-scheduler's own filter plugins over a picture in which the planned machines exist, and binds the planned
// pods one by one. It has no rules of its own. It does not score: where kube-scheduler would rather put a pod among the
// nodes it allows is another question, and so is whether the plan is cheap.
package judge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/model"
)

// Placement says that a pod is to land on a node.
type Placement struct {
	Pod  model.PodKey
	Node string
}

// Rejection is a placement that no order of binding made acceptable.
type Rejection struct {
	Placement
	// Plugin refused first, in its own words Message, when the pod was last tried.
	Plugin, Message string
}

// String prints "default/web-0 on n1: NodePorts: …".
func (r Rejection) String() string {
	return fmt.Sprintf("%s on %s: %s: %s", r.Pod, r.Node, r.Plugin, r.Message)
}

// Question is what the judge is asked.
type Question struct {
	World model.World
	// Written are pods as the API server has them. A pod of the world that is not here is written as the world has it.
	Written map[model.PodKey]*corev1.Pod
	// Storage is what the API server holds of volumes; pods then mount the claims that they name. Without it, every pod's volumes are bound to
	// claims of their own.
	Storage *objects.Storage
	// Machines are nodes that the plan adds. Daemons of the picture are put onto them first.
	Machines []model.Node
	// Placements, in the order in which they are tried first.
	Placements []Placement
	// Orders is how many other orders are tried when the first one gets stuck; they are drawn from Seed.
	Orders int
	Seed   uint64
}

// Answer is what the judge found.
type Answer struct {
	// Accepted counts the pods that landed, in the best of the orders.
	Accepted int
	Rejected []Rejection
	// Waited are those that land only when the nodes that are leaving are gone, and why not before.
	Waited []Rejection
}

// Ask binds every placement, each as soon as kube-scheduler's filters accept it, until all are bound or none can be.
// Spread and affinity depend on who came before, so other orders are tried before a placement counts as rejected. Nodes that are leaving take
// nobody, and count with all that stays on them; what is rejected then may land when they are gone.
func Ask(ctx context.Context, q Question) (Answer, error) {
	gone := Leaving(q.World)
	for _, x := range q.Placements {
		if gone[x.Node] {
			return Answer{}, fmt.Errorf("placement of %s on %s: the node is leaving", x.Pod, x.Node)
		}
	}
	q.World = closed(q.World, gone)
	a, err := ask(ctx, q)
	if err != nil || len(a.Rejected) == 0 || len(gone) == 0 {
		return a, err
	}
	q.World = without(q.World, gone)
	later, err := ask(ctx, q)
	if err != nil || len(later.Rejected) > 0 {
		return a, err
	}
	later.Waited = a.Rejected
	return later, nil
}

// ask is Ask about nodes that stay as they are.
func ask(ctx context.Context, q Question) (Answer, error) {
	pods := map[model.PodKey]*corev1.Pod{}
	for _, p := range q.World.Pods {
		pods[p.Key()] = q.written(p)
	}
	order := slices.Clone(q.Placements)
	var best Answer
	r := rand.New(rand.NewPCG(q.Seed, 1))
	court, err := newCourt(ctx, q, pods)
	if err != nil {
		return Answer{}, err
	}
	defer func() { court.close() }()
	stuck := map[model.PodKey]int{}
	for try := range q.Orders + 1 {
		if err := court.again(); err != nil {
			return Answer{}, err
		}
		a, err := court.bind(order, pods, try > 0 && len(order) <= few)
		if err != nil {
			return Answer{}, err
		}
		if try == 0 || len(a.Rejected) < len(best.Rejected) {
			best = a
		}
		if len(best.Rejected) == 0 {
			break
		}
		// Those that get stuck go first, most often stuck before others; beyond that, any order.
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, x := range a.Rejected {
			stuck[x.Pod]++
		}
		slices.SortStableFunc(order, func(a, b Placement) int {
			return cmp.Compare(stuck[b.Pod], stuck[a.Pod])
		})
	}
	return best, nil
}

// written is the pod as kube-scheduler sees it.
func (q Question) written(p model.Pod) *corev1.Pod {
	if out := q.Written[p.Key()]; out != nil {
		return out
	}
	if q.Storage != nil {
		p.Volumes = nil
		for _, c := range p.VolumeClaims {
			p.Volumes = append(p.Volumes, model.Volume{ID: c})
		}
	}
	return objects.Pod(p)
}

// few is how many placements are few enough to start again from the first one after each that is accepted.
const few = 40

// bind tries the placements in rounds until a round binds nobody. With again, a round ends with the first that it binds, so that those at
// the head land as soon as they can.
func (c *court) bind(order []Placement, pods map[model.PodKey]*corev1.Pod, again bool) (Answer, error) {
	var a Answer
	rest := slices.Clone(order)
	for len(rest) > 0 {
		var refused []Rejection
		for i, x := range rest {
			pod, ok := pods[x.Pod]
			if !ok {
				return Answer{}, fmt.Errorf("placement of %s: no such pod", x.Pod)
			}
			plugin, message, err := c.admit(pod, x.Node)
			if err != nil {
				return Answer{}, fmt.Errorf("placement of %s on %s: %w", x.Pod, x.Node, err)
			}
			if plugin != "" {
				refused = append(refused, Rejection{x, plugin, message})
				continue
			}
			a.Accepted++
			if again {
				for _, y := range rest[i+1:] {
					refused = append(refused, Rejection{Placement: y})
				}
				break
			}
		}
		if len(refused) == len(rest) {
			a.Rejected = refused
			return a, nil
		}
		rest = rest[:0]
		for _, x := range refused {
			rest = append(rest, x.Placement)
		}
	}
	return a, nil
}

// daemons returns the daemon pods that the DaemonSet controller would put onto the machine: those whose node selector and
// required affinity accept its labels and that tolerate its taints.
func daemons(w model.World, n model.Node) []*corev1.Pod {
	var out []*corev1.Pod
	node := objects.Node(n)
	for _, d := range w.Daemons {
		p := d.Pod
		p.Namespace, p.Name, p.UID = d.Namespace, d.Name+"-on-"+n.Name, "uid-"+d.Name+"-on-"+n.Name
		p.Node, p.DaemonSet = n.Name, true
		pod := objects.Pod(p)
		if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !ok {
			continue
		}
		if _, bad := model.Untolerated(n.Taints, p.Tolerations); bad {
			continue
		}
		out = append(out, pod)
	}
	return out
}

// Labels joins label sets; later ones win.
func Labels(sets ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, s := range sets {
		maps.Copy(out, s)
	}
	return out
}
