// Package usage answers: how much cpu and memory do pods use, where no container runs?
//
// It serves metrics.k8s.io as metrics-server does: what an annotation of the pod says, and half of
// what its containers request where none does. Half, so that an autoscaler at rest stays at rest
// and one that is told something moves. It decides nothing and remembers nothing.
package usage

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Annotations of a pod that say what it uses, all containers together, as Kubernetes quantities:
// 250m, 300Mi.
const (
	CPUAnnotation    = "lab.karpenter.sh/cpu-usage"
	MemoryAnnotation = "lab.karpenter.sh/memory-usage"
)

// window is over how long usage is said to be measured. The HPA controller does not look at a pod
// that has not been ready for so long.
const window = 5 * time.Second

// Source is what is there. Objects must not be changed.
type Source interface {
	Pods() []*corev1.Pod // those with a node
	Nodes() []*corev1.Node
}

// Handler serves the group metrics.k8s.io, version v1beta1, to an aggregating API server. It
// checks no one's rights: the API server has done so. Each answer costs a look at all pods.
func Handler(s Source, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, resources())
	})
	mux.HandleFunc("GET "+root+"/nodes", func(w http.ResponseWriter, r *http.Request) {
		if items, ok := keep(w, r, nodes(s, now()), nodeMeta); ok {
			answer(w, metrics.NodeMetricsList{TypeMeta: kind("NodeMetricsList"), Items: items})
		}
	})
	mux.HandleFunc("GET "+root+"/nodes/{name}", func(w http.ResponseWriter, r *http.Request) {
		one(w, r, nodes(s, now()), nodeMeta)
	})
	list := func(w http.ResponseWriter, r *http.Request) {
		if items, ok := keep(w, r, pods(s, now(), r.PathValue("namespace")), podMeta); ok {
			answer(w, metrics.PodMetricsList{TypeMeta: kind("PodMetricsList"), Items: items})
		}
	}
	mux.HandleFunc("GET "+root+"/pods", list)
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/pods", list)
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/pods/{name}",
		func(w http.ResponseWriter, r *http.Request) {
			one(w, r, pods(s, now(), r.PathValue("namespace")), podMeta)
		})
	return mux
}

const root = "/apis/metrics.k8s.io/v1beta1"

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: name, APIVersion: metrics.SchemeGroupVersion.String()}
}

func resources() metav1.APIResourceList {
	verbs := metav1.Verbs{"get", "list"}
	return metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: metrics.SchemeGroupVersion.String(), APIResources: []metav1.APIResource{
			{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs},
			{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs},
		}}
}

func nodeMeta(n metrics.NodeMetrics) metav1.ObjectMeta { return n.ObjectMeta }
func podMeta(p metrics.PodMetrics) metav1.ObjectMeta   { return p.ObjectMeta }

// keep leaves what the request's selectors select; it answers for itself when they cannot be read.
func keep[T any](w http.ResponseWriter, r *http.Request, all []T,
	meta func(T) metav1.ObjectMeta) (kept []T, ok bool) {
	label, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return nil, false
	}
	field, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return nil, false
	}
	kept = []T{}
	for _, x := range all {
		m := meta(x)
		is := fields.Set{"metadata.name": m.Name, "metadata.namespace": m.Namespace}
		if label.Matches(labels.Set(m.Labels)) && field.Matches(is) {
			kept = append(kept, x)
		}
	}
	return kept, true
}

// one answers with the object of the name in the path.
func one[T any](w http.ResponseWriter, r *http.Request, all []T, meta func(T) metav1.ObjectMeta) {
	for _, x := range all {
		if meta(x).Name == r.PathValue("name") {
			answer(w, x)
			return
		}
	}
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound,
		"there are no metrics of "+r.PathValue("name"))
}

// nodes are those with a ready kubelet, each with the sum of its pods, by name.
func nodes(s Source, now time.Time) []metrics.NodeMetrics {
	used := map[string]corev1.ResourceList{}
	for _, p := range s.Pods() {
		if !running(p) {
			continue
		}
		sum := used[p.Spec.NodeName]
		if sum == nil {
			sum = nothing()
			used[p.Spec.NodeName] = sum
		}
		for _, c := range containers(p) {
			add(sum, c.Usage)
		}
	}
	out := []metrics.NodeMetrics{}
	for _, n := range s.Nodes() {
		m := metrics.NodeMetrics{TypeMeta: kind("NodeMetrics"), Timestamp: metav1.NewTime(now),
			Window: metav1.Duration{Duration: window}, Usage: used[n.Name],
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
		if m.Usage == nil {
			m.Usage = nothing()
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b metrics.NodeMetrics) int {
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// pods are those that run, of one namespace or "" for all, by namespace and name.
func pods(s Source, now time.Time, namespace string) []metrics.PodMetrics {
	out := []metrics.PodMetrics{}
	for _, p := range s.Pods() {
		if running(p) && (namespace == "" || p.Namespace == namespace) {
			out = append(out, metrics.PodMetrics{TypeMeta: kind("PodMetrics"),
				ObjectMeta: metav1.ObjectMeta{
					Namespace: p.Namespace, Name: p.Name, Labels: p.Labels},
				Timestamp: metav1.NewTime(now), Window: metav1.Duration{Duration: window},
				Containers: containers(p)})
		}
	}
	slices.SortFunc(out, func(a, b metrics.PodMetrics) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return out
}

func running(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

// containers shares out what the pod uses: what an annotation says is the first container's, else
// each uses half of what it requests.
func containers(p *corev1.Pod) []metrics.ContainerMetrics {
	out := []metrics.ContainerMetrics{}
	for i, c := range p.Spec.Containers {
		use := nothing()
		for name, annotation := range map[corev1.ResourceName]string{
			corev1.ResourceCPU: CPUAnnotation, corev1.ResourceMemory: MemoryAnnotation} {
			said, err := resource.ParseQuantity(p.Annotations[annotation])
			request := c.Resources.Requests[name]
			switch {
			case err != nil || said.Sign() < 0: // one that cannot be read counts as not there
				use[name] = *resource.NewMilliQuantity(request.MilliValue()/2, request.Format)
			case i == 0:
				use[name] = said
			}
		}
		out = append(out, metrics.ContainerMetrics{Name: c.Name, Usage: use})
	}
	return out
}

func nothing() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(0, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(0, resource.BinarySI)}
}

func add(to, more corev1.ResourceList) {
	for name, q := range more {
		sum := to[name]
		sum.Add(q)
		to[name] = sum
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone; there is nobody to tell
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // as above
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message})
}
