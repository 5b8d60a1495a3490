package control

import (
	"time"

	"github.com/karpenter-aks/karpenter/internal/atrest"
	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/model"
)

// weighEvery is how often a cluster in which nothing is worth moving is held against the least that it
// could cost, at most: that costs some tenths of a second for a hundred thousand pods.
const weighEvery = 5 * time.Minute

// weigh shows what the cluster costs above the least that it could, and what holds it there, when a full
// look found nothing to do.
func (c *disruptor) weigh(w model.World, d disrupt.Decision) {
	now := c.Now()
	if len(d.Moves)+len(d.Undo) > 0 || now.Sub(c.weighed) < weighEvery {
		return
	}
	c.weighed = now
	var r atrest.Report
	_, ok := c.safely(&c.others, "disrupt/rest", w, func() { r = atrest.Judge(w, d.Kept, bound.Quick) })
	if ok {
		c.Observe.AtRest(r)
	}
}
