package chart

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/doctor"
	"github.com/karpenter-aks/karpenter/internal/values"
)

// The doctor asks for exactly what the chart's roles give: what it does not ask for it could not miss, and what they do not give would be asked
// for in vain.
func TestTheDoctorAsksForWhatTheChartGives(t *testing.T) {
	for name, tc := range map[string]struct {
		values string
		on     doctor.Gates
	}{
		"as it comes": {first, doctor.Gates{NominatedNodes: true, Policies: true}},
		"all the other way": {first + "  featureGates: {nominatedNodes: false}\nadmissionPolicies: {enabled: false}\ncontroller: {metrics: {secure: true}}\n",
			doctor.Gates{SecureMetrics: true}},
	} {
		given := map[string]bool{}
		for _, o := range mustRender(t, "karpenter", tc.values) {
			if o.GetName() == "karpenter-admin" || o.GetName() == "karpenter-metrics-reader" || o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
				continue
			}
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				t.Fatal(err)
			}
			for _, r := range role.Rules {
				for _, group := range r.APIGroups {
					for _, resource := range r.Resources {
						for _, verb := range r.Verbs {
							for _, name := range append([]string{""}, r.ResourceNames...)[min(1, len(r.ResourceNames)):] {
								given[strings.Join([]string{verb, group, resource, o.GetNamespace(), name}, " ")] = true
							}
						}
					}
				}
			}
		}
		asked := map[string]bool{}
		for _, a := range doctor.Needs("karpenter", tc.on) {
			asked[strings.Join([]string{a.Verb, a.Group, a.Resource, a.Namespace, a.Name}, " ")] = true
		}
		for _, k := range slices.Sorted(maps.Keys(given)) {
			if !asked[k] {
				t.Errorf("%s: the chart gives %q, and the doctor does not ask for it", name, k)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(asked)) {
			if !given[k] {
				t.Errorf("%s: the doctor asks for %q, and the chart does not give it", name, k)
			}
		}
	}
}

// A values file says to install-values and doctor what it says to the chart.
func TestValuesFilesAreReadAsTheChartReadsThem(t *testing.T) {
	raw, err := os.ReadFile("../../internal/values/testdata/az-says-the-rest.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "{")
	facts, _, _ := strings.Cut("{"+rest, "\n----\n")
	var f values.Facts
	if err := json.Unmarshal([]byte(facts), &f); err != nil {
		t.Fatal(err)
	}
	found := values.Find(f)
	if len(found.Missing) > 0 {
		t.Fatalf("missing: %v", found.Missing)
	}
	text := found.YAML()
	var file map[string]any
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	read, err := values.Env(file)
	if err != nil {
		t.Fatal(err)
	}
	env := environment(t, deployment(t, text))
	for _, k := range slices.Sorted(maps.Keys(read)) {
		if env[k].Value != read[k] {
			t.Errorf("%s is %q for the chart and %q for us", k, env[k].Value, read[k])
		}
	}
	if len(read) < 15 {
		t.Errorf("only %d values were read", len(read))
	}
	if d := deployment(t, text); d.Spec.Template.Spec.ServiceAccountName != values.AccountOf(file) {
		t.Errorf("the account is %s for the chart and %s for us", d.Spec.Template.Spec.ServiceAccountName, values.AccountOf(file))
	}
}
