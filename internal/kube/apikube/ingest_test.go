package apikube

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// podsPerShape is how many pods one template has made in the clusters that the tests below draw: 150,000 pods of 5,000 shapes.
const podsPerShape = 30

// encodedShape is the pod of one template as the API server sends it. Each shape differs from all others in its labels, its
// requests and what it asks of nodes and other pods.
func encodedShape(t testing.TB, shape int) []byte {
	t.Helper()
	app, team := fmt.Sprintf("service-%04d", shape), fmt.Sprintf("team-%02d", shape%40)
	labels := map[string]string{
		"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": team, "app.kubernetes.io/managed-by": "Helm",
		"tier": []string{"web", "worker", "batch"}[shape%3], "pod-template-hash": fmt.Sprintf("%08x", shape*2654435761),
	}
	self := &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": app}}
	yes := true
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: team, Labels: labels, ResourceVersion: "123456789", CreationTimestamp: metav1.NewTime(noon),
			Annotations:     map[string]string{"prometheus.io/scrape": "true", "checksum/config": fmt.Sprintf("%064x", shape)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-abc", UID: "u", Controller: &yes}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: "Update", FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:status":{"f:x":"%0512d"}}`, shape))}},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example/" + app + ":1.2.3",
				Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "C", Value: "3"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(50+shape%97*10), resource.DecimalSI),
					corev1.ResourceMemory: *resource.NewQuantity(int64(64+shape%89*16)<<20, resource.BinarySI),
				}},
			}},
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
			},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: noon.Add(time.Second)}, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		}},
	}
	switch shape % 10 {
	case 0, 1, 2, 3:
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{TopologyKey: model.LabelZone, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: self, MatchLabelKeys: []string{"pod-template-hash"}},
		}
	case 4:
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: model.LabelHostname, LabelSelector: self}},
		}}
	case 5:
		p.Spec.NodeSelector = map[string]string{"pool": team}
	}
	raw, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// arrive decodes the n-th pod of a template as if it had just come over the wire: it shares no memory with the others.
func arrive(t testing.TB, template []byte, shape, n int) *corev1.Pod {
	t.Helper()
	var p corev1.Pod
	if err := p.Unmarshal(template); err != nil {
		t.Fatal(err)
	}
	p.Name = fmt.Sprintf("service-%04d-7d9c5b8f6d-%05d", shape, n)
	p.UID = types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012d", shape, n))
	p.Spec.NodeName = fmt.Sprintf("aks-default-%05d", (shape*podsPerShape+n)%5000)
	return &p
}

// ingest fills a mirror the way Follow does, and takes a picture.
func ingest(t testing.TB, shapes int) (*world.World, model.World) {
	w := world.New()
	f := &following{sink: w}
	w.Begin()
	for shape := range shapes {
		template := encodedShape(t, shape)
		for n := range podsPerShape {
			w.ApplyPod(f.shared.pod(arrive(t, template, shape, n)))
		}
	}
	w.Synced()
	return w, w.Snapshot()
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A pod must stay small in the mirror: 150,000 of them are to fit in 123 MB, beside everything else that is there.
func TestAPodInTheMirrorIsSmall(t *testing.T) {
	const shapes, floor = 500, 820
	before := liveHeap()
	w, picture := ingest(t, shapes)
	perPod := float64(liveHeap()-before) / float64(picture.Index.All().Len())
	if picture.Index.All().Len() != shapes*podsPerShape {
		t.Fatalf("%d pods, want %d", picture.Index.All().Len(), shapes*podsPerShape)
	}
	t.Logf("%.0f bytes a pod", perPod)
	if perPod > floor {
		t.Errorf("%.0f bytes a pod, want at most %d", perPod, floor)
	}
	runtime.KeepAlive(w)
}

func BenchmarkDecodePod(b *testing.B) {
	f := &following{}
	var pods []*corev1.Pod
	for shape := range 10 {
		pods = append(pods, arrive(b, encodedShape(b, shape), shape, 0))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.shared.pod(pods[i%len(pods)])
	}
}

// BenchmarkIngest reports what the mirror of 150,000 pods weighs, and how fast it is filled, the reading of the wire
// included.
func BenchmarkIngest(b *testing.B) {
	const shapes = 5000
	before := liveHeap()
	var w *world.World
	var picture model.World
	for b.Loop() {
		w, picture = ingest(b, shapes)
	}
	pods := float64(picture.Index.All().Len())
	b.ReportMetric(float64(liveHeap()-before)/1e6, "MB-live")
	b.ReportMetric(float64(liveHeap()-before)/pods, "B/pod")
	b.ReportMetric(pods*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
	runtime.KeepAlive(w)
}

// BenchmarkPicture takes a picture of 150,000 pods after one of them changed.
func BenchmarkPicture(b *testing.B) {
	w, picture := ingest(b, 5000)
	p := picture.Flat().Pods[picture.Index.All().Len()/2]
	for b.Loop() {
		p.PodReady = !p.PodReady
		w.Apply(model.Change{Object: p})
		picture = w.Snapshot()
	}
}
