package admit_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/api/admit"
)

// The control plane's own verdicts are compared in plane/exam; here stands what they are made of.
func TestWhatAnAPIServerRefuses(t *testing.T) {
	var s admit.Server
	pool := func(meta, spec, template string) string {
		return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: " + meta + "\nspec: {" + spec +
			" template: {spec: {" + template + " nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: c}}}}\n"
	}
	for _, c := range []struct{ object, want string }{
		{pool("{name: a}", "", "requirements: [],"), ""},
		{pool("{name: A}", "", "requirements: [],"), "metadata.name: Invalid value"},
		{pool("{}", "", "requirements: [],"), "metadata.name: Required value"},
		{pool("{name: a, labels: {a b: c}}", "", "requirements: [],"), "metadata.labels: Invalid value"},
		{pool("{name: 7}", "", "requirements: [],"), "metadata: "},
		{pool("{name: a}", "weight: 101,", ""), "spec.template.spec.requirements: Required value\nspec.weight: Invalid value: 101: should be less than or equal to 100"},
		{pool("{name: a}", "replicas: 2147483648,", "requirements: [],"), "spec.replicas: Invalid value: 2147483648"},
		{pool("{name: a}", "disruption: {consolidateAfter: 0s, budgets: [{nodes: 1000%}]},", "requirements: [],"), "spec.disruption.budgets[0].nodes: Invalid value"},
		{pool("{name: a}", "disruption: {consolidateAfter: 0s, budgets: [{nodes: \"1\", schedule: \"@daily\"}]},", "requirements: [],"), "'schedule' must be set with 'duration'"},
		{pool("{name: a}", "", "requirements: [{key: karpenter.sh/x, operator: Exists}],"), "spec.template.spec.requirements[0].key: Invalid value"},
		{pool("{name: a}", "unheardOf: {of: 1},", "requirements: [],"), ""}, // it is dropped
		{"apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nmetadata: {name: a}\nstatus: {conditions: 7}\n", ""},
		{"apiVersion: karpenter.azure.com/v1alpha2\nkind: AKSNodeClass\nmetadata: {name: a}\nspec: {osDiskSizeGB: -3}\n", "spec.osDiskSizeGB: Invalid value: -3: should be greater than or equal to 30"},
		{"apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: a}\nspec: {}\n", "metadata.namespace: Required value"},
	} {
		raw, err := yaml.YAMLToJSON([]byte(c.object))
		if err != nil {
			t.Fatal(err)
		}
		created, faults, known, err := s.Create(raw)
		var said []string
		for _, f := range faults {
			said = append(said, f.String())
		}
		got := strings.Join(said, "\n")
		if err != nil || !known || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s known: %v, %v\n got: %s\nwant: %s", c.object, known, err, got, c.want)
		}
		if spec, _ := created["spec"].(map[string]any); len(faults) == 0 && (created["status"] != nil || spec["unheardOf"] != nil) {
			t.Errorf("%s is kept as %v", c.object, created)
		}
	}
	for _, other := range []string{`{"apiVersion":"v1","kind":"Pod"}`, `{"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool"}`, `{}`} {
		if _, faults, known, err := s.Create([]byte(other)); known || err != nil || len(faults) > 0 {
			t.Errorf("%s: known %v, %v, %v", other, known, faults, err)
		}
	}
	if _, _, _, err := s.Create([]byte("[]")); err == nil {
		t.Error("a list is an object")
	}
}
