package apikube

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// Annotations that the rest of Kubernetes gives meaning to.
const (
	annotationMirror       = "kubernetes.io/config.mirror"
	annotationDeletionCost = "controller.kubernetes.io/pod-deletion-cost"
)

// How a DaemonSet's controller finds the pods of the present template (IsPodUpdated in Kubernetes' pkg/controller/daemon/util):
// the API server counts templates in the annotation, the controller writes the number onto the pods that it makes.
const (
	annotationTemplate = appsv1.DeprecatedTemplateGeneration
	labelTemplate      = "pod-template-generation"
)

// decodePod reads what deciders need of a pod.
func decodePod(p *corev1.Pod) model.Pod {
	out := decodeShape(p)
	out.Labels = maps.Clone(p.Labels)
	identify(&out, p)
	return out
}

// decodeShape reads what all pods of one template have in common. What it reads of the pod, keyWriter.shape writes.
func decodeShape(p *corev1.Pod) model.Pod {
	out := decodePodSpec(&p.Spec)
	out.Requests = podRequests(p)
	out.Limits = podLimits(p)
	out.Namespace, out.Labels = p.Namespace, p.Labels
	constrain(&out, &p.Spec)
	out.Labels = nil
	return out
}

// identify reads what is the pod's own, but for the labels.
func identify(out *model.Pod, p *corev1.Pod) {
	out.Namespace, out.Name, out.UID = p.Namespace, p.Name, string(p.UID)
	out.Node = p.Spec.NodeName
	out.Created, out.Started = when(&p.CreationTimestamp), when(p.Status.StartTime)
	out.VolumeClaims = volumeClaims(p.Name, &p.Spec)
	out.Phase = phase(p.Status.Phase)
	out.Terminal = p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	out.Nominated = p.Status.NominatedNodeName
	out.DoNotDisrupt = p.Annotations[model.AnnotationDoNotDisrupt]
	if text, ok := p.Annotations[annotationDeletionCost]; ok {
		if cost, err := strconv.ParseInt(text, 10, 32); err == nil {
			out.DeletionCost = int32(cost)
		}
	}
	_, out.Mirror = p.Annotations[annotationMirror]
	if len(p.OwnerReferences) > 0 {
		out.Owner = ownerPath(p.Namespace, &p.OwnerReferences[0])
	}
	for _, o := range p.OwnerReferences {
		out.StatefulSet = out.StatefulSet || o.Kind == "StatefulSet" && o.APIVersion == appsv1.SchemeGroupVersion.String()
		if o.Kind == "DaemonSet" && o.APIVersion == appsv1.SchemeGroupVersion.String() {
			out.DaemonSet = true
			if generation := p.Labels[labelTemplate]; generation != "" {
				out.Revision = o.Name + "/" + generation
			}
		}
	}
	for i := range p.Status.Conditions {
		switch c := &p.Status.Conditions[i]; c.Type {
		case corev1.PodScheduled:
			out.Unschedulable = c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		case corev1.PodReady:
			out.PodReady = c.Status == corev1.ConditionTrue
		}
	}
	if p.DeletionTimestamp != nil {
		out.DeletedAt = when(p.DeletionTimestamp) // for pods the API has the end of the grace here
		if p.DeletionGracePeriodSeconds != nil {
			out.GraceSeconds = *p.DeletionGracePeriodSeconds
		}
	}
}

// ownerPath is where the API server would have the owner of a pod, by the rule of thumb that the plural of a kind is the kind with
// an s: that is how karpenter_pods_state names owners. Nodes, which own static pods, are in no namespace, and stand in one there, too.
func ownerPath(namespace string, o *metav1.OwnerReference) string {
	return "/apis/" + o.APIVersion + "/namespaces/" + namespace + "/" + strings.ToLower(o.Kind) + "s/" + o.Name
}

// decodePodSpec reads what a pod and a template have in common.
func decodePodSpec(s *corev1.PodSpec) model.Pod {
	out := model.Pod{
		GraceSeconds: corev1.DefaultTerminationGracePeriodSeconds,
		Gated:        len(s.SchedulingGates) > 0,
		NodeSelector: maps.Clone(s.NodeSelector),
		Affinity:     affinity(s.Affinity),
		Tolerations:  tolerations(s.Tolerations),
		Critical:     s.PriorityClassName == "system-cluster-critical" || s.PriorityClassName == "system-node-critical",
		HostPorts:    hostPorts(s),
		Needs:        needs(s),
	}
	if s.TerminationGracePeriodSeconds != nil {
		out.GraceSeconds = *s.TerminationGracePeriodSeconds
	}
	if s.Priority != nil {
		out.Priority = *s.Priority
	}
	return out
}

