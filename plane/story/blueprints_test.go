package story

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
)

// blueprint is what a page of docs/blueprints promises.
type blueprint struct {
	// pods are how many run, by app.
	pods map[string]int
	// holds says what is not as the page says, "" when all is.
	holds func(l *lab) string
	// then tries what else the page says; nil = nothing.
	then func(l *lab)
}

const (
	capacityKey = "karpenter.sh/capacity-type"
	archKey     = "kubernetes.io/arch"
	poolKey     = "karpenter.sh/nodepool"
)

// blueprints are all of them, by the name of their page.
func blueprints() map[string]blueprint {
	onDemand := nodesAre(capacityKey, "on-demand")
	return map[string]blueprint{
		"arm64-mix": {pods: map[string]int{"portable": 10, "legacy": 2}, holds: all(onDemand, podsAre("legacy", archKey, "amd64"),
			func(l *lab) string {
				if l.perDomain(workload{name: "portable"}, archKey)["arm64"] == 0 {
					return "no pod is on arm64, where it costs less"
				}
				return ""
			})},
		"batch-jobs": {pods: map[string]int{"crunch": 8}, holds: all(nodesAre(capacityKey, "spot"), nodesHave("workload=batch:NoSchedule")),
			then: (*lab).jobsEndAndNodesLeave},
		"cost-ceiling": {pods: map[string]int{"shop": 8}, holds: all(onDemand, atMostCores("capped", 16), (*lab).limitIsNamed)},
		"disruption-windows": {pods: map[string]int{"web": 6}, holds: onDemand, then: func(l *lab) {
			l.says(0, "budget", "explain", "nodepool", "calm")
		}},
		"from-cluster-autoscaler": {pods: map[string]int{"web": 10}, holds: all(onDemand, nodesAre("workload", "general"),
			nodesAre("karpenter.azure.com/sku-family", "D"), atMostCores("user", 20*32), func(l *lab) string {
				for _, n := range l.nodes() {
					if got := n.Status.Capacity.Pods().Value(); got != 110 {
						return fmt.Sprintf("node %s takes %d pods", n.Name, got)
					}
				}
				return ""
			}), then: func(l *lab) {
			l.says(0, "\nafter  ", "migrate", "-f", "../../examples/migrate/aks.json", "--live", "-o", "text")
		}},
		"gpu-inference": {pods: map[string]int{"inference": 2}, holds: all(onDemand, nodesAre("karpenter.azure.com/sku-gpu-manufacturer", "nvidia"),
			nodesHave("nvidia.com/gpu=present:NoSchedule"))},
		"headroom": {holds: all(onDemand, (*lab).roomIsKept), then: (*lab).burstStartsAtOnce},
		"high-availability": {pods: map[string]int{"api": 6}, holds: all(onDemand, func(l *lab) string {
			return want("pods by zone", l.perDomain(workload{name: "api"}, zoneKey), map[string]int{"westus3-1": 2, "westus3-2": 2, "westus3-3": 2})
		})},
		"large-nodes": {pods: map[string]int{"web": 30}, holds: all(onDemand, func(l *lab) string {
			for _, n := range l.nodes() {
				if n.Status.Capacity.Cpu().Value() < 16 {
					return "node " + n.Name + " has fewer than 16 cores"
				}
			}
			if agents := l.pods("agent"); len(agents) != len(l.nodes()) || !runningOf(agents, len(agents)) {
				return fmt.Sprintf("%d agents on %d nodes", len(agents), len(l.nodes()))
			}
			return ""
		})},
		"multi-tenant-pools": {pods: map[string]int{"app-a": 4, "app-b": 6}, holds: all(podsAre("app-a", poolKey, "team-a"), podsAre("app-b", poolKey, "team-b"),
			atMostCores("team-a", 32), atMostCores("team-b", 64))},
		"overprovisioning":           {pods: map[string]int{"web": 4, "placeholder": 3}, holds: onDemand, then: (*lab).placeholdersGiveWay},
		"private-images-and-pinning": {pods: map[string]int{"web": 4}, holds: all(onDemand, nodesAre("kubernetes.azure.com/os-sku", "AzureLinux"), (*lab).imagesAreListed)},
		"reserved-capacity": {pods: map[string]int{"web": 12}, holds: all(onDemand, func(l *lab) string {
			sizes := map[string]int{}
			for _, n := range l.nodes() {
				if n.Labels[poolKey] == "reserved" {
					sizes[n.Labels[corev1.LabelInstanceTypeStable]]++
				}
			}
			return want("machines of pool reserved", sizes, map[string]int{"Standard_D8s_v5": 4})
		})},
		"spot-with-fallback": {pods: map[string]int{"web": 12}, holds: nodesAre(capacityKey, "spot"), then: func(l *lab) {
			l.spotIsTakenBack()
			l.onDemandIsBehindSpot()
		}},
		"stateful-zonal-disks": {pods: map[string]int{"db": 3}, holds: all(onDemand, func(l *lab) string {
			disks := map[string]int{}
			for _, r := range l.resources() {
				if strings.HasSuffix(r.Size, " 32Gi") && r.Owner != "" {
					disks["westus3-"+r.Zone]++
				}
			}
			each := map[string]int{"westus3-1": 1, "westus3-2": 1, "westus3-3": 1}
			return first(want("pods by zone", l.perDomain(workload{name: "db"}, zoneKey), each), want("attached disks by zone", disks, each))
		})},
	}
}

