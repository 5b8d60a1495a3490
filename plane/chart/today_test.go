package chart

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/helm"
)

func today(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/today.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// What "helm lint --strict" says of both charts: nothing, with values from settings and with those of today.
func TestLint(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, deploy.Charts); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ chart, values string }{{"karpenter-crd", ""}, {"karpenter", first}, {"karpenter", today(t)}} {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(c.values), &v); err != nil {
			t.Fatal(err)
		}
		found, err := helm.Lint(filepath.Join(dir, "charts", c.chart), plane.Version, v)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", c.chart, err, found)
		}
	}
	broken := filepath.Join(dir, "charts", "karpenter", "templates", "broken.yaml")
	if err := os.WriteFile(broken, []byte("a: {{ .Values.nothing.here }}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := helm.Lint(filepath.Dir(filepath.Dir(broken)), plane.Version, nil); err != nil || len(found) == 0 {
		t.Errorf("lint found nothing in a broken chart: %v", err)
	}
}

// notes is what Helm prints after an installation.
func notes(t *testing.T, values string) string {
	t.Helper()
	c := load(t, "karpenter")
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	kube, err := chartutil.ParseKubeVersion(plane.Version)
	if err != nil {
		t.Fatal(err)
	}
	caps.KubeVersion = *kube
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "karpenter", Namespace: "kube-system"}, caps)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	return texts[path.Join("karpenter", "templates", "NOTES.txt")]
}

func TestValuesOfTodayAreTakenAndTold(t *testing.T) {
	env := environment(t, deployment(t, today(t)))
	for name, want := range map[string]string{
		"LOCATION": "westus3", "LOG_LEVEL": "debug", "VNET_GUID": "0b0e0000-0000-4000-8000-000000000001", "NETWORK_POLICY": "",
	} {
		if got := env[name].Value; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := env["FEATURE_GATES"].Value; !strings.Contains(got, "StaticCapacity=true") {
		t.Errorf("feature gates %q", got)
	}
	golden(t, "notes-today.txt", notes(t, today(t)))
	golden(t, "notes.txt", notes(t, first))
}

// Whatever users of today's chart may say and changes nothing here is told after the installation: each option without
// effect, said otherwise than by default, and the values that have no option.
func TestWhatChangesNothingIsTold(t *testing.T) {
	asked := 0
	for _, o := range config.Options() {
		if o.Unused == "" || len(o.Env) == 0 {
			continue
		}
		value := "something"
		switch {
		case o.Default == "true":
			value = "false"
		case o.Default == "false":
			value = "true"
		case o.Env[0] == "PROVISION_MODE":
			value = "bootstrappingclient"
		}
		asked++
		text := notes(t, first+fmt.Sprintf("controller: {env: [{name: %s, value: %q}]}\n", o.Env[0], value))
		if !strings.Contains(text, "\n  - controller.env "+o.Env[0]+": ") {
			t.Errorf("%s=%s changes nothing, and nobody says so", o.Env[0], value)
		}
	}
	if asked < 12 {
		t.Errorf("only %d options are without effect", asked)
	}
	for setting, value := range map[string]string{
		"settings.clusterCABundle":               first + "  clusterCABundle: x\n",
		"settings.ignoreDRARequests":             first + "  ignoreDRARequests: false\n",
		"settings.featureGates.reservedCapacity": first + "  featureGates: {reservedCapacity: true}\n",
		"webhook":                                first + "webhook: {enabled: true}\n",
		"controller.env FEATURE_GATES":           first + "controller: {env: [{name: FEATURE_GATES, value: \"ReservedCapacity=true\"}]}\n",
	} {
		if !strings.Contains(notes(t, value), "\n  - "+setting+": ") {
			t.Errorf("%s changes nothing, and nobody says so", setting)
		}
	}
}

func TestNodesThatWouldBeLostSightOfAreAReasonToRefuse(t *testing.T) {
	for _, mode := range []string{"aksmachineapi", "aksmachineapiheaderbatch"} {
		values := strings.Replace(today(t), "value: aksscriptless", "value: "+mode, 1)
		_, err := render(t, "karpenter", values)
		if err == nil || !strings.Contains(err.Error(), "PROVISION_MODE="+mode+": nodes are bought as machines of an AKS agent pool") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
