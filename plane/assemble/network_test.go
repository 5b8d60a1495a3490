package assemble

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport/spdy"
)

// reach asks the API server for what stands behind nodes and services.
func reach(t *testing.T, l *Lab) {
	api, none := l.ident.api, int64(0)
	get := func(path string) string {
		b, err := api.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		if err != nil {
			return err.Error() + string(b)
		}
		return string(b)
	}
	eventually(t, "metrics of nodes", func() bool {
		return strings.Contains(get("/apis/metrics.k8s.io/v1beta1/nodes"), `"kind":"NodeMetricsList"`)
	})
	node, err := api.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ghost"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "ghost"}, {Type: corev1.NodeInternalIP, Address: "10.224.0.4"}}
	if _, err := api.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := api.CoreV1().Pods("default")
	_, err = pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "quiet"},
		Spec: corev1.PodSpec{NodeName: "ghost", Containers: []corev1.Container{{Name: "main", Image: "example.com/app"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = api.CoreV1().Nodes().Delete(t.Context(), "ghost", metav1.DeleteOptions{})
		_ = pods.Delete(t.Context(), "quiet", metav1.DeleteOptions{GracePeriodSeconds: &none})
	})
	log, err := pods.GetLogs("quiet", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if want := "The lab runs no containers: main of pod default/quiet has no log."; err != nil || !strings.HasPrefix(string(log), want) {
		t.Errorf("logs are %q, %v; want %q", log, err, want)
	}
	cfg, err := l.plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for sub, want := range map[string]string{
		"exec":        "the lab runs no containers: nothing can be run in pod default/quiet",
		"attach":      "the lab runs no containers: nothing can be attached to pod default/quiet",
		"portforward": "the lab runs no containers: nothing can be reached in pod default/quiet",
	} {
		r := api.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("quiet").SubResource(sub)
		if sub != "portforward" {
			r = r.Param("command", "date").Param("stdout", "true")
		}
		_, _, err := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, r.URL()).Dial("v4.channel.k8s.io")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s says %v; want %q", sub, err, want)
		}
	}
	if got := get("/api/v1/namespaces/kube-system/services/https:kube-dns:53/proxy/"); !strings.Contains(got, "no endpoints") && !strings.Contains(got, "nothing answers") {
		t.Errorf("a service: %s", got)
	}
}
