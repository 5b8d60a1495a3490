package worldgen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// add gives the pod its name and puts it into the world.
func (g *gen) add(p model.Pod) {
	p.Name = fmt.Sprintf("%s-%02d", p.Name, g.n)
	p.UID = "uid-" + p.Name
	p.Created = Epoch().Add(time.Duration(g.n) * time.Second)
	p.VolumeClaims = nil
	for _, v := range p.Volumes {
		p.VolumeClaims = append(p.VolumeClaims, v.ID)
	}
	g.w.Pods = append(g.w.Pods, p)
	g.n++
}

// waiting adds workloads of one to five like pods until there are enough.
func (g *gen) waiting() {
	left := 1 + g.r.IntN(MaxPods)
	for w := 0; left > 0; w++ {
		p := g.shape(fmt.Sprintf("w%d", w))
		share := ""
		if len(p.Volumes) > 0 && g.chance(25) {
			share = fmt.Sprintf("vol-shared-%d", w)
		}
		for range min(left, 1+g.r.IntN(5)) {
			q := p
			q.Volumes = slices.Clone(p.Volumes)
			for i := range q.Volumes {
				q.Volumes[i].ID = fmt.Sprintf("vol-%02d-%d", g.n, i)
				if share != "" && i == 0 {
					q.Volumes[i].ID = share
				}
			}
			slices.SortFunc(q.Volumes, func(a, b model.Volume) int { return strings.Compare(a.ID, b.ID) })
			g.add(q)
			left--
		}
	}
}

// shape draws a pod without a name of its own.
func (g *gen) shape(name string) model.Pod {
	p := model.Pod{Namespace: pick(g, "shop", "shop", "other"), Name: name, Unschedulable: true, GraceSeconds: 30,
		Labels:   map[string]string{"app": pick(g, "a", "b", "c")},
		Requests: model.Resources{CPU: pick(g, int64(100), 500, 1500, 3000), Memory: pick(g, gib/4, gib, 6*gib), Pods: 1}}
	if g.chance(25) {
		p.Labels["tier"] = pick(g, "x", "y")
	}
	if g.chance(6) {
		p.Requests = p.Requests.With("example.com/gpu", 1)
	}
	if g.chance(15) {
		p.Priority = pick(g, int32(-10), 100)
	}
	g.nodeWishes(&p)
	g.spread(&p)
	g.podTerms(&p)
	if g.chance(12) {
		p.HostPorts = []model.HostPort{{IP: pick(g, "", "", "127.0.0.1"), Protocol: pick(g, "TCP", "UDP"), Port: pick(g, int32(8080), 9090)}}
	}
	if g.chance(15) {
		for range 1 + g.r.IntN(2) {
			p.Volumes = append(p.Volumes, g.volume())
		}
	}
	return p
}

// nodeWishes draws what the pod says of the node itself.
func (g *gen) nodeWishes(p *model.Pod) {
	if g.chance(40) {
		p.Tolerations = append(p.Tolerations, model.Toleration{Key: "dedicated", Op: "Exists"})
	}
	if g.chance(20) {
		p.Tolerations = append(p.Tolerations, model.Toleration{Key: "dedicated", Op: "Equal", Value: pick(g, "red", "blue"), Effect: model.NoSchedule})
	}
	if g.chance(15) {
		key := pick(g, model.LabelZone, model.LabelArch, LabelTeam, LabelFamily)
		p.NodeSelector = map[string]string{key: map[string]string{model.LabelZone: pick(g, zones()...), model.LabelArch: "amd64",
			LabelTeam: "red", LabelFamily: pick(g, "D", "E")}[key]}
	}
	if g.chance(15) {
		for range 1 + g.r.IntN(2) {
			t := model.Term{g.nodeRequirement()}
			if g.chance(30) {
				t = append(t, g.nodeRequirement())
			}
			p.Affinity = append(p.Affinity, t)
		}
	}
	if g.chance(15) {
		p.Prefers = append(p.Prefers, model.Preference{Weight: int32(1 + g.r.IntN(100)), Node: model.Term{g.nodeRequirement()}})
	}
}

