package control

import (
	"context"
	"fmt"
	"time"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/static"
	"github.com/karpenter-aks/karpenter/model"
)

// staticEvery is how often static pools are looked at, at most: what cannot be bought is asked about with every look.
const staticEvery = 500 * time.Millisecond

// staticKeeper brings every pool that has replicas to that number of nodes. Its memory is only about when to look.
type staticKeeper struct {
	*Controller
	last time.Time
}

func (c *Controller) staticPools() *staticKeeper { return &staticKeeper{Controller: c} }

func (c *staticKeeper) pass(ctx context.Context) time.Duration {
	if !c.Settings.StaticCapacity {
		return 0
	}
	now := c.Now()
	if age := now.Sub(c.last); age >= 0 && age < staticEvery {
		return staticEvery - age
	}
	c.last = now
	w := c.World.Snapshot()
	var next time.Duration
	spares := disrupt.Spares(w)
	for _, pool := range w.Pools {
		var d static.Decision
		if wait, ok := c.safely(&c.others, "static/"+pool.Name, w, func() { d = static.DecideWith(c.Decide, w, pool, spares) }); !ok {
			next = sooner(next, wait)
			continue
		}
		if d.Why != "" {
			c.Observe.StaticHeldBack(pool, d)
		}
		if len(d.Create)+len(d.Delete) == 0 {
			continue
		}
		next = sooner(next, c.others.start(ctx, "static/"+pool.Name, func(ctx context.Context) error { return c.fill(ctx, pool.Name) }))
	}
	return next
}

// fill carries out what is decided on the newest picture: the step may have waited. Done in part and tried again it does
// the rest, because names and picture say what was done.
func (c *Controller) fill(ctx context.Context, name string) error {
	w := c.World.Snapshot()
	pool, class, ok := poolAndClass(w, name)
	if !ok {
		return nil
	}
	d := static.DecideWith(c.Decide, w, pool, disrupt.Spares(w))
	if len(d.Create) > 0 {
		if !c.sound(place.Input{World: d.Asked}, d.Plan) {
			return &later{after: replanSame, err: fmt.Errorf("pool %s: what would be bought is unsound", name)}
		}
		c.Mark(PointPlanned)
	}
	for _, x := range d.Create {
		o := order{claim: offer.Claim(x.Purchase, pool, class, x.Name), purchase: x.Purchase}
		if err := c.create(ctx, o, c.Observe.ClaimCreated, PointClaimCreated); err != nil {
			return err
		}
	}
	for _, claim := range d.Delete {
		if err := ignore(c.Store.DeleteClaim(ctx, claim), kube.NotFound); err != nil {
			return err
		}
		c.Observe.StaticRemoved(model.Claim{Name: claim, Pool: name})
	}
	return nil
}
