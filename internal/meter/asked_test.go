package meter_test

import (
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-aks/karpenter/internal/meter"
)

// known are the labels and kinds of all metrics, with those of histograms and summaries.
func known() (kinds map[string]meter.Kind, labels map[string][]string) {
	kinds, labels = map[string]meter.Kind{}, map[string][]string{}
	for _, m := range append(meter.Counted(), meter.Seen()...) {
		kinds[m.Name], labels[m.Name] = m.Kind, m.Names()
	}
	for _, l := range meter.Libraries() {
		kinds[l.Name], labels[l.Name] = l.Kind, strings.Fields(l.Labels)
	}
	for name, kind := range kinds {
		switch kind {
		case meter.Histogram:
			labels[name+"_bucket"] = append(slices.Clone(labels[name]), "le")
			labels[name+"_sum"], labels[name+"_count"] = labels[name], labels[name]
		case meter.Summary:
			labels[name] = append(slices.Clone(labels[name]), "quantile")
		}
	}
	return kinds, labels
}

// rows are the lines of a file of testdata, and their words, but for comments and for what stands there
// with the reason why it is not.
func rows(t *testing.T, file string) iter.Seq2[string, []string] {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, []string) bool) {
		for line := range strings.Lines(string(raw)) {
			line, _, missing := strings.Cut(strings.TrimSpace(line), " not: ")
			f := strings.Fields(line)
			if len(f) == 0 || f[0] == "#" || missing {
				continue
			}
			if !yield(line, f) {
				return
			}
		}
	}
}

// What well-known dashboards and alerts ask for is there, of the type and with the labels that they
// expect. That data comes is shown where a Prometheus reads a whole lab.
func TestWhatIsAskedForIsInTheTables(t *testing.T) {
	kinds, labels := known()
	n := 0
	for line, f := range rows(t, "asked.txt") {
		n++
		if len(f) != 4 || kinds[f[1]] != meter.Kind(f[2]) {
			t.Errorf("%s: the table has %q", line, kinds[f[1]])
			continue
		}
		for _, l := range strings.Split(f[3], ",") {
			if l != "-" && !slices.Contains(labels[f[1]], l) {
				t.Errorf("%s: no label %s", line, l)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d rows were read", n)
	}
}

// What each of their queries selects is in the tables, too. Series of histograms have names of their own.
func TestWhatQueriesSelectIsInTheTables(t *testing.T) {
	_, labels := known()
	n := 0
	for line, f := range rows(t, "queries.txt") {
		n++
		have, there := labels[f[2]]
		if len(f) != 4 || !there {
			t.Errorf("%s: no table has it", line)
			continue
		}
		for _, l := range strings.Split(f[3], ",") {
			key, _, _ := strings.Cut(l, "=")
			if key != "-" && !slices.Contains(have, key) {
				t.Errorf("%s: no label %s", line, key)
			}
		}
	}
	if n < 130 {
		t.Errorf("only %d rows were read", n)
	}
}

var (
	metricName = regexp.MustCompile(`\b(?:karpenter|operator|controller_runtime|workqueue|` +
		`client_go|leader_election)_\w+`)
	grouping = regexp.MustCompile(`\b(?:by|on|without|group_left) \(([^)]*)\)`)
	matcher  = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
)

// queries are the expressions of our dashboards and alerts, by where they stand.
func queries(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..", "deploy", "charts", "karpenter")
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(root, "dashboards", "*.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	for _, file := range files {
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		read(t, file, json.Unmarshal, &board)
		for _, p := range board.Panels {
			for i, x := range p.Targets {
				out[filepath.Base(file)+" "+p.Title+" "+string(rune('A'+i))] = x.Expr
			}
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	read(t, filepath.Join(root, "alerts", "karpenter.yaml"), yaml.Unmarshal, &rules)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			out["alert "+r.Alert] = r.Expr
		}
	}
	return out
}

func read(t *testing.T, file string, as func([]byte, any) error, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	err = as(raw, into)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Our own dashboards and alerts ask for metrics that there are, by labels that these have.
func TestOurOwnQueriesAskForWhatThereIs(t *testing.T) {
	_, labels := known()
	all := queries(t)
	if len(all) < 45 {
		t.Errorf("only %d queries were read", len(all))
	}
	for where, expr := range all {
		allowed := []string{"", "job", "namespace"}
		names := metricName.FindAllString(expr, -1)
		for _, name := range names {
			if labels[name] == nil && !slices.Contains(bare(), name) {
				t.Errorf("%s: no metric %s", where, name)
			}
			allowed = append(allowed, labels[name]...)
		}
		if len(names) == 0 && !strings.Contains(expr, "process_") {
			t.Errorf("%s asks for nothing of ours: %s", where, expr)
		}
		var asked []string
		for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
			asked = append(asked, strings.Split(m[1], ",")...)
		}
		for _, m := range matcher.FindAllStringSubmatch(expr, -1) {
			asked = append(asked, m[1])
		}
		for _, l := range asked {
			if !slices.Contains(allowed, strings.TrimSpace(l)) {
				t.Errorf("%s: none of %v has the label %s", where, names, l)
			}
		}
	}
}

// bare are the metrics without labels.
func bare() (out []string) {
	_, labels := known()
	for name, list := range labels {
		if len(list) == 0 {
			out = append(out, name)
		}
	}
	return out
}
