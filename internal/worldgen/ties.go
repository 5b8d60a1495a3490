package worldgen

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Chains draws a world as Small does whose waiting pods, but for a few, are links of chains: each near the ones before it, on one host or in one
// zone, with branches, rings that nobody can begin, heads that run already, and heads that never come.
func Chains(seed uint64) model.World {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x636861696e73)), w: Small(seed), n: 500}
	g.fewWaiting(3)
	for i := range 1 + g.r.IntN(2) {
		g.linked(fmt.Sprint("c", i))
	}
	return g.sorted()
}

// Exclusive draws a world as Small does whose waiting pods, but for a few, belong to groups that refuse each other: one the other, both, their own
// like, or everybody else; by host, zone or capacity type; in one namespace, named ones, or those with a label. Some that run refuse, too.
func Exclusive(seed uint64) model.World {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x6578636c75)), w: Small(seed), n: 500}
	g.fewWaiting(3)
	g.w.Namespaces = slices.Insert(g.w.Namespaces, 0, model.Namespace{Name: "kube-system", Labels: map[string]string{"kubernetes.io/metadata.name": "kube-system"}})
	apps := []string{"a", "b", "c", "d"}[:2+g.r.IntN(3)]
	for _, app := range apps {
		p := model.Pod{Namespace: pick(g, "shop", "shop", "other"), Name: "x" + app, Unschedulable: true, GraceSeconds: 30,
			Labels: map[string]string{"app": app, "tier": pick(g, "x", "y")}, Requests: g.modest()}
		p.PodAntiAffinity = g.refusals(&p, apps, 75)
		g.alternatives(&p)
		for range 1 + g.r.IntN(4) {
			g.add(p)
		}
	}
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; p.Node != "" && !p.DaemonSet {
			p.PodAntiAffinity = g.refusals(p, apps, 40)
		}
	}
	return g.sorted()
}

// fewWaiting keeps the first few of the pods that wait.
func (g *gen) fewWaiting(most int) {
	g.w.Pods = slices.DeleteFunc(g.w.Pods, func(p model.Pod) bool {
		if p.Node == "" {
			most--
		}
		return p.Node == "" && most < 0
	})
}

func (g *gen) sorted() model.World {
	slices.SortFunc(g.w.Pods, func(a, b model.Pod) int { return strings.Compare(a.Key().String(), b.Key().String()) })
	return g.w
}

func (g *gen) modest() model.Resources {
	return model.Resources{CPU: pick(g, int64(100), 500, 500, 1500), Memory: pick(g, gib/4, gib), Pods: 1}
}

// linked adds one chain of two to five links.
func (g *gen) linked(name string) {
	link := func(i int) *model.Selector {
		return &model.Selector{Requirements: []model.Requirement{req("link", model.In, fmt.Sprint(name, i))}}
	}
	usual := pick(g, model.LabelHostname, model.LabelHostname, model.LabelZone, model.LabelZone, model.LabelCapacityType)
	near := func(p *model.Pod, i int) {
		key := usual
		if g.chance(25) {
			key = pick(g, model.LabelHostname, model.LabelZone)
		}
		p.PodAffinity = append(p.PodAffinity, model.PodTerm{Key: key, Selector: link(i), Namespaces: []string{"shop"}})
	}
	links, ring, headless := 2+g.r.IntN(4), g.chance(10), g.chance(10)
	for i := range links {
		p := model.Pod{Namespace: "shop", Name: fmt.Sprint(name, "-", i), Unschedulable: true, GraceSeconds: 30,
			Labels: map[string]string{"app": pick(g, "a", "b", "c"), "link": fmt.Sprint(name, i)}, Requests: g.modest()}
		if g.chance(40) {
			p.Tolerations = []model.Toleration{{Op: "Exists"}}
		}
		switch {
		case i > 0:
			near(&p, i-1)
			if i > 1 && g.chance(25) {
				near(&p, g.r.IntN(i-1))
			}
		case ring:
			near(&p, links-1)
		case g.chance(25):
			near(&p, 0) // its own like
		}
		if i > 0 && g.chance(12) {
			p.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Selector: link(g.r.IntN(i + 1)), Namespaces: []string{"shop"}}}
		}
		if g.chance(12) {
			p.Spread = []model.Spread{{Key: pick(g, model.LabelZone, model.LabelHostname), MaxSkew: 1, Hard: g.chance(70), Selector: link(i), HonorAffinity: true}}
		}
		if g.chance(12) {
			p.NodeSelector = map[string]string{model.LabelZone: pick(g, zones()...)}
		}
		if i == 0 && headless {
			continue
		}
		for range 1 + g.r.IntN(3) {
			q := p
			if i == 0 && len(g.w.Nodes) > 0 && g.chance(30) {
				q = g.bound(q)
			}
			g.add(q)
		}
	}
}

// bound puts the pod onto some node, if there is room.
func (g *gen) bound(p model.Pod) model.Pod {
	n := pick(g, g.w.Nodes...)
	free := n.Allocatable
	for _, x := range g.w.Pods {
		if x.Node == n.Name {
			free = free.Sub(x.Requests)
		}
	}
	if p.Requests.FitsIn(free) {
		p.Node, p.Unschedulable, p.PodReady, p.Started = n.Name, false, true, Epoch()
	}
	return p
}

// refusals draws whom a pod refuses.
func (g *gen) refusals(p *model.Pod, apps []string, percent int) []model.PodTerm {
	if !g.chance(percent) {
		return nil
	}
	var out []model.PodTerm
	for range 1 + g.r.IntN(3) {
		t := model.PodTerm{Key: pick(g, model.LabelHostname, model.LabelHostname, model.LabelHostname, model.LabelZone, model.LabelCapacityType)}
		own := cmp.Or(p.Labels["app"], "a")
		r := req("app", model.In, own)
		switch g.r.IntN(6) {
		case 0, 1:
		case 2, 3:
			r.Values = some(g, apps...)
		case 4:
			r.Op = model.NotIn
		case 5:
			r = req("tier", model.Exists)
		}
		t.Selector = &model.Selector{Requirements: []model.Requirement{r}}
		switch g.r.IntN(6) {
		case 0:
			t.Namespaces = []string{"other", "shop"}
		case 1:
			t.NamespaceSelector = &model.Selector{Requirements: []model.Requirement{req("env", model.In, pick(g, "live", "test"))}}
		case 2:
			t.Namespaces, t.NamespaceSelector = []string{"shop"}, &model.Selector{Requirements: []model.Requirement{req("env", model.NotIn, "live")}}
		case 3:
			t.NamespaceSelector = &model.Selector{}
		default:
			t.Namespaces = []string{p.Namespace}
		}
		out = append(out, t)
	}
	return out
}

// alternatives draws where the pod may run: several ways, each of one or two requirements.
func (g *gen) alternatives(p *model.Pod) {
	if g.chance(40) {
		p.Tolerations = []model.Toleration{{Op: "Exists"}}
	}
	if !g.chance(40) {
		return
	}
	for range 2 + g.r.IntN(3) {
		t := model.Term{g.nodeRequirement()}
		if g.chance(40) {
			t = append(t, g.nodeRequirement())
		}
		p.Affinity = append(p.Affinity, t)
	}
}