// TestBlueprints does what each page of docs/blueprints says, as it is written, one after the other on one lab: its commands are run, the machines
// are those that it promises, and when its manifests are deleted nothing is left.
func TestBlueprints(t *testing.T) {
	files, err := filepath.Glob("../../examples/blueprints/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".yaml"))
	}
	if known := slices.Sorted(maps.Keys(blueprints())); !slices.Equal(names, known) {
		t.Fatalf("the blueprints are %v, and here stands what %v promise", names, known)
	}
	l := up(t, "--boot-time", "0s")
	desk, _, env := l.desk()
	for _, name := range names {
		if !t.Run(name, func(t *testing.T) {
			page := *l
			page.t = t
			page.follow(name, desk, env)
		}) {
			break // what it left would be in the way of the next
		}
	}
}

// follow does what one page says, and takes everything away again.
func (l *lab) follow(name, desk string, env []string) {
	l.t.Helper()
	page, err := os.ReadFile(filepath.Join("../../docs/blueprints", name+".md"))
	if err != nil {
		l.t.Fatal(err)
	}
	commands := blocks(string(page))
	if len(commands) == 0 {
		l.t.Fatalf("the page %s has no commands", name)
	}
	for _, text := range commands {
		l.obeys(desk, env, text)
	}
	b := blueprints()[name]
	var list []workload
	for _, app := range slices.Sorted(maps.Keys(b.pods)) {
		list = append(list, workload{name: app, pods: b.pods[app]})
	}
	l.land(3*time.Minute, func() {}, list...)
	wrong := ""
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if wrong = b.holds(l); wrong == "" || time.Now().After(end) {
			break
		}
	}
	if wrong != "" {
		l.t.Fatalf("%s: it is not as the page says: %s", name, wrong)
	}
	if b.then != nil {
		b.then(l)
	}
	l.do("kubectl", "delete", "--wait=false", "-f", filepath.Join("..", "examples", "blueprints", name+".yaml"))
	l.do("kubectl", "delete", "persistentvolumeclaims", "--all", "--wait=false")
	l.until("nothing is left of "+name, 3*time.Minute, func() bool {
		return l.nothingLeft() && strings.TrimSpace(l.do("kubectl", "get", "nodepools,aksnodeclasses,pods", "-o", "name")) == ""
	})
}

