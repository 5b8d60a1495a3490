package story

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

const (
	coresKey  = "karpenter.azure.com/sku-cpu"
	dongle    = "example.com/dongle"
	pause     = "mcr.microsoft.com/oss/kubernetes/pause:3.6"
	gpuOfNode = "nvidia.com/gpu"
)

// cores lists the cores of the nodes that the workload's pods are on.
func (l *lab) cores(w workload) []int {
	var out []int
	for v := range l.perDomain(w, coresKey) {
		n, err := strconv.Atoi(v)
		if err != nil {
			l.t.Errorf("a node has %s=%q", coresKey, v)
		}
		out = append(out, n)
	}
	return out
}

func container(name, cpu string) corev1.Container {
	return corev1.Container{Name: name, Image: pause, Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}
}

// podScenarios are about what a pod asks for itself.
func podScenarios() []scenario {
	started := workload{name: "started", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) {
		s.InitContainers = []corev1.Container{container("unpack", "3")}
	}}
	always := corev1.ContainerRestartPolicyAlways
	helped := workload{name: "helped", pods: 1, cpu: "1", edit: func(s *corev1.PodSpec) {
		c := container("proxy", "2")
		c.RestartPolicy = &always
		s.InitContainers = []corev1.Container{c}
	}}
	sandbox := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "sandbox"}, Handler: "runc",
		Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2500m")}}}
	boxed := workload{name: "boxed", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) { s.RuntimeClassName = &sandbox.Name }}
	four := func(w workload) func(l *lab) string {
		return func(l *lab) string {
			if got := l.cores(w); len(got) != 1 || got[0] != 4 {
				return fmt.Sprintf("machines of %v cores, want one of four", got)
			}
			return ""
		}
	}
	return []scenario{
		{name: "what an init container asks for", workloads: []workload{started}, holds: four(started)},
		{name: "what a sidecar asks for", workloads: []workload{helped}, holds: four(helped)},
		{name: "what a sandbox costs", workloads: []workload{boxed}, also: []client.Object{sandbox}, holds: four(boxed)},
		portScenario("a port of the host", func(s *corev1.PodSpec) {
			s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
		}),
		portScenario("a sidecar's port of the host", func(s *corev1.PodSpec) {
			c := container("proxy", "50m")
			c.RestartPolicy, c.Ports = &always, []corev1.ContainerPort{{ContainerPort: 8081, HostPort: 8081}}
			s.InitContainers = []corev1.Container{c}
		}),
		resizeScenario(),
	}
}

