package story

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

func requirement(key, operator string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
	return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOperator(operator), Values: values}
}

// poolScenarios are about what pools allow.
func poolScenarios() []scenario {
	return []scenario{boundsScenario(), choiceScenario(), weightScenario(), countScenario(), spotScenario(), daemonScenario()}
}

// boundsScenario has a pool whose machines are neither too small nor too large.
func boundsScenario() scenario {
	middle := workload{name: "middle", pods: 5, cpu: "1", edit: toPool("middle")}
	return scenario{
		name: "pools with bounds of size", workloads: []workload{middle},
		also: []client.Object{pool("middle", func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements,
				requirement(coresKey, "Gt", "3"), requirement(coresKey, "Lt", "16"),
				requirement("karpenter.azure.com/sku-memory", "Gte", "32768"), requirement("karpenter.azure.com/sku-memory", "Lte", "32768"))
		})},
		holds: func(l *lab) string {
			for _, n := range l.cores(middle) {
				if n <= 3 || n >= 16 {
					return fmt.Sprintf("a machine of %d cores, want 4 to 15", n)
				}
			}
			for v := range l.perDomain(middle, "karpenter.azure.com/sku-memory") {
				if v != "32768" {
					return "a machine of " + v + " MiB"
				}
			}
			return ""
		},
	}
}

// choiceScenario has a pool that wants at least so many sizes to choose from.
func choiceScenario() scenario {
	five := 5
	picky := workload{name: "picky", pods: 2, cpu: "500m", edit: toPool("choice")}
	return scenario{
		name: "pools that keep a choice of sizes", workloads: []workload{picky},
		also: []client.Object{pool("choice", func(p *karpv1.NodePool) {
			r := requirement(corev1.LabelInstanceTypeStable, "Exists")
			r.MinValues = &five
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, r)
		})},
		holds: func(l *lab) string {
			for _, c := range l.claims() {
				for _, r := range c.Spec.Requirements {
					if r.Key == corev1.LabelInstanceTypeStable && len(r.Values) < five {
						return fmt.Sprintf("claim %s chooses from %v only", c.Name, r.Values)
					}
				}
			}
			return want("pods by pool", l.perDomain(picky, karpv1.NodePoolLabelKey), map[string]int{"choice": 2})
		},
	}
}

// weightScenario has a heavier pool that is dearer.
func weightScenario() scenario {
	weight := int32(50)
	heavy := workload{name: "heavy", pods: 2, cpu: "500m"}
	return scenario{
		name: "the heavier pool is asked first", workloads: []workload{heavy},
		also: []client.Object{pool("heavier", func(p *karpv1.NodePool) {
			p.Spec.Weight = &weight
			p.Spec.Template.Spec.Requirements[3].Values = []string{"E"}
		})},
		holds: func(l *lab) string {
			return want("pods by pool", l.perDomain(heavy, karpv1.NodePoolLabelKey), map[string]int{"heavier": 2})
		},
	}
}

// countScenario has a heavier pool that may have one node; the rest goes to the other.
func countScenario() scenario {
	weight := int32(50)
	rest := workload{name: "rest", pods: 3, cpu: "1500m"}
	return scenario{
		name: "limits of cores and of nodes", workloads: []workload{rest},
		also: []client.Object{pool("few", func(p *karpv1.NodePool) {
			p.Spec.Weight = &weight
			p.Spec.Limits = karpv1.Limits{"nodes": resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("2")}
		})},
		holds: func(l *lab) string {
			return want("pods by pool", l.perDomain(rest, karpv1.NodePoolLabelKey), map[string]int{"few": 1, "open": 2})
		},
	}
}

func spotScenario() scenario {
	cheap := workload{name: "cheap", pods: 2, cpu: "500m", edit: toPool("mixed")}
	steady := workload{name: "steady", pods: 2, cpu: "500m", edit: func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{karpv1.NodePoolLabelKey: "mixed", karpv1.CapacityTypeLabelKey: karpv1.CapacityTypeOnDemand}
	}}
	return scenario{
		name: "spot, but not for those who want it steady", workloads: []workload{cheap}, next: []workload{steady},
		also: []client.Object{pool("mixed", func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Requirements[2].Values = []string{"spot", "on-demand"}
		})},
		holds: func(l *lab) string {
			for _, r := range l.resources() {
				if strings.HasSuffix(r.Type, "virtualMachines") && r.Priority != "Spot" && r.Priority != "Regular" && r.Priority != "" {
					return fmt.Sprintf("machine %s has priority %q", r.Name, r.Priority)
				}
			}
			return first(want("the cheap", l.perDomain(cheap, karpv1.CapacityTypeLabelKey), map[string]int{"spot": 2}),
				want("the steady", l.perDomain(steady, karpv1.CapacityTypeLabelKey), map[string]int{"on-demand": 2}))
		},
	}
}

