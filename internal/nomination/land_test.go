package nomination

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// scene is two machines of one plan, a in zone 1 and b in zone 2, each with its node there and ready but for our taint. Pods p-1 and
// p-2 are planned for a, p-3 for b.
func scene() model.World {
	claim := func(name, pods string) model.Claim {
		return model.Claim{Name: name, ProviderID: "vm/" + name, Created: start, Annotations: map[string]string{planned.Annotation: pods}}
	}
	node := func(name, zone string, cpu int64) model.Node {
		return model.Node{Name: "n" + name, ProviderID: "vm/" + name, Created: start, Ready: model.True, Allocatable: model.Resources{CPU: cpu},
			Labels: map[string]string{model.LabelZone: zone, model.LabelHostname: "n" + name},
			Taints: []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}}}
	}
	pod := func(name string) model.Pod {
		return model.Pod{Namespace: "d", Name: name, UID: name, Unschedulable: true, Labels: map[string]string{"app": "web"}}
	}
	return model.World{
		Claims: []model.Claim{claim("a", "d/p-1,d/p-2"), claim("b", "d/p-3")},
		Nodes:  []model.Node{node("a", "1", 4000), node("b", "2", 8000)},
		Pods:   []model.Pod{pod("p-1"), pod("p-2"), pod("p-3")},
	}
}

func web() *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}}
}

func spread(w *model.World, pods ...int) {
	for _, i := range pods {
		w.Pods[i].Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, Hard: true, Selector: web()}}
	}
}

func register(w *model.World, claim, node int) {
	w.Claims[claim].Conditions = []model.Condition{{Type: model.Registered, Status: model.True}}
	w.Claims[claim].NodeName = w.Nodes[node].Name
	w.Nodes[node].Taints = nil
}

func show(list []Landing) string {
	var out []string
	for _, l := range list {
		var names []string
		for _, p := range l.Tell {
			names = append(names, p.Name)
		}
		out = append(out, fmt.Sprintf("%s hold %v tell %s", l.Claim, l.Hold, strings.Join(names, " ")))
	}
	return strings.Join(out, "\n")
}

