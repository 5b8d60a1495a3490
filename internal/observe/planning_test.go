package observe

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/internal/meter"
)

// TestAPlanInTheMakingIsTimed: the seconds that it took so far are told while it is being made, and only then.
func TestAPlanInTheMakingIsTimed(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg, meter.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	seconds := func() float64 {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "karpenter_scheduler_unfinished_work_seconds" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	r := New(nil, logr.Discard(), m)
	if got := seconds(); got != -1 {
		t.Errorf("%v seconds before there is a plan", got)
	}
	done := r.Planning(time.Now().Add(-time.Hour))
	if got := seconds(); got < 3600 {
		t.Errorf("%v seconds, an hour after it was begun", got)
	}
	done()
	if seconds() != -1 {
		t.Error("told of a plan that is there")
	}
}
