package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-aks/karpenter/model"
)

// Pod writes a pod with one container that asks for everything the pod asks for.
func Pod(p model.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), Labels: p.Labels,
			CreationTimestamp: metav1.NewTime(p.Created)},
		Spec: corev1.PodSpec{
			NodeName: p.Node, NodeSelector: p.NodeSelector, Priority: new(p.Priority), SchedulerName: corev1.DefaultSchedulerName,
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "main", Image: "main"}},
			Affinity:      affinity(p),
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if p.Node == "" {
		out.Status.Phase = corev1.PodPending
		out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	if p.StatefulSet {
		out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: p.Name, UID: "statefulset", Controller: new(true)}}
	}
	if p.DaemonSet {
		out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: p.Name, UID: "daemonset", Controller: new(true)}}
	}
	if p.DoNotDisrupt != "" {
		out.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": p.DoNotDisrupt}
	}
	if p.Deleting() {
		out.DeletionTimestamp = &metav1.Time{Time: p.DeletedAt}
		out.DeletionGracePeriodSeconds = new(p.GraceSeconds)
	}
	main := &out.Spec.Containers[0]
	main.Resources.Requests = Resources(p.Requests.With(model.ResourcePods, 0))
	for _, h := range p.HostPorts {
		main.Ports = append(main.Ports, corev1.ContainerPort{HostIP: h.IP, HostPort: h.Port, ContainerPort: h.Port, Protocol: corev1.Protocol(h.Protocol)})
	}
	for _, t := range p.Tolerations {
		out.Spec.Tolerations = append(out.Spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOperator(t.Op), Value: t.Value,
			Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.Seconds})
	}
	for _, s := range p.Spread {
		out.Spec.TopologySpreadConstraints = append(out.Spec.TopologySpreadConstraints, spread(s))
	}
	for _, v := range p.Volumes {
		out.Spec.Volumes = append(out.Spec.Volumes, corev1.Volume{Name: v.ID, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.ID}}})
	}
	return out
}

func spread(s model.Spread) corev1.TopologySpreadConstraint {
	out := corev1.TopologySpreadConstraint{TopologyKey: s.Key, MaxSkew: s.MaxSkew, LabelSelector: Selector(s.Selector),
		WhenUnsatisfiable: corev1.ScheduleAnyway, NodeAffinityPolicy: policy(s.HonorAffinity), NodeTaintsPolicy: policy(s.HonorTaints)}
	if s.Hard {
		out.WhenUnsatisfiable = corev1.DoNotSchedule
	}
	if s.MinDomains > 0 {
		out.MinDomains = new(s.MinDomains)
	}
	return out
}

func policy(honor bool) *corev1.NodeInclusionPolicy {
	if honor {
		return new(corev1.NodeInclusionPolicyHonor)
	}
	return new(corev1.NodeInclusionPolicyIgnore)
}

func affinity(p model.Pod) *corev1.Affinity {
	node, near, far := &corev1.NodeAffinity{}, &corev1.PodAffinity{}, &corev1.PodAntiAffinity{}
	node.RequiredDuringSchedulingIgnoredDuringExecution = Terms(p.Affinity)
	for _, t := range p.PodAffinity {
		near.RequiredDuringSchedulingIgnoredDuringExecution = append(near.RequiredDuringSchedulingIgnoredDuringExecution, podTerm(t))
	}
	for _, t := range p.PodAntiAffinity {
		far.RequiredDuringSchedulingIgnoredDuringExecution = append(far.RequiredDuringSchedulingIgnoredDuringExecution, podTerm(t))
	}
	for _, w := range p.Prefers {
		switch {
		case w.Pod == nil:
			node.PreferredDuringSchedulingIgnoredDuringExecution = append(node.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: w.Weight, Preference: Term(w.Node)})
		case w.Anti:
			far.PreferredDuringSchedulingIgnoredDuringExecution = append(far.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.WeightedPodAffinityTerm{Weight: w.Weight, PodAffinityTerm: podTerm(*w.Pod)})
		default:
			near.PreferredDuringSchedulingIgnoredDuringExecution = append(near.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.WeightedPodAffinityTerm{Weight: w.Weight, PodAffinityTerm: podTerm(*w.Pod)})
		}
	}
	out := &corev1.Affinity{}
	if node.RequiredDuringSchedulingIgnoredDuringExecution != nil || node.PreferredDuringSchedulingIgnoredDuringExecution != nil {
		out.NodeAffinity = node
	}
	if near.RequiredDuringSchedulingIgnoredDuringExecution != nil || near.PreferredDuringSchedulingIgnoredDuringExecution != nil {
		out.PodAffinity = near
	}
	if far.RequiredDuringSchedulingIgnoredDuringExecution != nil || far.PreferredDuringSchedulingIgnoredDuringExecution != nil {
		out.PodAntiAffinity = far
	}
	if *out == (corev1.Affinity{}) {
		return nil
	}
	return out
}

func podTerm(t model.PodTerm) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: t.Key, LabelSelector: Selector(t.Selector), Namespaces: t.Namespaces,
		NamespaceSelector: Selector(t.NamespaceSelector)}
}