func (g *gen) nodeRequirement() model.Requirement {
	switch g.r.IntN(6) {
	case 0:
		return req(model.LabelZone, model.In, some(g, zones()...)...)
	case 1:
		return req(model.LabelZone, model.NotIn, pick(g, zones()...))
	case 2:
		return req(LabelCores, pick(g, model.Gt, model.Lt), pick(g, "2", "4"))
	case 3:
		return req(LabelTeam, pick(g, model.Exists, model.DoesNotExist))
	case 4:
		return req(model.LabelCapacityType, model.In, pick(g, model.OnDemand, model.Spot))
	}
	return req(LabelFamily, pick(g, model.In, model.NotIn), "D")
}

// selector picks one app, sometimes by what it is not; nil and empty ones are rare and legal.
func (g *gen) selector() *model.Selector {
	switch n := g.r.IntN(20); {
	case n == 0:
		return nil
	case n == 1:
		return &model.Selector{}
	case n == 2:
		return &model.Selector{Requirements: []model.Requirement{req("app", model.NotIn, pick(g, "a", "b"))}}
	case n == 3:
		return &model.Selector{Requirements: []model.Requirement{req("tier", pick(g, model.Exists, model.DoesNotExist))}}
	}
	return &model.Selector{Requirements: []model.Requirement{req("app", model.In, pick(g, "a", "b", "c"))}}
}

// own picks the pod's own app: what most people write.
func (g *gen) own(p *model.Pod) *model.Selector {
	if g.chance(30) {
		return g.selector()
	}
	return &model.Selector{Requirements: []model.Requirement{req("app", model.In, p.Labels["app"])}}
}

func (g *gen) spread(p *model.Pod) {
	if !g.chance(30) {
		return
	}
	keys := []string{pick(g, model.LabelZone, model.LabelZone, model.LabelHostname, model.LabelHostname, model.LabelCapacityType, LabelRack)}
	if g.chance(25) && keys[0] != model.LabelHostname {
		keys = append(keys, model.LabelHostname)
	}
	for _, k := range keys {
		s := model.Spread{Key: k, MaxSkew: int32(1 + g.r.IntN(2)), Hard: g.chance(75), Selector: g.own(p), HonorAffinity: g.chance(80), HonorTaints: g.chance(30)}
		if s.Hard && g.chance(20) {
			s.MinDomains = int32(2 + g.r.IntN(2))
		}
		p.Spread = append(p.Spread, s)
	}
}

func (g *gen) podTerms(p *model.Pod) {
	if g.chance(12) {
		p.PodAffinity = append(p.PodAffinity, g.term(p))
	}
	if g.chance(18) {
		p.PodAntiAffinity = append(p.PodAntiAffinity, g.term(p))
	}
	if g.chance(12) {
		t := g.term(p)
		p.Prefers = append(p.Prefers, model.Preference{Weight: int32(1 + g.r.IntN(100)), Pod: &t, Anti: g.chance(60)})
	}
}

func (g *gen) term(p *model.Pod) model.PodTerm {
	t := model.PodTerm{Key: pick(g, model.LabelZone, model.LabelHostname, model.LabelHostname, model.LabelCapacityType), Selector: g.own(p), Namespaces: []string{p.Namespace}}
	switch {
	case g.chance(15):
		t.Namespaces = []string{"other", "shop"}
	case g.chance(15):
		t.Namespaces, t.NamespaceSelector = nil, &model.Selector{Requirements: []model.Requirement{req("env", model.In, pick(g, "live", "test"))}}
	case g.chance(8):
		t.Namespaces, t.NamespaceSelector = nil, &model.Selector{}
	}
	return t
}

// volume draws a volume that some zones reach; its ID comes later.
func (g *gen) volume() model.Volume {
	v := model.Volume{ID: "vol", Driver: Driver}
	switch g.r.IntN(4) {
	case 0: // anywhere
	case 1:
		v.Terms = []model.Term{{req(model.LabelZone, model.In, pick(g, zones()...))}}
	case 2:
		v.Terms = []model.Term{{req(model.LabelZone, model.In, some(g, zones()...)...)}}
	case 3:
		v.Terms = []model.Term{{req(model.LabelZone, model.In, "zone-1")}, {req(model.LabelZone, model.In, "zone-2")}}
	}
	return v
}
