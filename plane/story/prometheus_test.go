package story

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/plane/assemble"
	"github.com/karpenter-aks/karpenter/plane/leash"
)

// prometheus is a real one (Debian's package of that name) that reads the metrics of a lab's controller.
type prometheus struct {
	l    *lab
	base string
}

// watched starts a Prometheus that reads the lab's controller every second, with our alerts. It ends with the test.
func (l *lab) watched() *prometheus {
	l.t.Helper()
	state, err := assemble.Load(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	address := lis.Addr().String()
	lis.Close()
	alerts, err := filepath.Abs("../../deploy/charts/karpenter/alerts/karpenter.yaml")
	if err != nil {
		l.t.Fatal(err)
	}
	dir := l.t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 5s}
rule_files: [%q]
scrape_configs:
- job_name: karpenter
  static_configs: [{targets: ["127.0.0.1:%d"], labels: {namespace: karpenter}}]
`, alerts, state.MetricsPort)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	var said strings.Builder
	cmd.Stderr = &said
	child, err := leash.Start(cmd)
	if err != nil {
		l.t.Fatalf("%v (it comes with Debian's package prometheus)", err)
	}
	l.t.Cleanup(func() {
		child.Signal(syscall.SIGTERM)
		<-child.Done()
		if l.t.Failed() {
			l.t.Logf("prometheus said\n%s", tail(said.String(), 3000))
		}
	})
	p := &prometheus{l, "http://" + address}
	l.until("Prometheus reads the controller", time.Minute, func() bool { return p.number(`up{job="karpenter"}`) == 1 })
	return p
}

// ask asks Prometheus' API; what it answers is decoded into the data.
func (p *prometheus) ask(path string, args url.Values, into any) error {
	resp, err := http.Get(p.base + path + "?" + args.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// query returns how many series an expression has; it must be one that Prometheus understands.
func (p *prometheus) query(expr string) int {
	p.l.t.Helper()
	var data struct{ Result []json.RawMessage }
	if err := p.ask("/api/v1/query", url.Values{"query": {expr}}, &data); err != nil {
		p.l.t.Errorf("%s: %v", expr, err)
	}
	return len(data.Result)
}

// number is the value of an expression with one series; -1 when there is none, or Prometheus is not there yet.
func (p *prometheus) number(expr string) float64 {
	var data struct {
		Result []struct{ Value [2]any }
	}
	if err := p.ask("/api/v1/query", url.Values{"query": {expr}}, &data); err != nil || len(data.Result) != 1 {
		return -1
	}
	var out float64
	if _, err := fmt.Sscan(fmt.Sprint(data.Result[0].Value[1]), &out); err != nil {
		return -1
	}
	return out
}

// asked is a row of the facts about what well-known dashboards ask for.
type asked struct {
	metric, kind string
	labels       []string
	reason       string // why there is no data; "" = there is
}

// rows reads a file of facts: words, and behind " not: " a reason.
func rows(t *testing.T, file string, words int, each func(f []string, reason string)) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../internal/meter/testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line, reason, _ := strings.Cut(strings.TrimSpace(line), " not: ")
		if f := strings.Fields(line); len(f) == words && f[0] != "#" {
			each(f, reason)
		}
	}
}

func facts(t *testing.T) (out []asked) {
	t.Helper()
	rows(t, "asked.txt", 4, func(f []string, reason string) {
		out = append(out, asked{f[1], f[2], labelsOf(f[3]), reason})
	})
	return out
}

func labelsOf(s string) []string {
	if s == "-" {
		return nil
	}
	return strings.Split(s, ",")
}

// series is what of a fact stands in Prometheus, with all its labels said; those with a value have that one.
func (x asked) series() string {
	name := x.metric
	if x.kind == "histogram" {
		name += "_bucket"
	}
	var labels []string
	for _, l := range x.labels {
		if key, value, fixed := strings.Cut(l, "="); fixed {
			labels = append(labels, fmt.Sprintf("%s=%q", key, value))
		} else {
			labels = append(labels, l+`!=""`)
		}
	}
	return "last_over_time(" + name + "{" + strings.Join(labels, ",") + "}[1h])"
}

// answersQueries judges what each query of well-known dashboards selects, and counts the queries of which everything is there.
func (p *prometheus) answersQueries() {
	t := p.l.t
	t.Helper()
	missing, selections := map[string]bool{}, 0
	rows(t, "queries.txt", 4, func(f []string, reason string) {
		selections++
		x := asked{metric: f[2], labels: labelsOf(f[3]), reason: reason}
		has := p.query(x.series()) > 0
		if has && reason != "" {
			t.Errorf("%s %s: %s %v has data, although %s", f[0], f[1], x.metric, x.labels, reason)
		}
		if !has && reason == "" {
			t.Errorf("%s %s: %s has no data by %v", f[0], f[1], x.metric, x.labels)
		}
		for _, n := range strings.Split(f[1], ",") {
			missing[f[0]+" "+n] = missing[f[0]+" "+n] || !has
		}
	})
	found := 0
	for _, m := range missing {
		if !m {
			found++
		}
	}
	t.Logf("%d of %d queries find everything that they select (%d selections)", found, len(missing), selections)
	if len(missing) < 170 {
		t.Errorf("only %d queries were read", len(missing))
	}
}

// Every metric that a well-known dashboard or alert asks for has data, with the labels that it asks by, and is of the type that it takes it
// for; what has none is what the facts say has none. Our own dashboards ask for what Prometheus understands and has.
func (p *prometheus) hasWhatIsAskedFor() {
	t := p.l.t
	t.Helper()
	type meta struct{ Type string }
	types := map[string][]meta{}
	if err := p.ask("/api/v1/metadata", nil, &types); err != nil {
		t.Fatal(err)
	}
	list, found := facts(t), 0
	for _, x := range list {
		has := p.query(x.series()) > 0
		switch {
		case has && x.reason != "":
			t.Errorf("%s %v has data, although %s", x.metric, x.labels, x.reason)
		case !has && x.reason == "":
			t.Errorf("%s has no data by %v", x.metric, x.labels)
		case has:
			found++
		}
		if m := types[x.metric]; x.reason == "" && (len(m) != 1 || m[0].Type != x.kind) {
			t.Errorf("%s is of type %v, want %s", x.metric, m, x.kind)
		}
	}
	t.Logf("%d of %d facts find data", found, len(list))
	if len(list) < 60 {
		t.Errorf("only %d facts were read", len(list))
	}
	p.answersQueries()
	p.understands()
}

// mayBeEmpty are metrics of our own dashboards that have no series as long as nothing is wrong or on hold.
var mayBeEmpty = regexp.MustCompile(`karpenter_(nodepools_paused|nodepools_drift_failures|cluster_state_(unreadable_object|pruned_field|unserved_kind)|` +
	`cluster_gap_dollars_per_hour|voluntary_disruption_observed_savings|instance_vm_create_failure_total|pods_unbound_time_seconds)`)

// understands asks what our own dashboards do, with every value of their variables.
func (p *prometheus) understands() {
	t := p.l.t
	t.Helper()
	files, err := filepath.Glob("../../deploy/charts/karpenter/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	name := regexp.MustCompile(`\b(?:karpenter|operator|controller_runtime|workqueue|client_go|leader_election|process)_\w+`)
	for _, file := range files {
		var board struct {
			Panels []struct{ Targets []struct{ Expr string } }
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &board); err != nil {
			t.Fatal(err)
		}
		for _, panel := range board.Panels {
			for _, x := range panel.Targets {
				p.query(strings.ReplaceAll(x.Expr, "$nodepool", ".*"))
				for _, m := range name.FindAllString(x.Expr, -1) {
					if p.query("last_over_time("+m+"[1h])") == 0 && !mayBeEmpty.MatchString(m) {
						t.Errorf("%s: %s has no data", filepath.Base(file), m)
					}
				}
			}
		}
	}
}
