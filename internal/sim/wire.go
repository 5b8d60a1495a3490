package sim

import (
	"context"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// wire is the connection of one life of the controller to the cluster: once that life has ended, no call gets through.
type wire struct {
	kube.Store
	life context.Context
}

func (w *wire) dead() error {
	if w.life.Err() == nil {
		return nil
	}
	return kube.Errorf(kube.Unavailable, "the process is gone")
}

// CreateClaim and the other writes below get through only while the process lives.
func (w *wire) CreateClaim(ctx context.Context, c model.Claim) (model.Claim, error) {
	if err := w.dead(); err != nil {
		return c, err
	}
	return w.Store.CreateClaim(ctx, c)
}

func (w *wire) PatchClaim(ctx context.Context, name string, p kube.ClaimPatch) error {
	if err := w.dead(); err != nil {
		return err
	}
	return w.Store.PatchClaim(ctx, name, p)
}

func (w *wire) DeleteClaim(ctx context.Context, name string) error {
	if err := w.dead(); err != nil {
		return err
	}
	return w.Store.DeleteClaim(ctx, name)
}

func (w *wire) PatchNode(ctx context.Context, name string, p kube.NodePatch) error {
	if err := w.dead(); err != nil {
		return err
	}
	return w.Store.PatchNode(ctx, name, p)
}

func (w *wire) DeleteNode(ctx context.Context, name string) error {
	if err := w.dead(); err != nil {
		return err
	}
	return w.Store.DeleteNode(ctx, name)
}

func (w *wire) PatchOverlay(ctx context.Context, name string, p kube.OverlayPatch) error {
	if err := w.dead(); err != nil {
		return err
	}
	return w.Store.PatchOverlay(ctx, name, p)
}

func (w *wire) PatchBuffer(ctx context.Context, key model.PodKey, p kube.BufferPatch) error {
	if err := w.dead(); err != nil {
		return err
	}
	return w.Store.PatchBuffer(ctx, key, p)
}

func (w *wire) RemovePod(ctx context.Context, r kube.Removal) error {
	if err := w.dead(); err != nil {
		return err
	}
	return w.Store.RemovePod(ctx, r)
}

// line is its connection to the cloud. It also keeps each order, because that is what the machine will read at boot.
type line struct {
	cloud.Fleet
	sim  *Sim
	life context.Context
}

func (l *line) dead() error {
	if l.life.Err() == nil {
		return nil
	}
	return cloud.Errorf(cloud.Unknown, "the process is gone")
}

// Launch keeps the order and passes it on.
func (l *line) Launch(ctx context.Context, o cloud.Order) (model.Instance, error) {
	if err := l.dead(); err != nil {
		return model.Instance{}, err
	}
	l.sim.mu.Lock()
	if _, ok := l.sim.orders[o.ClaimUID+"/"+o.Offering.Key().String()]; !ok {
		l.sim.orders[o.ClaimUID+"/"+o.Offering.Key().String()] = o
	}
	l.sim.mu.Unlock()
	return l.Fleet.Launch(ctx, o)
}

// List counts it and passes it on.
func (l *line) List(ctx context.Context) ([]model.Instance, error) {
	l.sim.lists.Add(1)
	return l.Fleet.List(ctx)
}

// Get counts it and passes it on.
func (l *line) Get(ctx context.Context, id string) (model.Instance, error) {
	if err := l.dead(); err != nil {
		return model.Instance{}, err
	}
	l.sim.looks.Add(1)
	return l.Fleet.Get(ctx, id)
}

// Terminate passes it on.
func (l *line) Terminate(ctx context.Context, id string) error {
	if err := l.dead(); err != nil {
		return err
	}
	return l.Fleet.Terminate(ctx, id)
}
