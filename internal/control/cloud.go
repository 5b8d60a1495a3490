package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/model"
)

// How often the cloud is listed: seldom, because single machines are followed one by one. When very many are due at once, one list is
// cheaper.
const (
	listEvery   = 5 * time.Minute
	manyLooks   = 100
	listForMany = 20 * time.Second
	// looksAtOnce bounds the looks under way, lookPass is the pause between two passes while some are.
	looksAtOnce = 8
	lookPass    = time.Second
)

// instances keeps the mirror's picture of machines up to date: it lists them all after a start and then seldom, and looks at those
// whose next news matters.
func (c *Controller) instances(ctx context.Context) time.Duration {
	now := c.Now()
	looks := lifecycle.Follow(c.World.Snapshot(), lifecycle.Sight{IDOf: c.Market.IDOf, SeenAt: c.World.SeenAt, LookedAt: c.World.LookedAt})
	due := slices.IndexFunc(looks, func(l lifecycle.Look) bool { return l.Due.After(now) })
	if due < 0 {
		due = len(looks)
	}
	every := listEvery
	if due > manyLooks {
		every = listForMany
	}
	listed := c.World.ListedAt()
	next := every - now.Sub(listed)
	if next <= 0 {
		next = sooner(listForMany, c.others.start(ctx, "list", c.list))
	}
	if listed.IsZero() {
		return sooner(next, lookPass)
	}
	c.mu.Lock()
	held := c.lookAfter.Sub(now)
	c.mu.Unlock()
	if held > 0 {
		return sooner(next, held)
	}
	for _, l := range looks[:due] {
		c.looks.start(ctx, l.ID, func(ctx context.Context) error { return c.look(ctx, l.ID) })
		next = sooner(next, lookPass)
	}
	if due < len(looks) {
		next = sooner(next, looks[due].Due.Sub(now))
	}
	return next
}

// list asks for all machines.
func (c *Controller) list(ctx context.Context) error {
	asked := c.Now()
	list, err := c.Market.List(ctx)
	c.Observe.Called(observe.CallList, c.Now().Sub(asked), err)
	if err != nil {
		c.Log.Error(err, "could not list the cloud's machines; the last list stays in use", "listed", c.World.ListedAt())
		return &later{after: retryAfter(err), err: err}
	}
	for _, m := range list {
		if m.State == model.Failed {
			c.Market.Failed(m, c.Now())
		}
	}
	// The list is as old as the question: what happened while the answer was on its way may be missing in it.
	c.World.SetInstances(list, asked)
	return nil
}

// look asks for one machine. When the cloud, or our own pace, asks to wait, all looks do.
func (c *Controller) look(ctx context.Context, id string) error {
	asked := c.Now()
	m, err := c.Market.Get(ctx, id, asked)
	c.Observe.Called(observe.CallGet, c.Now().Sub(asked), err)
	switch cloud.CodeOf(err) {
	case "":
		c.World.SetInstance(id, &m, asked)
		return nil
	case cloud.NotFound:
		c.World.SetInstance(id, nil, asked)
		return nil
	case cloud.Throttled:
		wait := max(retryAfter(err), lookPass)
		c.mu.Lock()
		c.lookAfter = c.Now().Add(wait)
		c.mu.Unlock()
		return &later{after: wait, err: err}
	}
	c.Log.Error(err, "could not look at a machine; what was known of it stays in use", "instance", id)
	return err
}

// catalogEvery is how often offerings are read again: what is sold out changes by the minute, the driver itself knows
// how often prices and sizes are worth asking for.
const catalogEvery = 15 * time.Second

// catalogs keeps the offerings of every class in the mirror up to date.
func (c *Controller) catalogs(ctx context.Context) time.Duration {
	w := c.World.Snapshot()
	next := catalogEvery
	for i := range w.Classes {
		class := w.Classes[i]
		if class.Deleting {
			continue
		}
		wait := c.others.start(ctx, "catalog/"+class.Ref.String(), func(ctx context.Context) error {
			cat, err := c.offerings(ctx, class, c.Now())
			if err != nil {
				c.Log.Error(err, "could not read what the cloud offers; the last catalogue stays in use", "class", class.Ref.String())
				return &later{after: retryAfter(err), err: err}
			}
			c.World.SetCatalog(cat)
			return &later{after: catalogEvery, err: errFresh}
		})
		next = sooner(next, wait)
	}
	return next
}

// offerings asks what the cloud sells.
func (c *Controller) offerings(ctx context.Context, class model.Class, now time.Time) (model.Catalog, error) {
	cat, err := c.Market.Offerings(ctx, class, now)
	c.Observe.Called(observe.CallOfferings, c.Now().Sub(now), err)
	return cat, err
}

// errFresh holds a key back without anything being wrong.
var errFresh = errors.New("fresh enough")

// retryAfter says when the cloud wants us back; zero leaves it to the usual backoff.
func retryAfter(err error) time.Duration {
	var e *cloud.Error
	if errors.As(err, &e) {
		return e.More.RetryAfter
	}
	return 0
}
