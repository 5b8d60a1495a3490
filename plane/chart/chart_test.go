// Package chart answers: do the charts render to what they promise?
//
// It has tests only. It lives in this module because Helm's engine does.
package chart

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/plane"
)

var update = flag.Bool("update", false, "write the golden files")

func load(t *testing.T, name string) *chart.Chart {
	t.Helper()
	root := path.Join("charts", name)
	var files []*loader.BufferedFile
	err := fs.WalkDir(deploy.Charts, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := deploy.Charts.ReadFile(p)
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(p, root+"/"), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns the objects of a chart on a new cluster, sorted by kind, namespace and name.
func render(t *testing.T, name, values string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	return renderOn(t, plane.Version, name, values)
}

// renderOn does so for a cluster of another version.
func renderOn(t *testing.T, cluster, name, values string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	c := load(t, name)
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	kube, err := chartutil.ParseKubeVersion(cluster)
	if err != nil {
		t.Fatal(err)
	}
	caps.KubeVersion = *kube
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "karpenter", Namespace: "karpenter"}, caps)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		if strings.HasSuffix(file, "NOTES.txt") {
			continue
		}
		for _, doc := range strings.Split(texts[file], "\n---\n") {
			var o map[string]any
			if err := yaml.UnmarshalStrict([]byte(doc), &o); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, doc)
			}
			if len(o) > 0 {
				out = append(out, &unstructured.Unstructured{Object: o})
			}
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(key(a), key(b)) })
	return out, nil
}

func key(o *unstructured.Unstructured) string {
	return strings.TrimPrefix(o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName(), " ")
}

func mustRender(t *testing.T, name, values string) []*unstructured.Unstructured {
	t.Helper()
	out, err := render(t, name, values)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs, got:\n%s", file, got)
	}
}

// first is the smallest set of values that an installation needs.
const first = `
settings:
  clusterName: lab
  clusterEndpoint: https://lab.example:6443
  azure:
    subscriptionID: 00000000-0000-0000-0000-000000000001
    location: eastus
    nodeResourceGroup: MC_lab
    vnetSubnetID: /subscriptions/s/resourceGroups/MC_lab/providers/Microsoft.Network/virtualNetworks/v/subnets/n
    sshPublicKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE+nq7TgN4D4A1BOCcIYGb40IvZaR5AgmiNRM3juUFuv
`

func TestObjects(t *testing.T) {
	var b strings.Builder
	for _, o := range mustRender(t, "karpenter", first+"serviceMonitor: {enabled: true}\n") {
		b.WriteString(key(o) + "\n")
	}
	golden(t, "objects.txt", b.String())
}

// The whole of what the controller may do. A line more is a decision that someone has to defend.
func TestPermissions(t *testing.T) {
	var b strings.Builder
	for _, o := range mustRender(t, "karpenter", first) {
		switch o.GetKind() {
		case "ClusterRole", "Role":
			rules, err := yaml.Marshal(o.Object["rules"])
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString("# " + key(o) + "\n" + string(rules) + "\n")
		case "ClusterRoleBinding", "RoleBinding":
			ref := o.Object["roleRef"].(map[string]any)
			for _, s := range o.Object["subjects"].([]any) {
				s := s.(map[string]any)
				b.WriteString("# " + key(o) + "\n" + ref["kind"].(string) + " " + ref["name"].(string) + " to " +
					s["namespace"].(string) + "/" + s["name"].(string) + "\n\n")
			}
		}
	}
	golden(t, "permissions.txt", b.String())
}

func TestEverythingMissingIsSaidAtOnce(t *testing.T) {
	_, err := render(t, "karpenter", "")
	if err == nil {
		t.Fatal("the chart rendered without a single required value")
	}
	_, text, _ := strings.Cut(err.Error(), "values are missing")
	golden(t, "missing.txt", "values are missing"+text+"\n")
}

func TestUnknownSettingIsRefused(t *testing.T) {
	_, err := render(t, "karpenter", first+"    locaton: eastus\n")
	if err == nil || !strings.Contains(err.Error(), "locaton") {
		t.Fatalf("a mistyped setting was accepted: %v", err)
	}
}

func deployment(t *testing.T, values string) appsv1.Deployment {
	t.Helper()
	for _, o := range mustRender(t, "karpenter", values) {
		if o.GetKind() != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &d, true); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatal("no Deployment")
	return appsv1.Deployment{}
}