// desk is a directory with what pages refer to, and the environment of a person who sits there: the lab's kubectl, our programs, and what is
// put into the directory tools are found.
func (l *lab) desk() (dir, tools string, env []string) {
	l.t.Helper()
	dir, tools = l.t.TempDir(), l.t.TempDir()
	examples, err := filepath.Abs("../../examples")
	if err == nil {
		err = os.Symlink(examples, filepath.Join(dir, "examples"))
	}
	if err == nil {
		text := "#!/bin/sh\nexec " + filepath.Join(bin, "karpenter-lab") + " kubectl \"$@\"\n"
		err = os.WriteFile(filepath.Join(tools, "kubectl"), []byte(text), 0o700)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return dir, tools, append(l.person(), "KARPENTER_LAB_DIR="+l.dir, "PATH="+tools+":"+bin+":"+os.Getenv("PATH"))
}

// all asks one after the other.
func all(list ...func(*lab) string) func(*lab) string {
	return func(l *lab) string {
		for _, holds := range list {
			if wrong := holds(l); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// nodesAre says that there are nodes, and that all have the label.
func nodesAre(key, value string) func(*lab) string {
	return func(l *lab) string {
		nodes := l.nodes()
		for _, n := range nodes {
			if n.Labels[key] != value {
				return fmt.Sprintf("node %s has %s=%q, not %q", n.Name, key, n.Labels[key], value)
			}
		}
		if len(nodes) == 0 {
			return "there is no node"
		}
		return ""
	}
}

// nodesHave says that all nodes have the taint KEY=VALUE:EFFECT.
func nodesHave(taint string) func(*lab) string {
	return func(l *lab) string {
		for _, n := range l.nodes() {
			if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.ToString() == taint }) {
				return fmt.Sprintf("node %s has taints %v and not %s", n.Name, n.Spec.Taints, taint)
			}
		}
		return ""
	}
}

// podsAre says that all pods of the app are on nodes with the label.
func podsAre(app, key, value string) func(*lab) string {
	return func(l *lab) string {
		return want(app+" by "+key, l.perDomain(workload{name: app}, key), map[string]int{value: len(l.pods(app))})
	}
}

// atMostCores says that the pool's nodes have no more cores together.
func atMostCores(pool string, most int64) func(*lab) string {
	return func(l *lab) string {
		sum := int64(0)
		for _, n := range l.nodes() {
			if n.Labels[poolKey] == pool {
				sum += n.Status.Capacity.Cpu().Value()
			}
		}
		if sum == 0 || sum > most {
			return fmt.Sprintf("the nodes of pool %s have %d cores, of at most %d", pool, sum, most)
		}
		return ""
	}
}

// limitIsNamed says that some reports run, and that one of those that do not is told of the limit.
func (l *lab) limitIsNamed() string {
	run, waiting := 0, map[string]bool{}
	for _, p := range l.pods("reports") {
		if p.Spec.NodeName == "" {
			waiting[p.Name] = true
		} else {
			run++
		}
	}
	if run == 0 || len(waiting) == 0 {
		return fmt.Sprintf("%d pods of reports run, %d wait: want some of both", run, len(waiting))
	}
	for _, e := range l.events() {
		if waiting[e.InvolvedObject.Name] && e.Reason == "FailedScheduling" && strings.Contains(e.Message, "limits") {
			return ""
		}
	}
	return "no pod that waits is told of the limit"
}

// roomIsKept says that the room for four pods of a core each that the buffer asks for is there. The buffer's condition Provisioning is True before its machines are.
func (l *lab) roomIsKept() string {
	cores, nodes, claims := int64(0), 0, len(l.claims())
	for _, n := range l.nodes() {
		if n.Labels["karpenter.sh/initialized"] == "true" {
			nodes, cores = nodes+1, cores+n.Status.Capacity.Cpu().Value()
		}
	}
	if cores <= 4 || nodes != claims { // four cores alone hold no four pods of one
		return fmt.Sprintf("%d cores on %d initialized nodes, %d claims", cores, nodes, claims)
	}
	return ""
}

// burstStartsAtOnce starts the four pods that the buffer keeps room for: the scheduler finds room for each at once. On which node is not asked: what the buffer
// buys anew for the first ones may be there before the last one is made.
func (l *lab) burstStartsAtOnce() {
	l.t.Helper()
	for i := range 4 {
		name := fmt.Sprintf("burst-%d", i)
		l.do("kubectl", "run", name, "--image="+pause, "--labels=app=burst", `--overrides={"spec":{"containers":[{"name":"`+name+`","image":"`+pause+
			`","resources":{"requests":{"cpu":"1","memory":"2Gi"}}}]}}`)
	}
	l.until("the burst runs", time.Minute, func() bool { return l.running("burst", 4) })
	for _, e := range l.events() {
		if e.Reason == "FailedScheduling" && strings.HasPrefix(e.InvolvedObject.Name, "burst-") {
			l.t.Errorf("pod %s had to wait, although room was kept: %s", e.InvolvedObject.Name, e.Message)
		}
	}
	l.do("kubectl", "delete", "pods", "-l", "app=burst", "--wait=false")
}

// placeholdersGiveWay starts more real pods: they go where placeholders were, which get new machines.
func (l *lab) placeholdersGiveWay() {
	l.t.Helper()
	room := l.nodes()
	l.scale("web", 8)
	l.land(3*time.Minute, func() {}, workload{name: "web", pods: 8}, workload{name: "placeholder", pods: 3})
	at := 0
	for _, p := range l.pods("web") {
		if hosts(room, p) {
			at++
		}
	}
	if at < 7 || len(l.nodes()) <= len(room) {
		l.t.Errorf("%d of 8 pods are on the nodes that were there; %d nodes, before %d", at, len(l.nodes()), len(room))
	}
}

// imagesAreListed says that the class lists the images that its nodes keep.
func (l *lab) imagesAreListed() string {
	for _, c := range list(l, &v1beta1.AKSNodeClassList{}).Items {
		if c.Name == "pinned" && len(c.Status.Images) > 0 {
			return ""
		}
	}
	return "class pinned lists no images"
}

// jobsEndAndNodesLeave waits for the end of the Job: each pod ran once, and their machines leave although nothing is deleted.
func (l *lab) jobsEndAndNodesLeave() {
	l.t.Helper()
	l.do("kubectl", "wait", "--for=condition=Complete", "job/crunch", "--timeout", "3m")
	if got := l.do("kubectl", "get", "job", "crunch", "-o", "jsonpath={.status.succeeded} {.status.failed}"); strings.TrimSpace(got) != "8" {
		l.t.Errorf("of 8 pods of the Job so many ended well, and badly: %s", got)
	}
	l.until("the machines of the Job are gone", 3*time.Minute, l.nothingLeft)
}

// spotIsTakenBack has Azure take a machine back: its pods run elsewhere, and it is gone.
func (l *lab) spotIsTakenBack() {
	l.t.Helper()
	old := l.pods("web")[0].Spec.NodeName
	l.do("evict", old)
	l.until("Azure has taken the machine back", 3*time.Minute, func() bool {
		return !slices.ContainsFunc(l.resources(), func(r held) bool { return r.Name == old }) &&
			!slices.ContainsFunc(l.nodes(), func(n corev1.Node) bool { return n.Name == old })
	})
	l.land(3*time.Minute, func() {}, workload{name: "web", pods: 12})
	if n := l.perDomain(workload{name: "web"}, hostKey)[old]; n > 0 {
		l.t.Errorf("%d pods are on %s, which is gone", n, old)
	}
}

// onDemandIsBehindSpot takes the subscription's room for spot machines away: what comes then is bought on demand.
func (l *lab) onDemandIsBehindSpot() {
	l.t.Helper()
	l.knobs("quota: {lowPriorityCores: 0}\n")
	l.scale("web", 24)
	l.land(3*time.Minute, func() {}, workload{name: "web", pods: 24})
	if l.perDomain(workload{name: "web"}, capacityKey)["on-demand"] == 0 {
		l.t.Error("no pod is on demand, although no spot machine can be had")
	}
	l.knobs("quota: {}\n")
}
