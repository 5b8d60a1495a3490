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
	sim  *Sim
	life context.Context
}

// write passes a change on, and counts it.
func (w *wire) write(do func() error) error {
	if w.life.Err() != nil {
		return kube.Errorf(kube.Unavailable, "the process is gone")
	}
	w.sim.writes.Add(1)
	return do()
}

// CreateClaim and the other writes below get through only while the process lives.
func (w *wire) CreateClaim(ctx context.Context, c model.Claim) (made model.Claim, err error) {
	made = c
	err = w.write(func() error {
		made, err = w.Store.CreateClaim(ctx, c)
		if err == nil && w.sim.judge != nil {
			w.sim.judge.creates(made)
		}
		return err
	})
	return made, err
}

func (w *wire) PatchClaim(ctx context.Context, name string, p kube.ClaimPatch) error {
	return w.write(func() error { return w.Store.PatchClaim(ctx, name, p) })
}

func (w *wire) DeleteClaim(ctx context.Context, name string) error {
	return w.write(func() error {
		if w.sim.judge != nil {
			w.sim.judge.deletes(name)
		}
		return w.Store.DeleteClaim(ctx, name)
	})
}

func (w *wire) PatchNode(ctx context.Context, name string, p kube.NodePatch) error {
	return w.write(func() error {
		err := w.Store.PatchNode(ctx, name, p)
		if w.sim.judge != nil && err == nil {
			w.sim.judge.marks(name, p)
		}
		return err
	})
}

func (w *wire) DeleteNode(ctx context.Context, name string) error {
	return w.write(func() error { return w.Store.DeleteNode(ctx, name) })
}

func (w *wire) PatchPool(ctx context.Context, name string, p kube.PoolPatch) error {
	return w.write(func() error { return w.Store.PatchPool(ctx, name, p) })
}

func (w *wire) PatchClass(ctx context.Context, ref model.ClassRef, p kube.ClassPatch) error {
	return w.write(func() error { return w.Store.PatchClass(ctx, ref, p) })
}

func (w *wire) PatchOverlay(ctx context.Context, name string, p kube.OverlayPatch) error {
	return w.write(func() error { return w.Store.PatchOverlay(ctx, name, p) })
}

func (w *wire) PatchBuffer(ctx context.Context, key model.PodKey, p kube.BufferPatch) error {
	return w.write(func() error { return w.Store.PatchBuffer(ctx, key, p) })
}

func (w *wire) RemovePod(ctx context.Context, r kube.Removal) error {
	return w.write(func() error {
		if w.sim.judge != nil {
			w.sim.judge.evicts(r)
		}
		err := w.Store.RemovePod(ctx, r)
		if err == nil {
			w.sim.moved.Add(1)
			w.sim.left(r.Pod)
		}
		return err
	})
}

func (w *wire) Nominate(ctx context.Context, n kube.Nomination) error {
	return w.write(func() error { return w.Store.Nominate(ctx, n) })
}

func (w *wire) DropToken(ctx context.Context, claimUID string) error {
	return w.write(func() error { return w.Store.DropToken(ctx, claimUID) })
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
	err := l.dead()
	if err != nil {
		return model.Instance{}, err
	}
	l.sim.writes.Add(1)
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
	err := l.dead()
	if err != nil {
		return model.Instance{}, err
	}
	l.sim.looks.Add(1)
	return l.Fleet.Get(ctx, id)
}

// Terminate passes it on.
func (l *line) Terminate(ctx context.Context, id string) error {
	err := l.dead()
	if err != nil {
		return err
	}
	l.sim.writes.Add(1)
	if l.sim.judge != nil {
		l.sim.judge.terminates(id)
	}
	return l.Fleet.Terminate(ctx, id)
}
