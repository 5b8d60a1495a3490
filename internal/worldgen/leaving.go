package worldgen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// leave lets some nodes of some worlds go: what runs there needs other places, unless nothing may move it. It draws from a stream of its
// own and comes last, so that all else of a world does not depend on it.
func (g *gen) leave(seed uint64) {
	g.r = rand.New(rand.NewPCG(seed, 0x6c65617665))
	if len(g.w.Nodes) == 0 || !g.chance(30) {
		return
	}
	gone := map[string]bool{}
	for range 1 + g.r.IntN(2) {
		n := &g.w.Nodes[g.r.IntN(len(g.w.Nodes))]
		if !gone[n.Name] {
			gone[n.Name] = true
			g.delete(n)
		}
	}
	for i := range g.w.Nodes {
		if gone[g.w.Nodes[i].Name] {
			g.more(&g.w.Nodes[i])
		}
	}
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; gone[p.Node] && !p.DaemonSet {
			g.moving(p)
		}
	}
	g.budgets()
}

// delete marks a node as leaving: by its claim, by itself, or both; the taint of leaving nodes may not be there yet.
func (g *gen) delete(n *model.Node) {
	at := slices.IndexFunc(g.w.Claims, func(c model.Claim) bool { return c.NodeName == n.Name })
	how := g.r.IntN(3)
	if at >= 0 && how > 0 {
		g.w.Claims[at].DeletedAt = Epoch()
	}
	if at < 0 || how < 2 {
		n.DeletedAt = Epoch()
	}
	if g.chance(60) {
		n.Taints = append(slices.Clone(n.Taints), model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
	}
}

// more binds a few more pods to a node that leaves.
func (g *gen) more(n *model.Node) {
	free := n.Allocatable
	for _, p := range g.w.Pods {
		if p.Node == n.Name {
			free = free.Sub(p.Requests)
		}
	}
	for range g.r.IntN(4) {
		p := model.Pod{Namespace: pick(g, "shop", "shop", "other"), Name: "move", Node: n.Name, PodReady: true, Started: Epoch(), GraceSeconds: 30,
			Requests: model.Resources{CPU: pick(g, int64(100), 500, 1000), Memory: gib / 4, Pods: 1}}
		if p.Requests.FitsIn(free) {
			free = free.Sub(p.Requests)
			g.add(p)
		}
	}
}

// moving draws what a pod of a leaving node asks of the next one. Where it runs need not be what it asks for: that was drawn under other
// circumstances. It keeps the ports, volumes and amounts that it has there. A few may not be disturbed, are not ready, or end already.
func (g *gen) moving(p *model.Pod) {
	if q := g.shape("like"); g.chance(60) || len(p.Labels) == 0 {
		p.Labels, p.Priority, p.Tolerations, p.NodeSelector, p.Affinity = q.Labels, q.Priority, q.Tolerations, q.NodeSelector, q.Affinity
		p.Spread, p.PodAffinity, p.PodAntiAffinity, p.Prefers = q.Spread, q.PodAffinity, q.PodAntiAffinity, q.Prefers
	}
	switch g.r.IntN(8) {
	case 0:
		p.DoNotDisrupt = pick(g, "true", "true", "false")
	case 1:
		p.PodReady = false
	case 2:
		p.DeletedAt, p.StatefulSet = Epoch(), g.chance(50)
	}
}

// budgets adds disruption budgets over pods with one label, some of which allow nobody to go. They cover pods that stay as well.
func (g *gen) budgets() {
	if !g.chance(50) {
		return
	}
	for i := range 1 + g.r.IntN(2) {
		b := model.PDB{Namespace: pick(g, "shop", "shop", "other"), Name: fmt.Sprintf("budget-%d", i), Allowed: int32(g.r.IntN(2)), AlwaysAllowUnready: g.chance(40)}
		app := pick(g, "a", "b", "c")
		for _, p := range g.w.Pods {
			if p.Namespace == b.Namespace && p.Labels["app"] == app {
				b.Pods = append(b.Pods, p.Key())
			}
		}
		slices.SortFunc(b.Pods, func(a, b model.PodKey) int { return strings.Compare(a.String(), b.String()) })
		g.w.PDBs = append(g.w.PDBs, b)
	}
	slices.SortFunc(g.w.PDBs, func(a, b model.PDB) int { return strings.Compare(a.ObjectKey(), b.ObjectKey()) })
}
