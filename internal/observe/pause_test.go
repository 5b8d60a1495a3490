package observe

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/model"
)

// gauges are the values of a family, by its labels in their order.
func gauges(t *testing.T, reg *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			key := ""
			for _, l := range m.Label {
				key += l.GetValue() + " "
			}
			out[key] = m.GetGauge().GetValue()
		}
	}
	return out
}

func same(a, b map[string]float64) bool {
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return len(a) == len(b)
}

// What is on hold shows as long as it is, whoever holds it.
func TestMetricsShowWhatIsOnHold(t *testing.T) {
	r, _, reg := recorder(t)
	w := model.World{Pools: []model.Pool{
		{Name: "a", Annotations: map[string]string{model.AnnotationPause: "provisioning", model.AnnotationDisruptionMode: "observe"}},
		{Name: "b"},
	}}
	r.Paused(&w, map[string]disrupt.Brake{"b": {Failures: 3}})
	want := map[string]float64{"provisioning a ": 1, "observe a ": 1, "drift b ": 1}
	if got := gauges(t, reg, "karpenter_nodepools_paused"); !same(got, want) {
		t.Errorf("paused: %v, want %v", got, want)
	}
	if got := gauges(t, reg, "karpenter_nodepools_drift_failures"); !same(got, map[string]float64{"b ": 3}) {
		t.Errorf("failures: %v", got)
	}
	w.Pools[0].Annotations = nil
	r.Paused(&w, map[string]disrupt.Brake{"b": {Failures: 2}})
	if got := gauges(t, reg, "karpenter_nodepools_paused"); len(got) > 0 {
		t.Errorf("paused although nothing is: %v", got)
	}
}

// What moves that are only told of would save is added up by pool and reason, and gone when they are.
func TestMetricsShowWhatWouldBeSaved(t *testing.T) {
	r, _, reg := recorder(t)
	w := model.World{Claims: []model.Claim{{Name: "c", Pool: "p"}, {Name: "d", Pool: "p"}, {Name: "e", Pool: "q"}}}.Indexed()
	r.Observed(&w, []disrupt.Move{
		{Claims: []string{"c"}, Nodes: []string{"nc"}, Why: model.WhyEmpty, Saves: model.Dollars(0.5)},
		{Claims: []string{"d"}, Nodes: []string{"nd"}, Why: model.WhyEmpty, Saves: model.Dollars(0.25)},
		{Claims: []string{"e"}, Nodes: []string{"ne"}, Why: model.WhyDrifted, Saves: -model.Dollars(0.25)},
	})
	if got := gauges(t, reg, "karpenter_voluntary_disruption_observed_savings"); !same(got, map[string]float64{"p empty ": 0.75, "q drifted ": -0.25}) {
		t.Errorf("savings: %v", got)
	}
	if got := gauges(t, reg, "karpenter_voluntary_disruption_observed_nodes"); !same(got, map[string]float64{"p empty ": 2, "q drifted ": 1}) {
		t.Errorf("nodes: %v", got)
	}
	r.Observed(&w, nil)
	if got := gauges(t, reg, "karpenter_voluntary_disruption_observed_nodes"); len(got) > 0 {
		t.Errorf("nodes although there are none: %v", got)
	}
}
