package crddiff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const ours = `{"metadata":{"name":"things.example.com"},
"spec":{"group":"example.com","scope":"Cluster",
"names":{"kind":"Thing","plural":"things","shortNames":["th"]},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
 "additionalPrinterColumns":[{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}],
 "schema":{"openAPIV3Schema":{"type":"object","description":"a thing","properties":{
  "spec":{"type":"object","required":["a"],"properties":{
   "a":{"type":"string","enum":["x","y"]},
   "list":{"type":"array","maxItems":3,
    "items":{"type":"object","properties":{"deep":{"type":"string"}}}},
   "map":{"type":"object","additionalProperties":{"type":"string"}}},
   "x-kubernetes-validations":[{"message":"no","rule":"self.a != 'z'"}]}}}}}]}}`

func read(t *testing.T, s string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEachDifferenceIsNamedWhereItIs(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"words do not count", `"a thing"`, `"another"`, ""},
		{"messages do not count", `"message":"no"`, `"message":"never"`, ""},
		{"what the API server fills in", `"scope"`, `"conversion":{"strategy":"None"},"scope"`, ""},
		{"order of a set", `["x","y"]`, `["y","x"]`, ""},
		{"a field that is absent", `"deep":{"type":"string"}`, ``,
			"v1 spec.list[].deep: the cluster has no such field"},
		{"a field too many", `"deep":`, `"more":{},"deep":`, "v1 spec.list[].more: ours has no " +
			"such field"},
		{"a value of an enum", `["x","y"]`, `["x"]`, `v1 spec.a: enum "y" is only in ours`},
		{"a rule", `self.a != 'z'`, `true`,
			"v1 spec: rule \"self.a != 'z'\" is only in ours\nv1 spec: rule \"true\" is only in " +
				"the cluster"},
		{"a bound", `"maxItems":3`, `"maxItems":2`, "v1 spec.list: maxItems is 2 in the cluster " +
			"and 3 in ours"},
		{"the values of a map", `"additionalProperties":{"type":"string"}`,
			`"additionalProperties":{"type":"integer"}`,
			`v1 spec.map{}: type is "integer" in the cluster and "string" in ours`},
		{"a version", `"v1"`, `"v1beta1"`,
			"v1: the cluster has no such version\nv1beta1: ours has no such version"},
		{"storage", `"storage":true`, `"storage":false`, "v1: storage is false in the cluster " +
			"and true in ours"},
		{"status", `"subresources":{"status":{}},`, ``,
			`v1: subresources {"status":{}} is only in ours`},
		{"a webhook", `"scope"`, `"conversion":{"strategy":"Webhook"},"scope"`,
			`conversion: strategy is "Webhook" in the cluster and "None" in ours`},
		{"scope", `"Cluster"`, `"Namespaced"`,
			`scope: definition is "Namespaced" in the cluster and "Cluster" in ours`},
		{"a short name", `["th"]`, `[]`, `names: shortNames "th" is only in ours`},
		{"a column", `"type":"date"`, `"type":"string"`,
			`v1: column Age is {"jsonPath":".metadata.creationTimestamp","name":"Age",` +
				`"type":"string"} in the cluster and ` +
				`{"jsonPath":".metadata.creationTimestamp","name":"Age","type":"date"} in ours`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.old != "" && strings.Count(ours, c.old) == 0 {
				t.Fatalf("ours has no %s", c.old)
			}
			var got []string
			for _, x := range Compare(read(t, strings.Replace(ours, c.old, c.new, 1)), read(t,
				ours)) {
				got = append(got, x.String())
			}
			if s := strings.Join(got, "\n"); s != c.want {
				t.Errorf("got\n%s\nwant\n%s", s, c.want)
			}
		})
	}
}

// An older definition prunes what it does not know; a newer one harms nobody.
func TestWhatIsAbsentIsSevere(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     bool
	}{
		{`"deep":{"type":"string"}`, ``, true}, {`"deep":`, `"more":{},"deep":`, false},
		{`"v1"`, `"v2"`, true}, {`"maxItems":3`, `"maxItems":2`, false}, {`"Cluster"`,
			`"Namespaced"`, true},
	} {
		changes := Compare(read(t, strings.Replace(ours, c.old, c.new, 1)), read(t, ours))
		if got := slices.ContainsFunc(changes, Change.Severe); got != c.want {
			t.Errorf("%s -> %s: severe is %v", c.old, c.new, got)
		}
	}
}

func TestOwners(t *testing.T) {
	helm := `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":` +
		`{"meta.helm.sh/release-name":"karpenter-crd",` +
		`"meta.helm.sh/release-namespace":"karpenter"}}}`
	for _, c := range []struct{ in, want string }{
		{`{}`, "owned by nobody"},
		{helm, "owned by Helm release karpenter-crd in karpenter"},
		{strings.Replace(helm, `"Helm"`, `"hand"`, 1), "owned by nobody"},
		{`{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"k:x/y"}}}`,
			"kept by Argo CD (k:x/y)"},
		{`{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/name":"infra"}}}`,
			"kept by Flux (infra)"},
	} {
		if got := OwnerOf(read(t, c.in)).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
	if p := Adoption(read(t, helm), "karpenter-crd", "karpenter"); p != nil {
		t.Errorf("what is ours is adopted again: %v", p)
	}
	was := read(t, `{"metadata":{"labels":{"a":"b"}}}`)
	p := Adoption(was, "r", "n")
	meta := p["metadata"].(map[string]any)
	if got := fmt.Sprint(meta["labels"], meta["annotations"]); got !=
		"map[app.kubernetes.io/managed-by:Helm] map[meta.helm.sh/release-name:r "+
			"meta.helm.sh/release-namespace:n]" {
		t.Error(got)
	}
}
