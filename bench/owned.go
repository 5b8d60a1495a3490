package bench

import (
	"context"
	"slices"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// Owned is a cloud that has a machine for every claim of a world, sells what that world says, and does nothing.
type Owned struct {
	cloud.Fleet
	catalog   model.Catalog
	instances []model.Instance
}

// OwnedBy is the cloud of a world.
func OwnedBy(w model.World) *Owned {
	o := &Owned{catalog: w.Catalogs[workload.Class()]}
	for _, c := range w.Claims {
		o.instances = append(o.instances, model.Instance{ID: c.ProviderID, Name: c.Name, Claim: c.Name, ClaimUID: c.UID, Pool: c.Pool, State: model.Running, Created: c.Created})
	}
	return o
}

// Offerings is what the world sells.
func (o *Owned) Offerings(context.Context, model.Class) (model.Catalog, error) { return o.catalog, nil }

// List is a machine for every claim.
func (o *Owned) List(context.Context) ([]model.Instance, error) { return o.instances, nil }

// IDOf knows no machine before it is there.
func (o *Owned) IDOf(string) string { return "" }

// Inspect finds nothing wrong.
func (o *Owned) Inspect(context.Context, model.Class, string) (cloud.Report, error) {
	return cloud.Report{Conditions: []model.Condition{{Type: model.Ready, Status: model.True}}}, nil
}

// Get finds a machine by its id.
func (o *Owned) Get(_ context.Context, id string) (model.Instance, error) {
	if i := slices.IndexFunc(o.instances, func(m model.Instance) bool { return m.ID == id }); i >= 0 {
		return o.instances[i], nil
	}
	return model.Instance{}, &cloud.Error{Code: cloud.NotFound}
}
