package observe

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// What is set aside, and what the API server does not serve, is told by event, metric and log line
// as long as it is; each names what it is about, and the log says it once.
func TestWhatIsSetAsideIsToldEverywhere(t *testing.T) {
	const why = `spec.template.spec.expireAfter: "9999999h": time: invalid duration "9999999h"`
	pool := model.Aside(model.Pool{Name: "lying", UID: "u-1"}, why)
	kind := model.Unserved{Resource: "capacitybuffers.autoscaling.x-k8s.io", Version: "v1beta1",
		Message: "no matches for kind"}
	for _, c := range []struct {
		name, about, gauge, key, reason string
		tell                            func(r *Recorder, n int)
		words                           []string
	}{
		{"an object", "lying", "karpenter_cluster_state_unreadable_object", "NodePool lying ",
			"Unreadable",
			func(r *Recorder, n int) { r.Asides([]model.Object{pool}[:n]) },
			[]string{why}},
		{"a kind", kind.Resource, "karpenter_cluster_state_unserved_kind", kind.Resource + " ",
			"Unserved",
			func(r *Recorder, n int) { r.Unserved([]model.Unserved{kind}[:n]) },
			[]string{kind.Resource, kind.Version, kind.Message}},
	} {
		r, ear, reg := recorder(t)
		var lines []string
		r.log = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		c.tell(r, 1)
		c.tell(r, 1)
		if got := gauges(t, reg, c.gauge); !same(got, map[string]float64{c.key: 1}) {
			t.Errorf("%s: %s is %v", c.name, c.gauge, got)
		}
		if len(ear.heard) != 2 { // who announces them takes equal ones together
			t.Fatalf("%s: heard %+v, want an event each time", c.name, ear.heard)
		}
		e := ear.heard[0]
		if e.About.ObjectKey() != c.about || e.Reason != c.reason || e.Type != kube.Warning {
			t.Errorf("%s: heard %+v", c.name, e)
		}
		if len(lines) != 1 {
			t.Errorf("%s: logged %q, want one line", c.name, lines)
		}
		for _, w := range c.words {
			if !strings.Contains(e.Message, w) {
				t.Errorf("%s: the event does not name %s: %s", c.name, w, e.Message)
			}
			if !strings.Contains(strings.ReplaceAll(strings.Join(lines, ""), `\"`, `"`), w) {
				t.Errorf("%s: the log does not name %s: %s", c.name, w, lines)
			}
		}
		c.tell(r, 0)
		if got := gauges(t, reg, c.gauge); len(got) > 0 {
			t.Errorf("%s: mended, %s is %v", c.name, c.gauge, got)
		}
		if len(ear.heard) != 2 || len(lines) != 2 {
			t.Errorf("%s: mended, heard %d events and logged %q", c.name, len(ear.heard), lines)
		}
	}
}
