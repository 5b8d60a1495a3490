package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

const (
	zoneKey = corev1.LabelTopologyZone
	hostKey = corev1.LabelHostname
)

// workload is a deployment of pods that are alike.
type workload struct {
	name string
	pods int
	cpu  string
	edit func(*corev1.PodSpec)
	ns   string // "" = default
	// group is a second label, for what looks at several workloads; "" = none.
	group string
	class string // makes it a StatefulSet whose pods each have a disk of this storage class; "" = a Deployment
}

func (w workload) namespace() string { return cmp.Or(w.ns, "default") }
func (w workload) labels() map[string]string {
	out := map[string]string{"app": w.name}
	if w.group != "" {
		out["group"] = w.group
	}
	return out
}
func (w workload) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: w.labels()}
}

func (w workload) template() corev1.PodTemplateSpec {
	now := int64(0)
	s := corev1.PodSpec{
		TerminationGracePeriodSeconds: &now,
		Containers: []corev1.Container{{Name: "main", Image: pause, Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(w.cpu), corev1.ResourceMemory: resource.MustParse("64Mi")},
		}}},
	}
	if w.edit != nil {
		w.edit(&s)
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: w.labels()}, Spec: s}
}

func (w workload) deployment() *appsv1.Deployment {
	n := int32(w.pods)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: w.name},
		Spec:       appsv1.DeploymentSpec{Replicas: &n, Selector: w.selector(), Template: w.template()},
	}
}

// statefulSet deletes its claims with itself, so that nothing is left of it.
func (w workload) statefulSet() *appsv1.StatefulSet {
	n := int32(w.pods)
	t := w.template()
	t.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: w.name},
		Spec: appsv1.StatefulSetSpec{Replicas: &n, Selector: w.selector(), Template: t, ServiceName: w.name,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*volumeClaim("data", &w.class, "")},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}},
	}
}

// object is what a person would apply.
func (w workload) object() client.Object {
	if w.class != "" {
		return w.statefulSet()
	}
	return w.deployment()
}

func (w workload) daemonSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: w.name},
		Spec:       appsv1.DaemonSetSpec{Selector: w.selector(), Template: w.template()},
	}
}

// deviceClaim asks for a device of a class that nobody offers.
func deviceClaim(name string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "any", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "example.com"}},
		}}},
	}
}

func (l *lab) create(objects ...client.Object) {
	l.t.Helper()
	for _, o := range objects {
		if err := l.Create(l.t.Context(), o); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) remove(objects ...client.Object) {
	l.t.Helper()
	for _, o := range objects {
		if err := l.Delete(l.t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			l.t.Fatal(err)
		}
	}
}

// land waits until the workloads' pods all run, and plays meanwhile. When they do not within d, it says of each kind of pod left
// over what the controller and the scheduler said of it last.
func (l *lab) land(d time.Duration, play func(), list ...workload) {
	l.t.Helper()
	began := time.Now()
	for {
		play()
		look := time.Now()
		done := true
		for _, w := range list {
			done = done && runningOf(l.podsOf(w), w.pods)
		}
		if done {
			l.t.Logf("all pods run after %.1f s on %d nodes", time.Since(began).Seconds(), len(l.nodes()))
			return
		}
		if time.Since(began) > d {
			l.t.Fatalf("after %v not all pods run:\n%s", d, l.leftOver(list))
		}
		time.Sleep(max(100*time.Millisecond, restAfter*time.Since(look)))
	}
}

// restAfter bounds what looking costs: of thousands of pods every look is megabytes, and the API server has others to serve.
const restAfter = 10

func (l *lab) leftOver(list []workload) string {
	said := map[string]string{}
	for _, e := range l.events() {
		by := cmp.Or(e.Source.Component, e.ReportingController)
		if e.InvolvedObject.Kind == "Pod" && e.Reason == "FailedScheduling" {
			said[e.InvolvedObject.Name+" "+by] = by + ": " + e.Message
		}
	}
	var out strings.Builder
	for _, w := range list {
		pods := l.podsOf(w)
		waiting := slices.DeleteFunc(slices.Clone(pods), podReady)
		if len(pods) == w.pods && len(waiting) == 0 {
			continue
		}
		fmt.Fprintf(&out, "%s: %d pods, want %d; %d of them wait\n", w.name, len(pods), w.pods, len(waiting))
		for _, p := range waiting[:min(1, len(waiting))] {
			fmt.Fprintf(&out, "  status %+v\n", p.Status)
			fmt.Fprintf(&out, "  %s on %q\n  %s\n  %s\n", p.Name, p.Spec.NodeName, said[p.Name+" karpenter"], said[p.Name+" default-scheduler"])
		}
	}
	return out.String()
}

// events lists what was said, the last last.
func (l *lab) events() []corev1.Event {
	events := list(l, &corev1.EventList{}).Items
	slices.SortStableFunc(events, func(a, b corev1.Event) int {
		return cmp.Or(a.LastTimestamp.Compare(b.LastTimestamp.Time), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	return events
}

// perDomain counts the workload's pods in each domain of the node label.
func (l *lab) perDomain(w workload, key string) map[string]int {
	l.t.Helper()
	domain := map[string]string{}
	for _, n := range l.nodes() {
		domain[n.Name] = n.Labels[key]
	}
	out := map[string]int{}
	for _, p := range l.podsOf(w) {
		out[domain[p.Spec.NodeName]]++
	}
	return out
}

// pool is a NodePool like that of the README, with room for everything the tests ask for.
func pool(name string, edit func(*karpv1.NodePool)) *karpv1.NodePool {
	in := func(key string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
		return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	p := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Template.Labels = map[string]string{"kubernetes.azure.com/ebpf-dataplane": "cilium"}
	s := &p.Spec.Template.Spec
	s.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
	s.StartupTaints = []corev1.Taint{{Key: "node.cilium.io/agent-not-ready", Value: "true", Effect: corev1.TaintEffectNoExecute}}
	s.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelArchStable, "amd64"), in(corev1.LabelOSStable, "linux"), in(karpv1.CapacityTypeLabelKey, "on-demand"),
		in("karpenter.azure.com/sku-family", "D"),
	}
	s.ExpireAfter = karpv1.MustParseNillableDuration("Never")
	p.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmpty
	p.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("0s")
	p.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "100%"}} // so that a scenario's nodes leave together
	if edit != nil {
		edit(p)
	}
	return p
}