func TestLandings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *model.World)
		after  time.Duration
		want   string
	}{
		"pods that could go anywhere are told as their node opens": {
			func(*model.World) {}, 0, "a hold 0s tell p-1 p-2\nb hold 0s tell p-3"},
		"nobody is told of a node that takes no pods yet; it waits": {
			func(w *model.World) { w.Nodes[0].Ready = model.False }, time.Second, "a hold 29s tell \nb hold 0s tell p-3"},
		"a startup taint is as good as not ready": {
			func(w *model.World) {
				w.Nodes[0].Taints = append(w.Nodes[0].Taints, model.Taint{Key: "slow", Effect: model.NoSchedule})
			}, 0, "a hold 30s tell \nb hold 0s tell p-3"},
		"but no longer than the limit": {
			func(w *model.World) { w.Nodes[0].Ready = model.False }, HoldLimit, "a hold 0s tell \nb hold 0s tell p-3"},
		"a node that is alone waits for nobody": {
			func(w *model.World) { w.Nodes[0].Ready = model.False; w.Pods = w.Pods[:2] }, 0, "a hold 0s tell "},
		"a DaemonSet that may be needed to get the node ready keeps us from waiting": {
			func(w *model.World) {
				w.Nodes[0].Ready = model.False
				w.Daemons = []model.Daemon{{Name: "cni", Pod: model.Pod{Tolerations: []model.Toleration{{Op: "Exists", Effect: model.NoSchedule}}}}}
			}, 0, "a hold 0s tell \nb hold 0s tell p-3"},
		"who is bound, or told already, needs not be told": {
			func(w *model.World) {
				register(w, 0, 0)
				w.Pods[0].Unschedulable, w.Pods[0].Node = false, "na"
				w.Pods[1].Promised = "na"
			}, 0, "b hold 0s tell p-3"},
		"who was told of another node is told again": {
			func(w *model.World) { register(w, 0, 0); w.Pods[1].Promised = "gone" }, 0, "a hold 0s tell p-1 p-2\nb hold 0s tell p-3"},
		"where pods are tied to zones, a node waits for the others, and nobody is told before all are ready": {
			func(w *model.World) { spread(w, 2); w.Nodes[1].Ready = model.False }, 0, "a hold 30s tell \nb hold 30s tell "},
		"those who could go anywhere are told before anybody opens, and go first": {
			func(w *model.World) { spread(w, 2) }, 0, "a hold 100ms tell p-1 p-2\nb hold 100ms tell "},
		"when they were told their node opens": {
			func(w *model.World) { spread(w, 2); w.Pods[0].Promised, w.Pods[1].Promised = "na", "na" }, 0, "a hold 0s tell \nb hold 100ms tell "},
		"when they are bound the next opens": {
			func(w *model.World) {
				spread(w, 2)
				w.Pods[2].Promised = "nb"
				register(w, 0, 0)
				for i := range 2 {
					w.Pods[i].Unschedulable, w.Pods[i].Node, w.Pods[i].Labels = false, "na", nil
				}
				w.Pods[0].Node = "" // a stranger that waits for a third machine
				w.Pods[0].Unschedulable = true
				w.Claims[0].Annotations[planned.Annotation] = "d/p-2"
				w.Claims = append(w.Claims, model.Claim{Name: "c", Conditions: w.Claims[0].Conditions, Annotations: map[string]string{planned.Annotation: "d/p-1"}})
			}, 0, "b hold 0s tell "},
		"of nodes that are open, pods of one spread that would keep each other out are told one by one": {
			func(w *model.World) { spread(w, 0, 1, 2); register(w, 0, 0); register(w, 1, 1) }, 0, "a hold 0s tell p-1\nb hold 0s tell p-3"},
		"before they open their room is kept for all, and they open together": {
			func(w *model.World) { spread(w, 0, 1, 2) }, 0, "a hold 100ms tell p-1 p-2\nb hold 100ms tell p-3"},
		"where the first decides for all, its node is the first to open": {
			func(w *model.World) {
				w.Pods[2].PodAffinity = []model.PodTerm{{Key: model.LabelZone, Selector: web(), Namespaces: []string{"d"}}}
			}, 0, "a hold 100ms tell \nb hold 100ms tell p-3"},
		"unless others decide for it": {
			func(w *model.World) {
				others := &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"other"}}}}
				w.Pods[2].PodAffinity = []model.PodTerm{{Key: model.LabelZone, Selector: others, Namespaces: []string{"d"}}}
			}, 0, "a hold 100ms tell p-1 p-2\nb hold 100ms tell "},
		"who follows others is not told where none of them is": {
			func(w *model.World) {
				spread(w, 0)
				w.Pods[2].PodAffinity = []model.PodTerm{{Key: model.LabelZone, Selector: web(), Namespaces: []string{"d"}}}
				w.Pods[0].Node, w.Pods[0].Unschedulable = "na", false
			}, 0, "a hold 100ms tell p-2\nb hold 100ms tell "},
		"a node is not promised to more than it holds": {
			func(w *model.World) {
				w.Pods[0].Requests.CPU, w.Pods[1].Requests.CPU = 3000, 2000
			}, 0, "a hold 0s tell p-1\nb hold 0s tell p-3"},
		"who runs on a node, and who was told of it and goes elsewhere now, takes room there": {
			func(w *model.World) {
				register(w, 0, 0)
				w.Pods[0].Requests.CPU, w.Pods[1].Requests.CPU, w.Pods[2].Requests.CPU = 1500, 1000, 2000
				w.Pods[2].Promised = "na"
				w.Pods = append(w.Pods, model.Pod{Namespace: "d", Name: "daemon", Node: "na", Requests: model.Resources{CPU: 500}})
			}, 0, "a hold 0s tell p-1\nb hold 0s tell p-3"},
		"a node that is on its way out takes nobody": {
			func(w *model.World) { w.Claims[0].DeletedAt = start }, 0, "b hold 0s tell p-3"},
		"a pod planned for twice belongs to the newer claim": {
			func(w *model.World) {
				w.Claims[1].Created = start.Add(time.Second)
				w.Claims[1].Annotations[planned.Annotation] = "d/p-1,d/p-3"
			}, 0, "a hold 0s tell p-2\nb hold 0s tell p-1 p-3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := scene()
			c.change(&w)
			if got := show(Decide(w, start.Add(c.after), nil)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestWhoMustBeTogetherIsToldWhereTheFirstIs(t *testing.T) {
	w := scene()
	for i := range w.Pods {
		w.Pods[i].PodAffinity = []model.PodTerm{{Key: model.LabelZone, Selector: web(), Namespaces: []string{"d"}}}
	}
	if got, want := show(Decide(w, start, nil)), "a hold 100ms tell p-1 p-2\nb hold 100ms tell p-3"; got != want {
		t.Errorf("before the first is bound: got\n%s\nwant\n%s", got, want)
	}
	register(&w, 0, 0)
	w.Pods[0].Node, w.Pods[0].Unschedulable = "na", false
	if got := Decide(w, start, nil); slices.ContainsFunc(got, func(l Landing) bool { return l.Claim == "b" && len(l.Tell) > 0 }) {
		t.Errorf("one of them is told of another zone:\n%s", show(got))
	}
}
