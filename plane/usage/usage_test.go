package usage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// town is a source of two nodes and some pods.
type town []*corev1.Pod

func (t town) Pods() []*corev1.Pod { return t }
func (town) Nodes() []*corev1.Node {
	return []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}
}

func pod(name, says string, cpu ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, Labels: map[string]string{"app": name[:1]}}}
	p.Spec.NodeName, p.Status.Phase = "n1", corev1.PodRunning
	if says != "" {
		p.Annotations = map[string]string{CPUAnnotation: says, MemoryAnnotation: "10Mi"}
	}
	for i, q := range cpu {
		c := corev1.Container{Name: fmt.Sprint("c", i)}
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q),
			corev1.ResourceMemory: resource.MustParse("64Mi")}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return p
}

func TestUsage(t *testing.T) {
	gone := pod("a3", "7", "1")
	gone.Status.Phase = corev1.PodSucceeded
	h := Handler(town{pod("b1", "", "1"), pod("a1", "250m", "1", "1"),
		pod("a2", "nonsense", "500m"), gone}, func() time.Time { return time.Unix(0, 0) })
	get := func(path string) (int, []byte) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, root+path, nil))
		return rec.Code, rec.Body.Bytes()
	}
	pods := func(path string) string {
		t.Helper()
		var list metrics.PodMetricsList
		if code, b := get(path); code != http.StatusOK || json.Unmarshal(b, &list) != nil {
			t.Fatalf("%s: %d %s", path, code, b)
		}
		var out []string
		for _, p := range list.Items {
			for _, c := range p.Containers {
				use := fmt.Sprintf("%s/%s %s %s", p.Name, c.Name, c.Usage.Cpu(), c.Usage.Memory())
				out = append(out, use)
			}
		}
		return strings.Join(out, ", ")
	}
	for path, want := range map[string]string{
		"/pods":                    "a1/c0 250m 10Mi, a1/c1 0 0, a2/c0 250m 10Mi, b1/c0 500m 32Mi",
		"/namespaces/default/pods": "a1/c0 250m 10Mi, a1/c1 0 0, a2/c0 250m 10Mi, b1/c0 500m 32Mi",
		"/namespaces/other/pods":   "",
		"/pods?labelSelector=" + url.QueryEscape("app=b"):            "b1/c0 500m 32Mi",
		"/pods?fieldSelector=" + url.QueryEscape("metadata.name=a2"): "a2/c0 250m 10Mi",
	} {
		if got := pods(path); got != want {
			t.Errorf("%s: %s\nwant %s", path, got, want)
		}
	}
	var n metrics.NodeMetricsList
	if code, b := get("/nodes"); code != http.StatusOK || json.Unmarshal(b, &n) != nil ||
		len(n.Items) != 2 || n.Items[0].Name != "n1" || n.Items[0].Usage.Cpu().String() != "1" ||
		n.Items[1].Usage.Cpu().Sign() != 0 {
		t.Errorf("nodes: %d %s", code, b)
	}
	for path, want := range map[string]int{
		"/nodes/n1": 200, "/nodes/n9": 404, "/namespaces/default/pods/a1": 200,
		"/namespaces/default/pods/a3": 404, "/pods?labelSelector=((": 400} {
		if code, b := get(path); code != want {
			t.Errorf("%s: %d %s, want %d", path, code, b, want)
		}
	}
}
