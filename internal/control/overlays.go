package control

import (
	"context"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/overlay"
	"github.com/karpenter-aks/karpenter/model"
)

// overlays keeps the status of every overlay up to date. What overlays change, the mirror shows in its catalogues.
func (c *Controller) overlays(ctx context.Context) time.Duration {
	w := c.World.Snapshot()
	if len(w.Overlays) == 0 || len(w.Classes) > 0 && len(w.Catalogs) == 0 {
		return 0 // before the cloud answered, nobody can say which overlays touch the same offering
	}
	v := c.World.Verdict()
	var next time.Duration
	for _, o := range w.Overlays {
		p := kube.OverlayPatch{Conditions: model.Changed(o.Conditions, overlay.Conditions(o, v.Problems), c.Now())}
		if len(p.Conditions) == 0 {
			continue
		}
		next = sooner(next, c.put(ctx, "overlay/"+o.Name, o, p.Conditions, nil, func(ctx context.Context) error {
			return c.Store.PatchOverlay(ctx, o.Name, p)
		}))
	}
	return next
}

// overlaid notes on a claim which overlays had a part in choosing its machine: raw is what the cloud says of it, seen
// what we believed.
func overlaid(raw, seen model.Catalog, key model.OfferingKey) map[string]string {
	a, _ := raw.Type(key.Type)
	b, _ := seen.Type(key.Type)
	x, _ := offeringOf(a, key)
	y, _ := offeringOf(b, key)
	notes := map[string]string{}
	if x.Price != y.Price {
		notes[model.AnnotationPriceOverlay] = "true"
	}
	for _, name := range b.Capacity.Names() {
		if a.Capacity.Get(name) != b.Capacity.Get(name) {
			notes[model.AnnotationCapacityOverlay] = "true"
		}
	}
	return notes
}
