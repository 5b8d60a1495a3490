package observe

import "github.com/karpenter-aks/karpenter/internal/atrest"

// AtRest shows what the nodes of NodePools cost, the least that any for their pods could, and what holds
// the difference.
func (r *Recorder) AtRest(x atrest.Report) {
	r.metrics.restPrice.Set(x.Price.Float())
	r.metrics.restBound.Set(x.Bound.Float())
	r.metrics.restGap.Reset()
	for _, s := range x.Gap {
		r.metrics.restGap.WithLabelValues(string(s.Why)).Set(s.Price.Float())
	}
}
