package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// resize gives a running pod what its containers ask for now, when the machine has room for it; else the pod keeps what it has and its
// status says so. Source: kubelets of Kubernetes 1.33 and later, which answer in the status of the containers (resources,
// allocatedResources) and with the condition PodResizePending. Unlike them, this one looks again only when the pod changes.
func (m *machine) resize(p *podRun, now time.Time) {
	asked := podRequests(p.pod)
	same := equality.Semantic.DeepEqual(asked, p.requests)
	if p.step != running || same && p.refused == nil || !same && equality.Semantic.DeepEqual(asked, p.refused) {
		return
	}
	had := p.requests
	p.requests, p.refused = asked, nil
	if m.fits(p).reason != "" {
		p.requests, p.refused = had, asked
	} else {
		p.has = containers(p.pod)
	}
	p.gates, p.due = true, now
}

func containers(p *corev1.Pod) []corev1.Container {
	return slices.Concat(p.Spec.InitContainers, p.Spec.Containers)
}

// granted is what a container was given.
func (p *podRun) granted(c corev1.Container) corev1.ResourceRequirements {
	for _, have := range p.has {
		if have.Name == c.Name {
			return *have.Resources.DeepCopy()
		}
	}
	return *c.Resources.DeepCopy()
}
