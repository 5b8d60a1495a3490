package chart

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/helm"
	"github.com/karpenter-aks/karpenter/plane/planetest"
)

func TestMain(m *testing.M) { planetest.Main(m) }

// The Prometheus operator's own definitions judge what we ask of it. Its module carries them as files; nothing of it is
// compiled, so it stands in no go.mod, where it would bring its whole list of requirements.
const (
	operator    = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	operatorSum = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
)

// definitions are the operator's CRDs for the kinds that the chart has.
func definitions(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", operator)
	cmd.Dir = t.TempDir()
	// The checksum stands above, so no database is asked for it.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GONOSUMDB="+strings.Split(operator, "@")[0])
	var got struct{ Dir, Sum, Error string }
	out, err := cmd.Output()
	if jsonErr := json.Unmarshal(out, &got); err != nil || jsonErr != nil || got.Sum != operatorSum {
		t.Fatalf("go mod download %s: %v, %v, %s, checksum %q, want %q", operator, err, jsonErr, got.Error, got.Sum, operatorSum)
	}
	var crds []*unstructured.Unstructured
	for _, kind := range []string{"prometheusrules", "servicemonitors"} {
		file := filepath.Join(got.Dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+kind+".yaml")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var o map[string]any
		if err := yaml.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		crds = append(crds, &unstructured.Unstructured{Object: o})
	}
	return crds
}

// serve creates definitions and waits until their kinds can be asked for.
func serve(t *testing.T, c client.Client, crds []*unstructured.Unstructured) {
	t.Helper()
	for _, crd := range crds {
		if err := c.Create(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		all := list("monitoring.coreos.com/v1", kind)
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return c.List(ctx, all) == nil, nil
		})
		if err != nil {
			t.Fatalf("%s is not served: %v", kind, err)
		}
	}
}

// monitors are objects of the chart that the Prometheus operator reads.
func monitors(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, o := range mustRender(t, "karpenter", values) {
		if o.GroupVersionKind().Group == "monitoring.coreos.com" {
			o.SetNamespace("kube-system")
			out = append(out, o)
		}
	}
	if len(out) != 2 {
		t.Fatalf("%d objects for the Prometheus operator, want 2, with\n%s", len(out), values)
	}
	return out
}

// Both need an API server, and share one. What Helm makes is gone before the operator's definitions come.
func TestOnAnAPIServer(t *testing.T) {
	p := planetest.Start(t)
	cfg, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("helm, as people type it", func(t *testing.T) { helmWorks(t, c, p.Kubeconfig()) })
	t.Run("the Prometheus operator takes what it is asked", func(t *testing.T) { operatorTakes(t, c, p) })
}

// operatorTakes: without the operator's definitions nothing is installed, and it is said what to do; with them each way to
// write our objects is strictly what they say, and the chart is installed.
func operatorTakes(t *testing.T, c client.Client, p *plane.Plane) {
	on := first + "serviceMonitor: {enabled: true}\nprometheusRule: {enabled: true, additionalLabels: {release: prometheus}}\n"
	err := install(t, p, on)
	if want := "this cluster does not serve PrometheusRule and ServiceMonitor (monitoring.coreos.com/v1), which the Prometheus operator " +
		"brings: install its CRDs first, or set prometheusRule.enabled=false and serviceMonitor.enabled=false"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("in a cluster without the operator's definitions: %v\nwant %s", err, want)
	}
	err = install(t, p, first+"serviceMonitor: {enabled: true}\n")
	if err == nil || !strings.Contains(err.Error(), "does not serve ServiceMonitor (") || strings.Contains(err.Error(), "prometheusRule") {
		t.Errorf("with one of the two asked for: %v", err)
	}

	serve(t, c, definitions(t))
	strict := func(o *unstructured.Unstructured) error {
		return c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
	}
	rules := "prometheusRule: {enabled: true}\n"
	for _, values := range []string{
		on,
		first + rules + "serviceMonitor: {enabled: true}\ncontroller: {metrics: {secure: true}}\n",
		first + rules + "serviceMonitor: {enabled: true}\ncontroller: {metrics: {secure: true, certSecretName: metrics-tls}}\n",
		first + rules + `controller: {metrics: {secure: true}}
serviceMonitor:
  enabled: true
  additionalLabels: {release: prometheus}
  sampleLimit: 5000
  relabelings: [{sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: node, action: replace}]
  metricRelabelings: [{sourceLabels: [__name__], regex: go_.*, action: drop}]
  endpointConfig:
    interval: 15s
    scrapeTimeout: 10s
    honorLabels: true
    authorization: {type: Bearer, credentials: {name: scraper, key: token}}
    tlsConfig: {serverName: karpenter.kube-system.svc}
`,
	} {
		for _, o := range monitors(t, values) {
			if err := strict(o); err != nil {
				t.Errorf("%s with\n%s\n%v", o.GetKind(), values, err)
			}
		}
	}
	for _, o := range monitors(t, first+rules+"serviceMonitor: {enabled: true, endpointConfig: {intervall: 15s}}\n") {
		field := "intervall"
		if o.GetKind() == "PrometheusRule" {
			field = "alerts"
			if err := unstructured.SetNestedField(o.Object, "x", "spec", field); err != nil {
				t.Fatal(err)
			}
		}
		if err := strict(o); err == nil || !strings.Contains(err.Error(), "unknown field") || !strings.Contains(err.Error(), field) {
			t.Errorf("%s has field %q, which there is not, and is taken: %v", o.GetKind(), field, err)
		}
	}

	if err := install(t, p, on); err != nil {
		t.Fatal(err)
	}
	for _, o := range monitors(t, on) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Errorf("installed, and %v", err)
		}
	}
}

// install puts the chart into a cluster as a person's helm would, which knows nothing from before.
func install(t *testing.T, p *plane.Plane, values string) error {
	t.Helper()
	h, err := helm.New(p.Kubeconfig(), "kube-system", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := helm.Load(deploy.Charts, "charts/karpenter")
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	_, err = h.Apply(t.Context(), "karpenter", c, v, helm.Options{})
	return err
}
