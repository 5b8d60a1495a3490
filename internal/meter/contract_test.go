package meter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/karpenter-aks/karpenter/internal/meter"
)

// bounds are those of the histograms that users know, by the names that the contract gives them.
func bounds() map[string][]float64 {
	work := []float64{.005, .01, .025, .05, .1, .15, .2, .25, .3, .35, .4, .45, .5, .6, .7, .8,
		.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40,
		50, 60, 120, 150, 300, 450, 600}
	const h, d = 3600, 86400
	return map[string][]float64{
		"D45":  work,
		"CR40": work[:40],
		"E11":  {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
		"E12":  {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048},
		"S15": {.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
			8192},
		"DEF": {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		"L21": {900, 1800, 2700, h, 2 * h, 4 * h, 6 * h, 8 * h, 10 * h, 12 * h, 16 * h, 20 * h,
			d, 2 * d, 3 * d, 5 * d, 10 * d, 15 * d, 20 * d, 25 * d, 30 * d},
		"W12": {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, .01, .1, 1, 10, 100, 1000},
	}
}

// promise is a row of the contract.
type promise struct{ name, kind, bounds, labels string }

// contract are its rows, with labels in the order of the alphabet.
func contract(t *testing.T) (out []promise) {
	t.Helper()
	node := ""
	for _, f := range rows(t, "contract.txt") {
		switch f[0] {
		case "node:":
			node = strings.Join(f[1:], ",")
			continue
		case "event", "condition":
			continue
		}
		labels := strings.Split(f[2], ",")
		switch labels[0] {
		case "-":
			labels = nil
		case "node":
			labels = append(strings.Split(node, ","), labels[1:]...)
		}
		p := promise{name: f[0], kind: f[1], labels: sorted(labels)}
		if len(f) > 3 {
			p.bounds = f[3]
		}
		out = append(out, p)
	}
	return out
}

func sorted(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Every metric of the contract is served with its type and labels, or stands among those that are not,
// with the reason; and nothing stands in both, or in our tables as if it were of the contract.
func TestTheContractIsKeptOrExcused(t *testing.T) {
	kinds, labels := known()
	excused := map[string]bool{}
	for _, x := range meter.Without() {
		if strings.Contains(x.Names, " of ") {
			continue // labels, an event, conditions
		}
		for _, n := range strings.Split(x.Names, ", ") {
			excused[n] = x.Why != ""
		}
	}
	all := contract(t)
	promised := map[string]bool{}
	for _, p := range all {
		promised[p.name] = true
		switch kind, served := kinds[p.name]; {
		case served && excused[p.name]:
			t.Errorf("%s is served, and excused", p.name)
		case !served && !excused[p.name]:
			t.Errorf("%s is neither served nor excused", p.name)
		case !served:
		case string(kind) != p.kind:
			t.Errorf("%s is a %s, want a %s", p.name, kind, p.kind)
		default:
			got := slices.DeleteFunc(slices.Clone(labels[p.name]), func(l string) bool {
				return l == "quantile"
			})
			if sorted(got) != p.labels {
				t.Errorf("%s has the labels %s, want %s", p.name, sorted(got), p.labels)
			}
		}
	}
	if len(all) < 130 {
		t.Errorf("only %d rows were read", len(all))
	}
	for name := range excused {
		if !promised[name] {
			t.Errorf("%s is excused, and nobody expects it", name)
		}
	}
	for _, m := range append(meter.Counted(), meter.Seen()...) {
		if !m.Own && !promised[m.Name] {
			t.Errorf("%s is neither our own nor in the contract", m.Name)
		}
	}
}

// So are events, and conditions with the events that tell of them.
func TestEventsAndConditionsOfTheContract(t *testing.T) {
	excused := ""
	for _, x := range meter.Without() {
		excused += x.Names + "\n"
	}
	events, conditions := 0, 0
	for line, f := range rows(t, "contract.txt") {
		switch f[0] {
		case "event":
			events++
			if strings.Contains(excused, "event "+f[1]+" of ") {
				continue
			}
			for _, on := range strings.Split(f[3], ",") {
				if !meter.Known(f[1], f[2], on) {
					t.Errorf("%s: the table has no such event of a %s", line, on)
				}
			}
		case "condition":
			conditions++
			if !slices.ContainsFunc(meter.Conditions(), func(c meter.Condition) bool {
				return c.On == f[1] && c.Type == f[2] && !c.Own
			}) {
				t.Errorf("%s: the table has no such condition", line)
			}
			if told := meter.Known(f[2], "Normal", f[1]); told != (len(f) > 3) {
				t.Errorf("%s: told as an event: %v", line, told)
			}
		}
	}
	if events < 25 || conditions < 25 {
		t.Errorf("only %d events and %d conditions were read", events, conditions)
	}
}

// Histograms have the bounds that users' queries name, and summaries the quantiles.
func TestBoundsAreThoseOfTheContract(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := meter.NewSet(reg, meter.Options{Profile: meter.Full})
	kinds, labels := known()
	want := map[string][]float64{}
	library := meter.Libraries()
	for _, p := range contract(t) {
		_, served := kinds[p.name]
		if !served || slices.ContainsFunc(library, func(l meter.Library) bool {
			return l.Name == p.name
		}) {
			continue
		}
		values := make([]string, len(labels[p.name]))
		switch p.kind {
		case "histogram":
			want[p.name] = bounds()[p.bounds]
			s.Histogram(p.name).WithLabelValues(values...).Observe(1)
		case "summary":
			want[p.name] = []float64{0, .5, .9, .99, 1}
			s.Summary(p.name).WithLabelValues(values[1:]...).Observe(1)
		}
	}
	families, err := reg.Gather()
	if err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	if len(families) != len(want) || len(want) < 25 {
		t.Errorf("%d histograms and summaries, want %d", len(families), len(want))
	}
	for _, f := range families {
		got, name := limits(f.Metric[0]), f.GetName()
		missing := slices.ContainsFunc(want[name], func(x float64) bool {
			return !slices.ContainsFunc(got, func(y float64) bool {
				return y-x <= 1e-9*x && x-y <= 1e-9*x
			})
		})
		histogram := f.GetType() == dto.MetricType_HISTOGRAM
		if len(want[name]) == 0 || missing || histogram && len(got) != len(want[name]) {
			t.Errorf("%s has %v, want %v", name, got, want[name])
		}
	}
}

func limits(m *dto.Metric) (out []float64) {
	for _, b := range m.GetHistogram().GetBucket() {
		out = append(out, b.GetUpperBound())
	}
	for _, q := range m.GetSummary().GetQuantile() {
		out = append(out, q.GetQuantile())
	}
	return out
}