// daemonScenario has a DaemonSet that runs on machines of one zone only and takes much of them.
func daemonScenario() scenario {
	agent := workload{name: "agent", cpu: "1", edit: func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{zoneKey: "westus3-1"}
		s.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}}
	beside := workload{name: "beside", pods: 1, cpu: "1500m", edit: func(s *corev1.PodSpec) { s.Affinity = inZones("westus3-1") }}
	apart := workload{name: "elsewhere", pods: 1, cpu: "1500m", edit: func(s *corev1.PodSpec) { s.Affinity = inZones("westus3-2") }}
	return scenario{
		name: "DaemonSets take their share where they run", workloads: []workload{beside, apart}, also: []client.Object{agent.daemonSet()},
		holds: func(l *lab) string {
			near, far := l.cores(beside), l.cores(apart)
			if len(near) != 1 || near[0] != 4 || len(far) != 1 || far[0] != 2 {
				return fmt.Sprintf("cores beside the daemon %v, want 4; elsewhere %v, want 2", near, far)
			}
			l.until("the daemon runs", constraintPatience, func() bool { return runningOf(l.podsOf(agent), 1) })
			return ""
		},
	}
}

// waitScenarios are about pods that stay behind, or are not ours.
func waitScenarios() []scenario {
	gate := workload{name: "gated", pods: 2, cpu: "500m", edit: func(s *corev1.PodSpec) {
		s.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/later"}}
	}}
	beside := workload{name: "free", pods: 1, cpu: "500m"}
	claims := workload{name: "claims", pods: 1, cpu: "500m", edit: func(s *corev1.PodSpec) {
		name := "one"
		s.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
		s.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "device"}}
	}}
	lost := workload{name: "lost", pods: 1, cpu: "500m", edit: func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"disk": "ssd"} }}
	oneNode := func(l *lab) string {
		if n := len(l.claims()); n != 1 {
			return fmt.Sprintf("%d claims, want one, for the pod that needs it", n)
		}
		return ""
	}
	return []scenario{
		{name: "gated pods are left alone", next: []workload{beside}, waits: []waiter{{workload: gate, left: 2}}, holds: oneNode},
		{name: "devices by claim are not ours yet", next: []workload{beside}, also: []client.Object{deviceClaim("one")},
			waits: []waiter{{workload: claims, left: 1, says: "resource-claims: "}}, holds: oneNode},
		{name: "each pool says why not", next: []workload{beside}, also: []client.Object{pool("second", nil)},
			waits: []waiter{{workload: lost, left: 1, says: `nodepool "second": node-selector: `}},
			holds: func(l *lab) string { return first(oneNode(l), l.saysTheSame(lost)) }},
		priorityScenario(), preemptionScenario(),
	}
}

// saysTheSame dumps the cluster as the documentation says and compares what simulate says of the pod that waits with what the
// controller said.
func (l *lab) saysTheSame(w workload) string {
	dump := filepath.Join(l.t.TempDir(), "dump.yaml")
	text := l.do("kubectl", "get", "nodes,pods,daemonsets,nodepools,nodeclaims,aksnodeclasses,pdb", "-A", "-o", "yaml")
	if err := os.WriteFile(dump, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "karpenter"), "simulate", dump, "--location", location).CombinedOutput()
	if err != nil {
		l.t.Fatalf("karpenter simulate: %v\n%s", err, out)
	}
	for _, e := range l.events() {
		if e.Source.Component != "karpenter" || !strings.HasPrefix(e.InvolvedObject.Name, w.name+"-") {
			continue
		}
		for reason := range strings.SplitSeq(e.Message, "; ") {
			_, reason, _ = strings.Cut(reason, "nodepool ")
			name, reason, _ := strings.Cut(reason, ": ")
			reason, _, _ = strings.Cut(reason, " (")
			if said := fmt.Sprintf("pool %s: %s", strings.Trim(name, `"`), reason); !strings.Contains(string(out), said) {
				return fmt.Sprintf("the controller said %q of the pod, simulate says\n%s", said, out)
			}
		}
		return ""
	}
	return "the controller said nothing of the pod"
}

func priority(name string, value int32) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
}

// priorityScenario has limits that do not suffice for all.
func priorityScenario() scenario {
	important := workload{name: "important", pods: 2, cpu: "1500m", edit: func(s *corev1.PodSpec) {
		toPool("short")(s)
		s.PriorityClassName = "important"
	}}
	common := workload{name: "common", pods: 2, cpu: "1500m", edit: toPool("short")}
	return scenario{
		name: "important pods come first when limits are short", next: []workload{important},
		waits: []waiter{{workload: common, left: 2, says: "limits: "}},
		also: []client.Object{priority("important", 1000), pool("short", func(p *karpv1.NodePool) {
			p.Spec.Limits = karpv1.Limits{corev1.ResourceCPU: resource.MustParse("4")}
		})},
		holds: always,
	}
}

// preemptionScenario has a pod for which kube-scheduler makes room itself: bought is only for the pod that had to go.
func preemptionScenario() scenario {
	small := workload{name: "small", pods: 1, cpu: "1500m"}
	urgent := workload{name: "urgent", pods: 1, cpu: "1500m", edit: func(s *corev1.PodSpec) { s.PriorityClassName = "urgent" }}
	return scenario{
		name: "a pod that takes another's place gets no machine of its own", workloads: []workload{small}, next: []workload{urgent},
		also: []client.Object{priority("urgent", 1000)},
		holds: func(l *lab) string {
			if n := len(l.claims()); n != 2 {
				return fmt.Sprintf("%d claims, want two", n)
			}
			return ""
		},
	}
}
