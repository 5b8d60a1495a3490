package judge

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

func node(name, zone string) model.Node {
	r := model.Resources{CPU: 2000, Memory: 4 << 30, Pods: 10}
	return model.Node{Name: name, Labels: map[string]string{model.LabelHostname: name, model.LabelZone: zone}, Capacity: r, Allocatable: r, Ready: model.True,
		AttachLimits: map[string]int64{worldgen.Driver: 1}}
}

func pod(name string) model.Pod {
	return model.Pod{Namespace: "shop", Name: name, UID: name, Labels: map[string]string{"app": "a"}, Unschedulable: true,
		Requests: model.Resources{CPU: 100, Memory: 1 << 20, Pods: 1}}
}

func with(p model.Pod, change func(*model.Pod)) model.Pod {
	change(&p)
	return p
}

// TestJudgeRefuses shows for every rule that the judge knows it: a judge who accepts everything proves nothing.
func TestJudgeRefuses(t *testing.T) {
	app := &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"a"}}}}
	tainted, cordoned := node("n2", "z2"), node("n2", "z2")
	tainted.Taints = []model.Taint{{Key: "k", Effect: model.NoSchedule}}
	cordoned.Cordoned = true
	disk := func(id string, zones ...string) func(*model.Pod) {
		return func(p *model.Pod) {
			p.Volumes = append(p.Volumes, model.Volume{ID: id, Driver: worldgen.Driver, Terms: []model.Term{{{Key: model.LabelZone, Op: model.In, Values: zones}}}})
		}
	}
	for _, c := range []struct {
		name, plugin string
		second       model.Node
		pod          func(*model.Pod)
	}{
		{"it is too large", "NodeResourcesFit", node("n2", "z2"), func(p *model.Pod) { p.Requests.CPU = 1950 }},
		{"the node is tainted", "TaintToleration", tainted, func(*model.Pod) {}},
		{"the node is cordoned", "NodeUnschedulable", cordoned, func(*model.Pod) {}},
		{"it selects another zone", "NodeAffinity", node("n2", "z2"), func(p *model.Pod) { p.NodeSelector = map[string]string{model.LabelZone: "z1"} }},
		{"its port is taken", "NodePorts", node("n2", "z2"), func(p *model.Pod) { p.HostPorts = []model.HostPort{{Protocol: "TCP", Port: 80}} }},
		{"the zones get uneven", "PodTopologySpread", node("n2", "z2"), func(p *model.Pod) {
			p.Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, Hard: true, Selector: app, HonorAffinity: true}}
		}},
		{"it wants to be alone", "InterPodAffinity", node("n2", "z2"), func(p *model.Pod) {
			p.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Selector: app, Namespaces: []string{"shop"}}}
		}},
		{"the disk is elsewhere", "VolumeBinding", node("n2", "z2"), disk("v1", "z1")},
		{"the node has its one disk", "NodeVolumeLimits", node("n2", "z2"), disk("v1", "z1", "z2")},
	} {
		first := with(pod("first"), func(p *model.Pod) { p.Node = "n2" })
		if c.plugin == "NodePorts" || c.plugin == "InterPodAffinity" {
			c.pod(&first)
		}
		if c.plugin == "NodeVolumeLimits" {
			disk("v0", "z2")(&first)
		}
		w := model.World{Nodes: []model.Node{node("n1", "z1"), c.second}, Namespaces: []model.Namespace{{Name: "shop"}},
			Pods: []model.Pod{first, with(pod("second"), c.pod)}}
		a, err := Ask(t.Context(), Question{World: w, Placements: []Placement{{w.Pods[1].Key(), "n2"}}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(a.Rejected) != 1 || a.Rejected[0].Plugin != c.plugin {
			t.Errorf("%s: want a refusal by %s, got %v", c.name, c.plugin, a.Rejected)
		}
		if c.second.Cordoned || len(c.second.Taints) > 0 || c.plugin == "NodeResourcesFit" {
			continue
		}
		if b, err := Ask(t.Context(), Question{World: w, Placements: []Placement{{w.Pods[1].Key(), "n1"}}}); err != nil || b.Accepted != 1 {
			t.Errorf("%s: the other node should take it: %v %v", c.name, b.Rejected, err)
		}
	}
}

// TestJudgeFindsAnOrder: a pod that wants to be near another one lands after it, whatever the order of the plan.
func TestJudgeFindsAnOrder(t *testing.T) {
	near := with(pod("near"), func(p *model.Pod) {
		p.Labels = nil
		p.PodAffinity = []model.PodTerm{{Key: model.LabelZone, Namespaces: []string{"shop"},
			Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"a"}}}}}}
	})
	w := model.World{Nodes: []model.Node{node("n1", "z1"), node("n2", "z2")}, Namespaces: []model.Namespace{{Name: "shop"}}, Pods: []model.Pod{near, pod("other")}}
	a, err := Ask(t.Context(), Question{World: w, Placements: []Placement{{near.Key(), "n1"}, {w.Pods[1].Key(), "n1"}}})
	if err != nil || a.Accepted != 2 {
		t.Fatalf("accepted %d: %v %v", a.Accepted, a.Rejected, err)
	}
	a, err = Ask(t.Context(), Question{World: w, Orders: 3, Placements: []Placement{{near.Key(), "n1"}, {w.Pods[1].Key(), "n2"}}})
	if err != nil || len(a.Rejected) != 1 || a.Rejected[0].Pod != near.Key() {
		t.Fatalf("a zone away is not near: %v %v", a.Rejected, err)
	}
}
