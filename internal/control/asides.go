package control

import (
	"context"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// asides tells of everything that cannot be read or written: single objects, kinds that the API server does not serve, fields that it does
// not keep. What is decided with
// them, or without, the deciders say; without this nobody would know why.
func (c *Controller) asides(context.Context) time.Duration {
	w := c.World.Snapshot()
	c.Observe.Asides(w.Asides())
	c.Observe.Unserved(w.Unserved)
	c.Observe.Pruned(c.pruned.all(c.Now()))
	return 0
}

// unreadable is the condition of a class of which something cannot be read. The cloud is not asked about what is left of it.
func unreadable(class model.Class) model.Condition {
	return model.Condition{Type: model.ValidationSucceeded, Status: model.False, Reason: "Unreadable",
		Message: "a value cannot be read: " + class.Unreadable}
}
