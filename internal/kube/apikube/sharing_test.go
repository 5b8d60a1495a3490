package apikube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/model"
)

// amounts are written in many ways: some equal, some fractions, some too large for anything, some below zero.
var amounts = []string{
	"0", "1m", "100m", "250m", "1", "1000m", "1500m", "1.5", "100u", "1n", "1Ki", "64Mi", "1e3", "-1", "8Ei", "9223372036854775807", "1Pi", "2P",
	"1e999999", "0e999999", "-1e999999",
}

var resourceNames = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods, "nvidia.com/gpu", "hugepages-2Mi",
}

// draws draws parts of pods. Nothing is the most likely, so that pods of one template are often alike.
type draws struct{ *rapid.T }

func (d draws) one(n int) bool { return rapid.IntRange(1, n).Draw(d.T, "one of") == n }

func (d draws) text(of ...string) string { return rapid.SampledFrom(of).Draw(d.T, "text") }

func (d draws) list() corev1.ResourceList {
	if d.one(3) {
		return nil
	}
	out := corev1.ResourceList{}
	for range rapid.IntRange(0, 3).Draw(d.T, "resources") {
		out[rapid.SampledFrom(resourceNames).Draw(d.T, "resource")] = resource.MustParse(d.text(amounts...))
	}
	return out
}

func (d draws) requirements() corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: d.list()}
	if d.one(3) {
		r.Limits = d.list()
	}
	return r
}

func (d draws) containers(most int) (out []corev1.Container) {
	for range rapid.IntRange(0, most).Draw(d.T, "containers") {
		c := corev1.Container{Name: d.text("a", "b"), Resources: d.requirements()}
		if d.one(4) {
			always := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		if d.one(6) {
			c.Ports = []corev1.ContainerPort{{HostPort: 80, HostIP: d.text("", "10.0.0.1"), Protocol: corev1.ProtocolUDP}}
		}
		out = append(out, c)
	}
	return out
}

func (d draws) statuses() (out []corev1.ContainerStatus) {
	if !d.one(4) {
		return nil
	}
	c := corev1.ContainerStatus{Name: d.text("a", "b")}
	if d.one(2) {
		c.AllocatedResources = d.list()
	}
	if d.one(2) {
		r := d.requirements()
		c.Resources = &r
	}
	return append(out, c)
}

func (d draws) labels() map[string]string {
	if d.one(4) {
		return nil
	}
	return map[string]string{"app": d.text("web", "db"), "pod-template-hash": d.text("1", "2")}
}

func (d draws) affinity() *corev1.Affinity {
	if !d.one(4) {
		return nil
	}
	term := corev1.PodAffinityTerm{TopologyKey: d.text("z", "h"), LabelSelector: &metav1.LabelSelector{MatchLabels: d.labels()}}
	if d.one(2) {
		term.MatchLabelKeys = []string{"app"}
	}
	out := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
	if d.one(2) {
		out.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{term}
	} else {
		out.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{
			{Weight: 1, PodAffinityTerm: term},
		}
	}
	return out
}

// pod draws a pod of one of two owners, all of which claim to be of one template.
func (d draws) pod() *corev1.Pod {
	kind := d.text("ReplicaSet", "DaemonSet")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.text("x", "y"), Name: d.text("p", "q"), Labels: d.labels(),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: d.text("web", "db"), UID: "u"}},
	}}
	s := &p.Spec
	s.Containers, s.InitContainers, s.Affinity = d.containers(3), d.containers(1), d.affinity()
	if d.one(4) {
		s.Overhead = d.list()
	}
	if d.one(4) {
		r := d.requirements()
		s.Resources = &r
	}
	if d.one(4) {
		s.NodeSelector = d.labels()
	}
	if d.one(4) {
		s.Priority = new(int32(rapid.IntRange(0, 1).Draw(d.T, "priority")))
	}
	if d.one(4) {
		s.TerminationGracePeriodSeconds = new(int64(rapid.IntRange(0, 1).Draw(d.T, "grace")))
	}
	if d.one(4) {
		s.Tolerations = []corev1.Toleration{{Key: d.text("k", "l"), Value: d.text("", "v"), Effect: corev1.TaintEffectNoSchedule}}
	}
	if d.one(4) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			TopologyKey: d.text("z", "h"), MaxSkew: 1, LabelSelector: &metav1.LabelSelector{MatchLabels: d.labels()},
		}}
		if d.one(2) {
			s.TopologySpreadConstraints[0].MatchLabelKeys = []string{"app"}
		}
	}
	if d.one(4) {
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	}
	s.NodeName = d.text("", "n")
	t := &p.Status
	t.ContainerStatuses, t.InitContainerStatuses = d.statuses(), d.statuses()
	if d.one(6) {
		t.AllocatedResources = d.list()
	}
	if d.one(6) {
		r := d.requirements()
		t.Resources = &r
	}
	if d.one(3) {
		t.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: d.text(corev1.PodReasonInfeasible, corev1.PodReasonDeferred)}}
	}
	return p
}

