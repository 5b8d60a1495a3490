package observe

import (
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Paused shows what of each pool is on hold.
func (r *Recorder) Paused(w *model.World, brakes map[string]disrupt.Brake) {
	r.metrics.paused.Reset()
	r.metrics.driftFailures.Reset()
	for i := range w.Pools {
		p := &w.Pools[i]
		held := w.PauseOf(p)
		words := held.Words()
		if held.Observe {
			words = append(words, model.DisruptionObserve)
		}
		if b := brakes[p.Name]; b.Failures > 0 {
			r.metrics.driftFailures.WithLabelValues(p.Name).Set(float64(b.Failures))
			if b.Open() {
				words = append(words, model.PauseDrift)
			}
		}
		for _, word := range words {
			r.metrics.paused.WithLabelValues(p.Name, word).Set(1)
		}
	}
}

// Observed shows what moves that are only told of would save, now and at the prices of now. It is asked when all nodes were looked at.
func (r *Recorder) Observed(w *model.World, list []disrupt.Move) {
	r.metrics.observedNodes.Reset()
	r.metrics.observedSavings.Reset()
	for _, m := range list {
		c := w.Index.Claim(m.Claims[0])
		if c == nil {
			continue
		}
		r.metrics.observedNodes.WithLabelValues(c.Pool, disruptionReason(m.Why)).Add(float64(len(m.Nodes)))
		r.metrics.observedSavings.WithLabelValues(c.Pool, disruptionReason(m.Why)).Add(m.Saves.Float())
	}
}

// PauseChanged tells on a pool what of it is on hold now, or that nothing is any more.
func (r *Recorder) PauseChanged(p model.Pool, c model.Condition) {
	typ, reason, text := kube.Normal, "Paused", c.Message
	switch {
	case c.Status != model.True:
		reason, text = "Resumed", "nothing is on hold any more"
	case c.Reason != "Asked":
		typ = kube.Warning
	}
	r.log.Info("what is on hold of a pool has changed", "NodePool", p.Name, "now", text)
	r.say(p, typ, reason, "%s", text)
}
