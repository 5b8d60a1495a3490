package manual

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/config"
)

var (
	said = regexp.MustCompile(`(?m)^  "([A-Z_]+)" (.+)$`)
	path = regexp.MustCompile(`(\.Values\.|\$s\.|\$a\.)([A-Za-z.]+)|\$(tags|gates)\b`)
)

// chartValues are the values of the chart by the environment variable that they set, read out of
// its template.
func chartValues(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	helpers := read(t, "deploy", "charts", "karpenter", "templates", "_helpers.tpl")
	for _, line := range said.FindAllStringSubmatch(helpers, -1) {
		for _, m := range path.FindAllStringSubmatch(line[2], -1) {
			name := m[2]
			switch {
			case m[3] == "tags":
				name = "settings.tags"
			case m[3] == "gates":
				name = "settings.featureGates"
			case m[1] == "$s.":
				name = "settings." + name
			case m[1] == "$a.":
				name = "settings.azure." + name
			}
			if !slices.Contains(out[line[1]], name) {
				out[line[1]] = append(out[line[1]], name)
			}
		}
	}
	for _, env := range []string{"NETWORK_PLUGIN_MODE", "NETWORK_DATAPLANE"} {
		m := regexp.MustCompile(`"` + env + `" \$a\.(\w+)`).FindStringSubmatch(helpers)
		if m == nil {
			t.Fatalf("the chart does not set %s", env)
		}
		out[env] = []string{"settings.azure." + m[1]}
	}
	return out
}

// Every setting of the chart sets an option that there is, and every one is found.
func TestSettingsOfTheChartAreInTheReference(t *testing.T) {
	known := map[string]bool{}
	for _, o := range config.Options() {
		for _, e := range o.Env {
			known[e] = true
		}
	}
	found := map[string]bool{}
	for env, values := range chartValues(t) {
		if !known[env] {
			t.Errorf("the chart sets %s, which is no option", env)
		}
		for _, v := range values {
			found[v] = true
		}
	}
	var values struct {
		Settings map[string]any
	}
	err := yaml.Unmarshal([]byte(read(t, "deploy", "charts", "karpenter", "values.yaml")), &values)
	if err != nil {
		t.Fatal(err)
	}
	azure, _ := values.Settings["azure"].(map[string]any)
	if len(azure) < 10 {
		t.Fatalf("only %d settings of Azure", len(azure))
	}
	ignored := []string{"settings.clusterCABundle"} // its comment says so
	check := func(prefix string, of map[string]any) {
		for name := range of {
			full := prefix + name
			if full != "settings.azure" && !found[full] && !slices.Contains(ignored, full) {
				t.Errorf("%s sets nothing", full)
			}
		}
	}
	check("settings.", values.Settings)
	check("settings.azure.", azure)
	if strings.Count(flags(t), "\n| ") < 60 {
		t.Error("most options are missing")
	}
}
