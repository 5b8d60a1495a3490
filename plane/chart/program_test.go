package chart

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/deploy"
)

const (
	nothing = "no controller, 0 policies, 0 definitions"
	theirs  = "mcr.microsoft.com/aks/karpenter/controller:1.10.2, 0 policies, 5 definitions"
	ours    = "ghcr.io/karpenter-aks/karpenter:VERSION, 5 policies, 5 definitions"
)

// commands are what a person types who comes from today's chart, goes back, comes again, goes back and leaves; with what helm
// says, an error if it begins with a "!", and how the cluster stands afterwards, if that is another way than before. All
// commands of helm that the manual has are among them, as they are written there.
var commands = []struct{ line, says, world string }{
	{"helm lint --strict charts/karpenter-crd", "1 chart(s) linted, 0 chart(s) failed", nothing},
	{"helm lint --strict charts/karpenter", "1 chart(s) linted, 0 chart(s) failed", ""},
	{"helm lint --strict charts/karpenter --values your-values.yaml", "1 chart(s) linted, 0 chart(s) failed", ""},
	{"helm lint --strict charts/karpenter --set logLevl=debug", "!additional properties 'logLevl' not allowed", ""},
	{"helm package charts/karpenter charts/karpenter-crd", "karpenter-crd-VERSION.tgz", ""},
	// A helm that was not built for a release takes clusters for old ones unless it is told.
	{"helm template karpenter karpenter-VERSION.tgz --values your-values.yaml", "!say the version with --kube-version", ""},
	{"helm template karpenter karpenter-VERSION.tgz --values your-values.yaml --kube-version 1.37", "\nkind: ValidatingAdmissionPolicy\n", ""},
	{"helm template karpenter karpenter-VERSION.tgz --kube-version 1.37", "!values are missing, please set:\n  - settings.clusterName (", ""},

	// Kinds of the Prometheus operator: written for whoever asks no cluster, and refused by a cluster that has them not.
	{"helm template karpenter karpenter-VERSION.tgz --values monitored.yaml --kube-version 1.37", "\nkind: ServiceMonitor\n", ""},
	{"helm template karpenter karpenter-VERSION.tgz --values monitored.yaml --kube-version 1.37 --api-versions monitoring.coreos.com/v1/ServiceMonitor",
		"\nkind: ServiceMonitor\n", ""},
	{"helm template karpenter karpenter-VERSION.tgz --values monitored.yaml --kube-version 1.37 --api-versions v1/Namespace", "\nkind: ServiceMonitor\n", ""},
	{"helm template karpenter karpenter-VERSION.tgz --values monitored.yaml --kube-version 1.37 --dry-run=server", "\nkind: ServiceMonitor\n", ""},
	{"helm install karpenter karpenter-VERSION.tgz --namespace kube-system --values monitored.yaml --dry-run=server", "!or set serviceMonitor.enabled=false", ""},

	{"helm install karpenter today --namespace kube-system --set replicas=0", "STATUS: deployed\nREVISION: 1", theirs},
	{"helm upgrade --install karpenter-crd karpenter-crd-VERSION.tgz --namespace kube-system", "!invalid ownership metadata", ""},
	{"helm upgrade --install karpenter-crd karpenter-crd-VERSION.tgz --namespace kube-system --take-ownership", "STATUS: deployed", ""},
	{"helm upgrade karpenter karpenter-VERSION.tgz --namespace kube-system --values monitored.yaml", "!or set serviceMonitor.enabled=false", ""},
	{"helm upgrade karpenter karpenter-VERSION.tgz --namespace kube-system --values your-values.yaml --dry-run", "STATUS: pending-upgrade", ""},
	{"helm upgrade karpenter karpenter-VERSION.tgz --namespace kube-system --values your-values.yaml", "  - webhook: there is none", ours},
	{"helm list --namespace kube-system", "karpenter-VERSION ", ""},
	{"helm get values karpenter --namespace kube-system", "clusterName: karpenter\n", ""},
	{"helm get notes karpenter --namespace kube-system", "rollout status deployment karpenter\n", ""},
	{"helm rollback karpenter REVISION --namespace kube-system", "Rollback was a success", theirs},
	{"helm upgrade --install karpenter-crd karpenter-crd-VERSION.tgz --namespace $NAMESPACE", "REVISION: 2", ""},
	{"helm upgrade --install karpenter karpenter-VERSION.tgz --namespace $NAMESPACE --values values.yaml --skip-crds --wait", "REVISION: 4", ours},
	{"helm upgrade karpenter karpenter-VERSION.tgz --namespace kube-system --reuse-values --set logLevel=debug", "REVISION: 5", ""},
	{"helm get values karpenter --namespace kube-system", "clusterName: lab\n", ""},
	{"helm rollback karpenter REVISION --namespace kube-system", "Rollback was a success", theirs},
	{"helm rollback karpenter --namespace $NAMESPACE --wait", "Rollback was a success", ours},
	{"helm history karpenter --namespace kube-system", "Rollback to 5", ""},
	{"helm uninstall karpenter karpenter-crd --namespace $NAMESPACE", `release "karpenter-crd" uninstalled`, nothing},
	{"helm list --namespace kube-system --all --short", "", ""},
}