// resizeScenario has a running pod that is given more in its place: what it asks for now counts, not what it was bought for, and so the
// next pod finds no room beside it.
func resizeScenario() scenario {
	const gate = "example.com/resized"
	onTwo := func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{coresKey: "2"} }
	grown := workload{name: "grown", pods: 1, cpu: "100m", edit: onTwo}
	beside := workload{name: "beside", pods: 1, cpu: "1", edit: func(s *corev1.PodSpec) {
		onTwo(s)
		s.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
	}}
	more := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1500m"}}}]}}`))
	open := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`))
	return scenario{
		name: "a running pod that grows", workloads: []workload{grown, beside},
		play: func(l *lab) {
			pods := l.podsOf(grown)
			if !runningOf(pods, 1) {
				return
			}
			if q := pods[0].Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]; q.MilliValue() != 1500 {
				if err := l.SubResource("resize").Patch(l.t.Context(), &pods[0], more); err != nil {
					l.t.Fatal(err)
				}
			}
			for _, p := range l.podsOf(beside) {
				if len(p.Spec.SchedulingGates) > 0 {
					if err := l.Patch(l.t.Context(), &p, open); err != nil {
						l.t.Fatal(err)
					}
				}
			}
		},
		holds: func(l *lab) string {
			if a, b := l.perDomain(grown, hostKey), l.perDomain(beside, hostKey); len(a) != 1 || len(b) != 1 || len(l.nodes()) != 2 {
				return fmt.Sprintf("grown on %v, beside on %v, %d nodes; want a node each", a, b, len(l.nodes()))
			}
			return ""
		},
	}
}

func portScenario(name string, edit func(*corev1.PodSpec)) scenario {
	port := workload{name: "port", pods: 3, cpu: "100m", edit: edit}
	return scenario{name: name, workloads: []workload{port}, holds: func(l *lab) string {
		if got := l.perDomain(port, hostKey); len(got) != 3 {
			return fmt.Sprintf("pods by host: %v, want three hosts", got)
		}
		return ""
	}}
}

// machineScenarios are about which machines a pod accepts.
func machineScenarios() []scenario {
	chosen := workload{name: "chosen", pods: 2, cpu: "500m", edit: func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{zoneKey: "westus3-1", "karpenter.azure.com/sku-version": "5"}
	}}
	either := workload{name: "either", pods: 2, cpu: "500m", edit: func(s *corev1.PodSpec) {
		s.Affinity = anyOf(corev1.NodeSelectorRequirement{Key: zoneKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"westus3-9"}},
			corev1.NodeSelectorRequirement{Key: zoneKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"westus3-3"}})
	}}
	many := workload{name: "many", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) {
		s.Affinity = anyOf(corev1.NodeSelectorRequirement{Key: coresKey, Operator: corev1.NodeSelectorOpGt, Values: []string{"7"}})
	}}
	rather := workload{name: "rather", pods: 2, cpu: "500m", edit: func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 50, Preference: inZones("westus3-2").NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]},
			{Weight: 100, Preference: inZones("westus3-9").NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]},
		}}}
	}}
	return []scenario{
		{name: "a chosen node", workloads: []workload{chosen}, holds: func(l *lab) string {
			return first(want("pods by zone", l.perDomain(chosen, zoneKey), map[string]int{"westus3-1": 2}),
				want("pods by version", l.perDomain(chosen, "karpenter.azure.com/sku-version"), map[string]int{"5": 2}))
		}},
		{name: "one of two terms", workloads: []workload{either}, holds: func(l *lab) string {
			return want("pods by zone", l.perDomain(either, zoneKey), map[string]int{"westus3-3": 2})
		}},
		{name: "more than seven cores", workloads: []workload{many}, holds: func(l *lab) string {
			if got := l.cores(many); len(got) != 1 || got[0] <= 7 {
				return fmt.Sprintf("a machine of %v cores", got)
			}
			return ""
		}},
		{name: "a wish for a zone, and one that nobody can grant", workloads: []workload{rather}, holds: func(l *lab) string {
			return want("pods by zone", l.perDomain(rather, zoneKey), map[string]int{"westus3-2": 2})
		}},
		tolerationScenario(), warmScenario(), gpuScenario(), dongleScenario(),
	}
}

func tolerationScenario() scenario {
	tainted := workload{name: "tainted", pods: 2, cpu: "500m", edit: func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: "x"}}
		toPool("team-x")(s)
	}}
	plain := workload{name: "plain", pods: 2, cpu: "500m"}
	return scenario{
		name: "taints keep others off", workloads: []workload{tainted, plain},
		also: []client.Object{pool("team-x", func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
		})},
		holds: func(l *lab) string {
			return first(want("tolerant pods by pool", l.perDomain(tainted, karpv1.NodePoolLabelKey), map[string]int{"team-x": 2}),
				want("others by pool", l.perDomain(plain, karpv1.NodePoolLabelKey), map[string]int{"open": 2}))
		},
	}
}

// warmScenario has a startup taint that somebody takes away when the machine is warm: until then the pods have a machine
// already and no second one is bought.
func warmScenario() scenario {
	taint := corev1.Taint{Key: "example.com/warming", Effect: corev1.TaintEffectNoSchedule}
	warm := workload{name: "warm", pods: 2, cpu: "500m", edit: toPool("warm")}
	return scenario{
		name: "startup taints are waited for", workloads: []workload{warm},
		also: []client.Object{pool("warm", func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.StartupTaints = append(p.Spec.Template.Spec.StartupTaints, taint)
		})},
		play: func(l *lab) {
			for _, n := range l.nodes() {
				if n.Labels[karpv1.NodeRegisteredLabelKey] != "true" {
					continue
				}
				for _, t := range n.Spec.Taints {
					if t.Key == taint.Key {
						l.try("kubectl", "taint", "node", n.Name, taint.Key+"-")
					}
				}
			}
		},
		holds: func(l *lab) string {
			return want("pods by pool", l.perDomain(warm, karpv1.NodePoolLabelKey), map[string]int{"warm": 2})
		},
	}
}

func gpuScenario() scenario {
	learn := workload{name: "learn", pods: 1, cpu: "1", edit: func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Limits = corev1.ResourceList{gpuOfNode: resource.MustParse("1")}
		s.Containers[0].Resources.Requests[gpuOfNode] = resource.MustParse("1")
	}}
	return scenario{
		name: "a graphics card", workloads: []workload{learn},
		also: []client.Object{pool("cards", func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Requirements[3].Values = []string{"N"} // the family
		})},
		holds: func(l *lab) string {
			for _, n := range l.nodes() {
				if q := n.Status.Allocatable[gpuOfNode]; q.Value() < 1 {
					return "the node has no graphics card"
				}
			}
			return want("pods by pool", l.perDomain(learn, karpv1.NodePoolLabelKey), map[string]int{"cards": 1})
		},
	}
}

// dongleScenario has a resource of which only an overlay knows that machines will have it.
func dongleScenario() scenario {
	locked := workload{name: "locked", pods: 2, cpu: "100m", edit: func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Limits = corev1.ResourceList{dongle: resource.MustParse("1")}
		s.Containers[0].Resources.Requests[dongle] = resource.MustParse("1")
	}}
	overlay := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": map[string]any{"name": "dongles"},
		"spec": map[string]any{"capacity": map[string]any{dongle: "1"}, "requirements": []any{
			map[string]any{"key": coresKey, "operator": "In", "values": []any{"2"}},
		}},
	}}
	return scenario{
		name: "a resource that an overlay promises", workloads: []workload{locked}, also: []client.Object{overlay},
		play: func(l *lab) { // the device plugin
			status, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": map[string]string{dongle: "1"}, "allocatable": map[string]string{dongle: "1"}}})
			if err != nil {
				l.t.Fatal(err)
			}
			for _, n := range l.nodes() {
				if _, has := n.Status.Allocatable[dongle]; !has {
					err := l.Status().Patch(l.t.Context(), &n, client.RawPatch(types.MergePatchType, status))
					if client.IgnoreNotFound(err) != nil {
						l.t.Error(err)
					}
				}
			}
		},
		holds: func(l *lab) string {
			if got := l.perDomain(locked, hostKey); len(got) != 2 {
				return fmt.Sprintf("pods by host: %v, want two hosts with one each", got)
			}
			return ""
		},
	}
}
