package kubelet

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusPatch is a strategic merge patch that touches nothing but the status, of this very pod.
func statusPatch(uid podID, status corev1.PodStatus) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": status})
}

// creatingStatus is what a pod shows between admission and start.
func (m *machine) creatingStatus(p *podRun, now time.Time) corev1.PodStatus {
	s := m.common(p, now)
	s.Phase = corev1.PodPending
	for _, c := range p.pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: new(bool),
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}})
	}
	s.Conditions = conditions(now, map[corev1.PodConditionType]string{
		corev1.PodReady: "ContainersNotReady", corev1.ContainersReady: "ContainersNotReady", corev1.PodReadyToStartContainers: "",
	})
	return s
}

// runningStatus is a pod whose containers run and are ready. Init containers have ended; sidecars among them run.
func (m *machine) runningStatus(p *podRun, now time.Time) corev1.PodStatus {
	s := m.common(p, now)
	s.Phase = corev1.PodRunning
	s.PodIP = p.ip
	if p.pod.Spec.HostNetwork {
		s.PodIP = m.address()
	}
	s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	for _, c := range p.pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			s.InitContainerStatuses = append(s.InitContainerStatuses, runs(p, c, now))
		} else {
			s.InitContainerStatuses = append(s.InitContainerStatuses, completed(p, runs(p, c, now), now))
		}
	}
	for _, c := range p.pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, runs(p, c, now))
	}
	missing := map[corev1.PodConditionType]string{}
	if !gatesOpen(p.pod) {
		missing[corev1.PodReady] = "ReadinessGatesNotReady"
	}
	s.Conditions = conditions(now, missing)
	if p.refused != nil {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred,
			Message: "Node didn't have enough resource", LastTransitionTime: metav1.NewTime(now)})
	}
	for _, c := range p.pod.Status.Conditions { // the gates themselves, which others write; said again unchanged
		if slices.Contains(p.pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: c.Type}) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	return s
}

// gatesOpen reports whether all readiness gates of the pod hold.
func gatesOpen(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == g.ConditionType && c.Status == corev1.ConditionTrue
		})
	})
}

// finalStatus is a pod whose containers have ended well.
func finalStatus(p *podRun, now time.Time) corev1.PodStatus {
	s := *p.last.DeepCopy()
	s.Phase = corev1.PodSucceeded
	for i, c := range s.InitContainerStatuses {
		s.InitContainerStatuses[i] = completed(p, c, now)
	}
	for i, c := range s.ContainerStatuses {
		s.ContainerStatuses[i] = completed(p, c, now)
	}
	s.Conditions = conditions(now, map[corev1.PodConditionType]string{
		corev1.PodReady: "PodCompleted", corev1.ContainersReady: "PodCompleted", corev1.PodReadyToStartContainers: "",
	})
	return s
}

func (m *machine) common(p *podRun, now time.Time) corev1.PodStatus {
	start := metav1.NewTime(now)
	if p.pod.Status.StartTime != nil {
		start = *p.pod.Status.StartTime
	}
	return corev1.PodStatus{HostIP: m.address(), HostIPs: []corev1.HostIP{{IP: m.address()}}, StartTime: &start}
}

// conditions are a kubelet's four; those named in missing are False for the given reason.
func conditions(now time.Time, missing map[corev1.PodConditionType]string) []corev1.PodCondition {
	var out []corev1.PodCondition
	for _, t := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		c := corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}
		if reason, ok := missing[t]; ok {
			c.Status, c.Reason = corev1.ConditionFalse, reason
		}
		out = append(out, c)
	}
	return out
}

func runs(p *podRun, c corev1.Container, now time.Time) corev1.ContainerStatus {
	started := true
	granted := p.granted(c)
	return corev1.ContainerStatus{
		AllocatedResources: granted.Requests, Resources: &granted,
		Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: fmt.Sprintf("lab://%s/%s", p.pod.UID, c.Name), Ready: true, Started: &started,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}},
	}
}

func completed(p *podRun, c corev1.ContainerStatus, now time.Time) corev1.ContainerStatus {
	if c.State.Terminated != nil {
		return c
	}
	from := now
	if c.State.Running != nil {
		from = c.State.Running.StartedAt.Time
	}
	c.Ready = len(p.pod.Spec.Containers) > 0 && isInit(p.pod, c.Name) // an init container that completed counts as ready
	c.Started = new(bool)
	c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", ContainerID: c.ContainerID,
		StartedAt: metav1.NewTime(from), FinishedAt: metav1.NewTime(now)}}
	return c
}

func isInit(pod *corev1.Pod, name string) bool {
	for _, c := range pod.Spec.InitContainers {
		if c.Name == name {
			return true
		}
	}
	return false
}
