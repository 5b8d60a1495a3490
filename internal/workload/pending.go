package workload

import (
	"fmt"

	"github.com/karpenter-aks/karpenter/model"
)

// Diverse returns n waiting pods in the mix of the benchmark that users of Karpenter know: a fifth each without
// constraints, spread over zones, spread over nodes, near each other by zone, and alone on their node. Requests are one of
// five cpu and six memory sizes; seven values of one label tell workloads apart.
func Diverse(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	requests := func() model.Resources {
		return model.Resources{CPU: pick[int64](m.r, 100, 250, 500, 1000, 1500), Memory: pick[int64](m.r, 100, 256, 512, 1024, 2048, 4096) * mib}
	}
	letter := func() string { return pick(m.r, "a", "b", "c", "d", "e", "f", "g") }
	for len(m.pods) < n {
		p := model.Pod{Requests: requests(), Labels: map[string]string{"my-label": letter()}}
		switch len(m.pods) * 5 / n {
		case 1:
			p.Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, Hard: true, HonorAffinity: true, Selector: is("my-label", letter())}}
		case 2:
			p.Spread = []model.Spread{{Key: model.LabelHostname, MaxSkew: 1, Hard: true, HonorAffinity: true, Selector: is("my-label", letter())}}
		case 3:
			v := letter()
			p.Labels = map[string]string{"my-affinity": v}
			p.PodAffinity = []model.PodTerm{{Key: model.LabelZone, Selector: is("my-affinity", v), Namespaces: []string{"default"}}}
		case 4:
			p.Labels = map[string]string{"app": "alone"}
			p.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Selector: is("app", "alone"), Namespaces: []string{"default"}}}
		}
		m.add(p)
	}
	return m.pods
}

// Wishes returns n waiting pods of one shape that have wishes only: a zone that can be had, a zone without another of
// them, which cannot be had by all, and a node without another of them, which can be had at a price.
func Wishes(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	alone := func(key string) *model.PodTerm {
		return &model.PodTerm{Key: key, Selector: is("app", "wishes"), Namespaces: []string{"default"}}
	}
	for range n {
		m.add(model.Pod{
			Requests: model.Resources{CPU: 1000, Memory: gib},
			Labels:   map[string]string{"app": "wishes"},
			Prefers: []model.Preference{
				{Weight: 100, Node: model.Term{{Key: model.LabelZone, Op: model.In, Values: []string{"zone-1"}}}},
				{Weight: 10, Pod: alone(model.LabelZone), Anti: true},
				{Weight: 1, Pod: alone(model.LabelHostname), Anti: true},
			},
		})
	}
	return m.pods
}

// workloads calls like for groups of pods until there are n: a quarter of the pods in groups of 250, a quarter in groups
// of 30, half in groups of 5, as load tests of Kubernetes have them.
func (m *maker) workloads(n int, like func(app string) model.Pod) {
	for g := 0; len(m.pods) < n; g++ {
		size := 5
		switch done := len(m.pods) * 4 / n; done {
		case 0:
			size = 250
		case 1:
			size = 30
		}
		p := like(fmt.Sprintf("app-%05d", g))
		for range min(size, n-len(m.pods)) {
			m.add(p)
		}
	}
}

// Shapes returns n waiting pods without topology in groups of 250, 30 and 5: tens of thousands have thousands of shapes.
func Shapes(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	m.workloads(n, func(app string) model.Pod {
		return model.Pod{Requests: m.shape(), Labels: map[string]string{"app": app}}
	})
	return m.pods
}

// Topology is Shapes with constraints among each group: 40 % are spread over zones, 20 % over nodes, 10 % alone on their
// node, 5 % together in one zone. Every fourth spread group also chooses an architecture.
func Topology(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	m.workloads(n, func(app string) model.Pod {
		p := model.Pod{Requests: m.shape(), Labels: map[string]string{"app": app}}
		term := func(key string) []model.PodTerm {
			return []model.PodTerm{{Key: key, Selector: is("app", app), Namespaces: []string{"default"}}}
		}
		spread := func(key string, skew int32) []model.Spread {
			return []model.Spread{{Key: key, MaxSkew: skew, Hard: true, HonorAffinity: true, Selector: is("app", app)}}
		}
		switch at := m.r.IntN(100); {
		case at < 40:
			p.Spread = spread(model.LabelZone, 1)
			if at < 10 {
				p.NodeSelector = map[string]string{model.LabelArch: "amd64"}
			}
		case at < 60:
			p.Spread = spread(model.LabelHostname, pick[int32](m.r, 1, 2, 5))
		case at < 70:
			p.PodAntiAffinity = term(model.LabelHostname)
		case at < 75:
			p.PodAffinity = term(model.LabelZone)
		}
		return p
	})
	return m.pods
}