// TestPodsAmongOthersAreReadAsAlone: of pods that come one after the other, some of one owner and label alike in all but one thing, each is read
// as if it came alone.
func TestPodsAmongOthersAreReadAsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n interner
		d := draws{t}
		var seen []*corev1.Pod
		for range rapid.IntRange(1, 12).Draw(t, "pods") {
			p := d.pod()
			if len(seen) > 0 && d.one(2) { // like another, but for a few parts
				other := rapid.SampledFrom(seen).Draw(t, "like").DeepCopy()
				part := rapid.IntRange(0, 9).Draw(t, "part")
				alter(other, p, part)
				p = other
			}
			seen = append(seen, p)
			got, want := n.pod(p.DeepCopy()), decodePod(p.DeepCopy())
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Fatalf("a pod among others (-alone +among others):\n%s", diff)
			}
		}
	})
}

// alter gives a pod one part of another.
func alter(p, other *corev1.Pod, part int) {
	switch part {
	case 0:
		p.Spec.Containers = other.Spec.Containers
	case 1:
		p.Spec.InitContainers = other.Spec.InitContainers
	case 2:
		p.Spec.Overhead = other.Spec.Overhead
	case 3:
		p.Spec.Resources = other.Spec.Resources
	case 4:
		p.Status = other.Status
	case 5:
		p.Labels = other.Labels
	case 6:
		p.Namespace, p.Name = other.Namespace, other.Name
	case 7:
		p.Spec.Affinity, p.Spec.TopologySpreadConstraints = other.Spec.Affinity, other.Spec.TopologySpreadConstraints
	case 8:
		p.Spec.Tolerations, p.Spec.NodeSelector = other.Spec.Tolerations, other.Spec.NodeSelector
	default:
		p.Spec.Priority, p.Spec.NodeName, p.Spec.Volumes = other.Spec.Priority, other.Spec.NodeName, other.Spec.Volumes
		p.Spec.TerminationGracePeriodSeconds = other.Spec.TerminationGracePeriodSeconds
	}
}

// TestRequestsAreThoseOfKubernetes: what is added up here is what Kubernetes' own code says, which all but simple pods are left to.
func TestRequestsAreThoseOfKubernetes(t *testing.T) {
	simply := 0
	rapid.Check(t, func(t *rapid.T) {
		p := draws{t}.pod()
		if rapid.Bool().Draw(t, "simple") {
			*p = corev1.Pod{Spec: corev1.PodSpec{Containers: p.Spec.Containers}}
		}
		like := p.DeepCopy()
		tamePod(like)
		want := asked(resourcehelper.PodRequests(like, resourcehelper.PodResourcesOptions{
			UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
		}))
		want.Pods = 1
		_, ok := simpleSum(p, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests })
		if ok {
			simply++
		}
		if diff := cmp.Diff(want, podRequests(p)); diff != "" {
			t.Fatalf("requests (-Kubernetes +here):\n%s", diff)
		}
		sum := asked(resourcehelper.PodLimits(like, resourcehelper.PodResourcesOptions{}))
		limits := model.Limits{CPU: sum.CPU, Memory: sum.Memory}
		if got := podLimits(p); got == nil && limits != (model.Limits{}) || got != nil && *got != limits {
			t.Fatalf("limits %+v, want %+v", got, limits)
		}
	})
	if simply == 0 {
		t.Error("no pod was simple: nothing was compared")
	}
}
