package chart

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/deploy"
)

// alerts is the file of our alerts, as seen from testdata.
const alerts = "../../../deploy/charts/karpenter/alerts/karpenter.yaml"

// promtool runs Prometheus' own judge of rules in testdata.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir = "testdata"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("promtool %s: %v (it comes with Debian's package prometheus)\n%s", strings.Join(args, " "), err, out)
	}
}

// Alerts are what Prometheus takes; each fires for what it is about, and keeps quiet otherwise.
func TestAlerts(t *testing.T) {
	promtool(t, "check", "rules", alerts)
	promtool(t, "test", "rules", "alerts.yaml")
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert string }
		}
	}
	var tests struct {
		Tests []struct {
			Rules []struct {
				Name string `json:"alertname"`
				Want []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	for file, into := range map[string]any{alerts: &rules, "alerts.yaml": &tests} {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, x := range tests.Tests {
		for _, r := range x.Rules {
			if len(r.Want) > 0 {
				fires[r.Name] = true
			} else {
				quiet[r.Name] = true
			}
		}
	}
	if len(rules.Groups) == 0 || len(rules.Groups[0].Rules) == 0 {
		t.Fatal("there are no alerts")
	}
	for _, r := range rules.Groups[0].Rules {
		if !fires[r.Alert] || !quiet[r.Alert] {
			t.Errorf("%s: tested to fire: %v, to keep quiet: %v", r.Alert, fires[r.Alert], quiet[r.Alert])
		}
	}
}

// Dashboards and alerts are installed when somebody asks for them, whole.
func TestDashboardsAndAlertsAreInstalledWhenAsked(t *testing.T) {
	count := func(list []*unstructured.Unstructured) (boards []*unstructured.Unstructured, rules int) {
		for _, o := range list {
			switch {
			case o.GetKind() == "ConfigMap" && strings.Contains(o.GetName(), "-dashboard-"):
				boards = append(boards, o)
			case o.GetKind() == "PrometheusRule":
				rules++
			}
		}
		return boards, rules
	}
	off, err := render(t, "karpenter", first)
	if err != nil {
		t.Fatal(err)
	}
	if boards, rules := count(off); len(boards)+rules > 0 {
		t.Errorf("%d dashboards and %d rules although nobody asked", len(boards), rules)
	}
	on, err := render(t, "karpenter", first+"dashboards: {enabled: true}\nprometheusRule: {enabled: true, additionalLabels: {release: x}}\n")
	if err != nil {
		t.Fatal(err)
	}
	boards, rules := count(on)
	if len(boards) != 5 || rules != 1 {
		t.Errorf("%d dashboards and %d rules", len(boards), rules)
	}
	for _, o := range boards {
		data, _, err := unstructured.NestedStringMap(o.Object, "data")
		if err != nil || len(data) != 1 || o.GetLabels()["grafana_dashboard"] != "1" {
			t.Errorf("%s: %v, %v, %v", o.GetName(), data, o.GetLabels(), err)
		}
		for name, text := range data {
			var board, file any
			raw, err := fs.ReadFile(deploy.Charts, "charts/karpenter/dashboards/"+strings.TrimPrefix(name, "karpenter-"))
			if err != nil {
				t.Fatal(err)
			}
			if json.Unmarshal([]byte(text), &board) != nil || json.Unmarshal(raw, &file) != nil {
				t.Errorf("%s is no JSON", name)
			}
			if strings.TrimSpace(string(raw)) != text {
				t.Errorf("%s is not the file", name)
			}
			// Grafana's own type of a dashboard has no other field that must be there.
			if b, ok := board.(map[string]any); !ok || b["annotations"] == nil {
				t.Errorf("%s has no annotations", name)
			}
		}
	}
	i := slices.IndexFunc(on, func(o *unstructured.Unstructured) bool { return o.GetKind() == "PrometheusRule" })
	if i < 0 || on[i].GetLabels()["release"] != "x" {
		t.Fatal("the rules have not the label that was asked for")
	}
	if groups, _, err := unstructured.NestedSlice(on[i].Object, "spec", "groups"); err != nil || len(groups) != 1 {
		t.Errorf("groups %v, %v", groups, err)
	}
}
