package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// refusal is why a kubelet does not take a pod that is bound to it; the zero value is none.
type refusal struct{ reason, message string }

// The reasons that depend on the node object, as a kubelet writes them.
const (
	reasonAffinity = "NodeAffinity"
	reasonTaint    = "TaintToleration"
)

// status is what a kubelet writes on a pod it does not take.
func (r refusal) status() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodFailed, Reason: r.reason, Message: "Pod was rejected: " + r.message}
}

// podRequests is what the pod takes of the machine: containers, init containers, sidecars and overhead.
func podRequests(pod *corev1.Pod) corev1.ResourceList {
	return podresource.PodRequests(pod, podresource.PodResourcesOptions{})
}

// admit checks a pod as a kubelet does before it runs it: resources against allocatable, node selector and required node
// affinity, and taints with effect NoExecute (other taints are the scheduler's business). It does not make room for
// critical pods by evicting others: the scheduler does that earlier.
func (m *machine) admit(p *podRun) refusal {
	if why := m.fits(p); why.reason != "" {
		return why
	}
	node := m.host.node(m.Name)
	if node == nil {
		node = m.node.object
	}
	return suits(p, node)
}

// suits checks what a kubelet reads from its node object.
func suits(p *podRun, node *corev1.Node) refusal {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(p.pod).Match(node); !ok || err != nil {
		return refusal{reasonAffinity, "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}
	}
	for _, t := range node.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute && !tolerated(p.pod, t) {
			return refusal{reasonTaint, "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"}
		}
	}
	return refusal{}
}

// tolerated reports whether one of the pod's tolerations matches the taint.
func tolerated(pod *corev1.Pod, t corev1.Taint) bool {
	for _, tol := range pod.Spec.Tolerations {
		effect := tol.Effect == "" || tol.Effect == t.Effect
		key := tol.Key == t.Key || tol.Key == "" && tol.Operator == corev1.TolerationOpExists
		if effect && key && (tol.Operator == corev1.TolerationOpExists || tol.Value == t.Value) {
			return true
		}
	}
	return false
}

// fits checks the pod count, then every resource in a fixed order. Extended resources that the machine does not have
// are not counted, as in a kubelet, which leaves them to its device plugins.
func (m *machine) fits(p *podRun) refusal {
	used := corev1.ResourceList{}
	count := int64(0)
	for _, o := range m.pods {
		if o == p || !o.active() {
			continue
		}
		count++
		for name, q := range o.requests {
			sum := used[name]
			sum.Add(q)
			used[name] = sum
		}
	}
	if pods := m.alloc[corev1.ResourcePods]; count+1 > pods.Value() {
		return short(corev1.ResourcePods, 1, count, pods.Value())
	}
	names := append([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, sortedKeys(p.requests)...)
	for _, name := range names {
		have, known := m.alloc[name]
		want, sum := p.requests[name], used[name]
		left := have.DeepCopy()
		left.Sub(sum)
		if !known || want.Sign() <= 0 || want.Cmp(left) <= 0 {
			continue
		}
		if name == corev1.ResourceCPU {
			return short(name, want.MilliValue(), sum.MilliValue(), have.MilliValue())
		}
		return short(name, want.Value(), sum.Value(), have.Value())
	}
	return refusal{}
}

func short(name corev1.ResourceName, want, used, have int64) refusal {
	return refusal{"OutOf" + string(name),
		fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, want, used, have)}
}
