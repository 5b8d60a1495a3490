package control

import (
	"context"
	"errors"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// How often the cloud is listed: often while something is on its way in or out, seldom otherwise. A list is one call.
const (
	listBusy = 2 * time.Second
	listIdle = 2 * time.Minute
	// listAtMost bounds calls: whatever asks, the cloud is listed no more often than this.
	listAtMost = 500 * time.Millisecond
)

// askCloud makes the next pass list the cloud soon.
func (c *Controller) askCloud() {
	select {
	case c.relist <- struct{}{}:
	default:
	}
}

// instances keeps the mirror's list of machines up to date.
func (c *Controller) instances(ctx context.Context) time.Duration {
	every := listIdle
	if c.inMotion() {
		every = listBusy
	}
	select {
	case <-c.relist:
		every = listAtMost
	default:
	}
	now := c.Now()
	if age := now.Sub(c.World.ListedAt()); age < every {
		return every - age
	}
	wait := c.others.start(ctx, "list", func(ctx context.Context) error {
		asked := c.Now()
		list, err := c.Market.List(ctx)
		if err != nil {
			c.Observe.CloudError("List", err)
			c.Log.Error(err, "could not list the cloud's machines; the last list stays in use", "age", now.Sub(c.World.ListedAt()).String())
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
	})
	return sooner(every, wait)
}

// inMotion reports whether any machine is on its way in or out.
func (c *Controller) inMotion() bool {
	w := c.World.Snapshot()
	for i := range w.Claims {
		if w.Claims[i].Deleting() || !w.Claims[i].Is(model.Initialized) {
			return true
		}
	}
	for i := range w.Instances {
		if w.Instances[i].State != model.Running {
			return true
		}
	}
	return false
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
			cat, err := c.Market.Offerings(ctx, class, c.Now())
			if err != nil {
				c.Observe.CloudError("Offerings", err)
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

// errFresh holds a key back without anything being wrong.
var errFresh = errors.New("fresh enough")

// retryAfter says when the cloud wants us back; zero leaves it to the usual backoff.
func retryAfter(err error) time.Duration {
	var e *cloud.Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}
