package manual

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/internal/values"
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
	for env, names := range chartValues(t) {
		if !known[env] {
			t.Errorf("the chart sets %s, which is no option", env)
		}
		for _, v := range names {
			found[v] = true
		}
	}
	var file struct {
		Settings map[string]any
	}
	err := yaml.Unmarshal([]byte(read(t, "deploy", "charts", "karpenter", "values.yaml")), &file)
	if err != nil {
		t.Fatal(err)
	}
	azure, _ := file.Settings["azure"].(map[string]any)
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
	check("settings.", file.Settings)
	check("settings.azure.", azure)
	if strings.Count(flags(t), "\n| ") < 60 {
		t.Error("most options are missing")
	}
}

// What an installed Karpenter was told and a value of the chart can say stands in the file that
// install-values makes, or is noted: an upgrade with that file loses nothing without a word.
func TestWhatWasToldIsTakenOverOrNoted(t *testing.T) {
	byItself := []string{"KARPENTER_SERVICE", "METRICS_CERT_PATH"} // follow from names and switches
	all := chartValues(t)
	for env := range all {
		told := map[string]string{env: "Something=true"}
		f := values.Find(values.Facts{Karpenter: told})
		noted := slices.ContainsFunc(f.Notes, func(n string) bool {
			return strings.Contains(n, env+"=") && strings.Contains(n, all[env][0])
		})
		taken := slices.ContainsFunc(f.Values, func(v values.Value) bool {
			return v.Path == all[env][0] && v.Text == told[env]
		})
		if !noted && !taken && !slices.Contains(byItself, env) {
			t.Errorf("%s (%v) of an installed Karpenter is lost", env, all[env])
		}
	}
	if len(all) < 35 {
		t.Errorf("only %d variables were read", len(all))
	}
}