// helmWorks types the commands into the real program, which asks the API server as it does anywhere.
func helmWorks(t *testing.T, c client.Client, kubeconfig string) {
	for _, line := range typed(t) {
		if !slices.ContainsFunc(commands, func(s struct{ line, says, world string }) bool { return s.line == line }) {
			t.Errorf("the manual says %q, which is not tried here", line)
		}
	}
	dir := desk(t)
	program := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "helm"), "helm.sh/helm/v3/cmd/helm")
	if out, err := program.CombinedOutput(); err != nil {
		t.Fatalf("build helm: %v\n%s", err, out)
	}
	version := load(t, "karpenter").Metadata.Version
	words := strings.NewReplacer("VERSION", version, "karpenter REVISION", "karpenter 1", "$NAMESPACE", "kube-system")
	world := nothing
	for _, step := range commands {
		args := strings.Fields(words.Replace(step.line))
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, args[0]), args[1:]...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig}
		out, err := cmd.CombinedOutput()
		says, refused := strings.CutPrefix(step.says, "!")
		if refused != (err != nil) || !strings.Contains(string(out), words.Replace(says)) || says == "" && len(out) > 0 {
			t.Fatalf("%s\nends with %v; want %q in\n%s", step.line, err, step.says, out)
		}
		if step.world != "" {
			world = step.world
		}
		if got := standing(t, c); got != words.Replace(world) {
			t.Fatalf("%s\nleaves %s\nwant   %s", step.line, got, words.Replace(world))
		}
	}
}

// desk is a directory with what a person has who types the commands.
func desk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, deploy.Charts); err != nil {
		t.Fatal(err)
	}
	// Today's chart brings its definitions along, which belong to no release then.
	if err := os.CopyFS(filepath.Join(dir, "today"), os.DirFS("../story/testdata/today")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "today", "crds"), os.DirFS("../../deploy/charts/karpenter/crds")); err != nil {
		t.Fatal(err)
	}
	yours := strings.Replace(today(t), "\nreplicas: 1\n", "\nreplicas: 0\n", 1) // there are no nodes for pods
	for name, text := range map[string]string{
		"values.yaml":      first + "replicas: 0\n",
		"your-values.yaml": yours,
		"monitored.yaml":   first + "replicas: 0\nserviceMonitor: {enabled: true}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// standing says what there is of a controller in the cluster.
func standing(t *testing.T, c client.Client) string {
	t.Helper()
	image := "no controller"
	o := list("apps/v1", "Deployment")
	if err := c.List(t.Context(), o, client.InNamespace("kube-system")); err != nil {
		t.Fatal(err)
	}
	for _, item := range o.Items {
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &d); err != nil {
			t.Fatal(err)
		}
		image = d.Spec.Template.Spec.Containers[0].Image
	}
	count := func(version, kind string) int {
		o := list(version, kind)
		if err := c.List(t.Context(), o); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		// What is on its way out is gone as far as Helm goes.
		return len(slices.DeleteFunc(o.Items, func(i unstructured.Unstructured) bool { return i.GetDeletionTimestamp() != nil }))
	}
	return fmt.Sprintf("%s, %d policies, %d definitions", image, count("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
		count("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
}

func list(version, kind string) *unstructured.UnstructuredList {
	var out unstructured.UnstructuredList
	out.SetAPIVersion(version)
	out.SetKind(kind + "List")
	return &out
}

// typed are the commands of helm in the manual.
func typed(t *testing.T) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS("../../docs"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		raw, err := os.ReadFile(filepath.Join("../../docs", path))
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "helm ") {
				out = append(out, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil || len(out) < 7 {
		t.Fatalf("%d commands in the manual, %v", len(out), err)
	}
	return out
}
