package observe

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/karpenter-aks/karpenter/internal/atrest"
	"github.com/karpenter-aks/karpenter/model"
)

// What holds a cluster's price is shown by reason, and what held it before is gone.
func TestAClusterAtRestIsShownByReason(t *testing.T) {
	r, _, _ := recorder(t)
	r.AtRest(atrest.Report{Price: 3_000_000, Bound: 1_000_000,
		Gap: []atrest.Share{{Why: model.WhyPDB, Nodes: 2, Price: 2_000_000}}})
	r.AtRest(atrest.Report{Price: 2_000_000, Bound: 1_500_000,
		Gap: []atrest.Share{{Why: model.WhyBudget, Nodes: 1, Price: 500_000}}})
	for name, c := range map[string]struct{ got, want float64 }{
		"price":  {testutil.ToFloat64(r.metrics.restPrice), 2},
		"bound":  {testutil.ToFloat64(r.metrics.restBound), 1.5},
		"budget": {testutil.ToFloat64(r.metrics.restGap.WithLabelValues(string(model.WhyBudget))), 0.5},
		"kinds":  {float64(testutil.CollectAndCount(r.metrics.restGap)), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}