func environment(t *testing.T, d appsv1.Deployment) map[string]corev1.EnvVar {
	t.Helper()
	out := map[string]corev1.EnvVar{}
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if _, twice := out[e.Name]; twice {
			t.Errorf("%s is given twice", e.Name)
		}
		out[e.Name] = e
	}
	return out
}

func TestSettingsBecomeEnvironment(t *testing.T) {
	var b strings.Builder
	env := environment(t, deployment(t, first+`
    clientID: 00000000-0000-0000-0000-000000000002
    networkPluginMode: ""
    nodeIdentities: [/subscriptions/s/a, /subscriptions/s/b]
  tags: {team: platform, cost: 7}
  featureGates: {spotToSpotConsolidation: true}
  pause: [drift, provisioning]
  disruptionMode: observe
`))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		e := env[name]
		if e.ValueFrom != nil {
			b.WriteString(name + " from the pod\n")
			continue
		}
		b.WriteString(name + "=" + e.Value + "\n")
	}
	golden(t, "environment.txt", b.String())
}

// Installations that exist pass everything as raw environment.
func TestRawEnvironmentIsEnoughAndWins(t *testing.T) {
	env := environment(t, deployment(t, `
settings: {clusterName: from-settings}
controller:
  env:
    - {name: CLUSTER_NAME, value: from-env}
    - {name: CLUSTER_ENDPOINT, value: "https://lab.example"}
    - {name: ARM_SUBSCRIPTION_ID, value: s}
    - {name: LOCATION, value: eastus}
    - {name: AZURE_NODE_RESOURCE_GROUP, value: MC_lab}
    - {name: VNET_SUBNET_ID, value: subnet}
    - {name: SSH_PUBLIC_KEY, value: key}
    - {name: SYSTEM_NAMESPACE, value: elsewhere}
`))
	if got := env["CLUSTER_NAME"].Value; got != "from-env" {
		t.Errorf("CLUSTER_NAME is %q", got)
	}
	if got := env["SYSTEM_NAMESPACE"]; got.Value != "elsewhere" || got.ValueFrom != nil {
		t.Errorf("SYSTEM_NAMESPACE is %v", got)
	}
}

func TestDeploymentIsSafeByDefault(t *testing.T) {
	d := deployment(t, first)
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	sec := c.SecurityContext
	if !*sec.RunAsNonRoot || *sec.AllowPrivilegeEscalation || !*sec.ReadOnlyRootFilesystem ||
		!slices.Equal(sec.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container is not restricted: %v", sec)
	}
	if *d.Spec.Replicas != 2 || pod.PriorityClassName != "system-cluster-critical" {
		t.Errorf("replicas %d, priority %q", *d.Spec.Replicas, pod.PriorityClassName)
	}
	selector := d.Spec.Selector.MatchLabels
	anti := pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchLabels
	if !maps.Equal(selector, anti) || !maps.Equal(selector, pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels) {
		t.Errorf("anti-affinity or spread do not select the controller's pods: %v", anti)
	}
	never := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
	if never.Key != "karpenter.sh/nodepool" || never.Operator != corev1.NodeSelectorOpDoesNotExist {
		t.Errorf("the controller may run on its own nodes: %v", never)
	}
	if got := strings.Join(c.Args, " "); got != "controller" {
		t.Errorf("args %q", got)
	}
}

func TestCustomResourcesAreValid(t *testing.T) {
	objects := mustRender(t, "karpenter-crd", "additionalAnnotations: {team: platform}")
	if len(objects) != 5 {
		t.Fatalf("%d objects, want 5", len(objects))
	}
	for _, o := range objects {
		if o.GetAnnotations()["team"] != "platform" || o.GetAnnotations()["controller-gen.kubebuilder.io/version"] == "" {
			t.Errorf("%s has annotations %v", key(o), o.GetAnnotations())
		}
		var v1 apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &v1, true); err != nil {
			t.Fatal(err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(&v1)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
		var in apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &in, nil); err != nil {
			t.Fatal(err)
		}
		// The same checks the API server makes, the cost of the CEL rules included.
		for _, e := range validation.ValidateCustomResourceDefinition(t.Context(), &in) {
			if e.Field != "status.storedVersions" {
				t.Errorf("%s: %v", key(o), e)
			}
		}
	}
	if plain := mustRender(t, "karpenter-crd", ""); plain[0].GetAnnotations()["team"] != "" {
		t.Error("an annotation that nobody asked for")
	}
}