func phase(p corev1.PodPhase) model.Phase {
	switch p {
	case "":
		return 0
	case corev1.PodPending:
		return model.PodPending
	case corev1.PodRunning:
		return model.PodRunning
	case corev1.PodSucceeded:
		return model.PodSucceeded
	case corev1.PodFailed:
		return model.PodFailed
	}
	return model.PodUnknown
}

// affinity reads the OR-ed terms of the required node affinity. Fields (matchFields) are not in them: see needs.
func affinity(a *corev1.Affinity) []model.Term {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	out := make([]model.Term, 0, len(terms))
	for _, t := range terms {
		out = append(out, term(t))
	}
	return out
}

func tolerations(list []corev1.Toleration) []model.Toleration {
	var out []model.Toleration
	for _, t := range list {
		out = append(out, model.Toleration{
			Key: t.Key, Op: string(t.Operator), Value: t.Value, Effect: model.Effect(t.Effect), Seconds: clone(t.TolerationSeconds),
		})
	}
	return out
}

// needs lists what the pod requires that nobody can decide here, in the order of model's reasons. Whether its volumes are
// among it, the mirror says, which knows their claims.
func needs(s *corev1.PodSpec) []model.Why {
	var out []model.Why
	if len(s.ResourceClaims) > 0 {
		out = append(out, model.WhyResourceClaims)
	}
	if byField(s.Affinity) {
		out = append(out, model.WhyMatchFields)
	}
	return out
}

func byField(a *corev1.Affinity) bool {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	return slices.ContainsFunc(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms,
		func(t corev1.NodeSelectorTerm) bool { return len(t.MatchFields) > 0 })
}

// volumeClaims names the claims that the pod mounts. A generic ephemeral volume's claim is named after pod and volume.
func volumeClaims(pod string, s *corev1.PodSpec) []string {
	var out []string
	for i := range s.Volumes {
		switch v := &s.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod+"-"+v.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// decodeDaemon reads a DaemonSet's template as the pod it would make: with limits as requests where there are none, and
// with the tolerations that the DaemonSet controller adds.
func decodeDaemon(d *appsv1.DaemonSet) model.Daemon {
	spec := filled(&d.Spec.Template.Spec)
	pod := decodePodSpec(spec)
	pod.Namespace, pod.Name = d.Namespace, d.Name
	pod.Labels = maps.Clone(d.Spec.Template.Labels)
	constrain(&pod, spec)
	pod.DaemonSet = true
	if generation := d.Annotations[annotationTemplate]; generation != "" {
		pod.Revision = d.Name + "/" + generation
	}
	pod.DoNotDisrupt = d.Spec.Template.Annotations[model.AnnotationDoNotDisrupt]
	pod.Requests = podRequests(&corev1.Pod{Spec: *spec})
	for _, t := range []struct {
		key    string
		effect model.Effect
		only   bool // only for pods on the host's network
	}{
		{corev1.TaintNodeNotReady, model.NoExecute, false},
		{corev1.TaintNodeUnreachable, model.NoExecute, false},
		{corev1.TaintNodeDiskPressure, model.NoSchedule, false},
		{corev1.TaintNodeMemoryPressure, model.NoSchedule, false},
		{corev1.TaintNodePIDPressure, model.NoSchedule, false},
		{corev1.TaintNodeUnschedulable, model.NoSchedule, false},
		{corev1.TaintNodeNetworkUnavailable, model.NoSchedule, true},
	} {
		if !t.only || spec.HostNetwork {
			pod.Tolerations = append(pod.Tolerations, model.Toleration{Key: t.key, Op: "Exists", Effect: t.effect})
		}
	}
	return model.Daemon{Namespace: d.Namespace, Name: d.Name, Pod: pod}
}

// fillRequests does what the API server does to pods, but not to templates: a limit without a request is one.
func fillRequests(r *corev1.ResourceRequirements) {
	for name, q := range r.Limits {
		if _, ok := r.Requests[name]; ok {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = q
	}
}

// fillHostPorts does the same for ports: on the host's network, a container's port is the host's.
func fillHostPorts(list []corev1.Container) {
	for _, c := range list {
		for i := range c.Ports {
			if c.Ports[i].HostPort == 0 {
				c.Ports[i].HostPort = c.Ports[i].ContainerPort
			}
		}
	}
}
