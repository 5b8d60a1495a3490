package sim

import (
	"math"
	"strings"
	"testing"
	"time"
)

// cluster reads the controller's metrics about the cluster as a whole, those with labels added up.
func (s *Sim) cluster() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.metrics.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range list {
		name, ok := strings.CutPrefix(f.GetName(), "karpenter_cluster_")
		if !ok || strings.HasPrefix(name, "state_") {
			continue
		}
		for _, m := range f.GetMetric() {
			out[name] += m.GetGauge().GetValue()
		}
	}
	return out
}

func TestAClusterAtRestSaysWhatItCostsAndWhatHoldsThat(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Scale("web", 12, oneCore())
		s.Until("all run", 5*time.Minute, s.runs("web", 12))
		s.Pass(20 * time.Minute)
		got, price := s.cluster(), s.Price().Float()
		cost, bound, gap := got["price_dollars_per_hour"], got["bound_dollars_per_hour"], got["gap_dollars_per_hour"]
		if math.Abs(cost-price) > 1e-5 || bound <= 0 || bound > cost || math.Abs(cost-bound-gap) > 1e-5 {
			t.Errorf("the nodes cost %v; it says %v", price, got)
		}
	})
}
