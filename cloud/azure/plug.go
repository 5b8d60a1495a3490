package azure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"github.com/karpenter-aks/karpenter/cloud"
)

// Interfaces that are made on their own (InterfacesSeparate) stand before their machine is asked for:
//
//	(none) ──PUT──▶ Updating ──▶ Succeeded ──machine's PUT──▶ held, goes with the machine
//	   ▲                             │
//	   └──── Deleting ◀──DELETE──────┘ the machine is refused, or its claim is gone
//
// An interface has its machine's name and our tags, so that whoever comes later finds it: a repeated Launch takes it over,
// Terminate sweeps it, Strays lists it when the claim is gone as well.

// Looks at an interface on its way in or out: Azure takes seconds for either. callWithin ends them earlier.
const (
	maxLooks     = 100
	betweenLooks = 500 * time.Millisecond
	maxCards     = 3 // how often one call asks for an interface that comes out Failed
)

// cardStep is what an interface of a machine's name needs next.
type cardStep int

const (
	cardMake  cardStep = iota // ask for it
	cardWait                  // it is on its way in or out
	cardReady                 // the machine may be asked for
	cardAlien                 // it is somebody else's
)

// nextOfCard decides by what Azure shows; nil = there is none. asked says that this very call made it as it must be: one that was left by
// an earlier try may be of another shape, and is made anew unless a machine holds it, which then is the machine of that name.
func nextOfCard(n *armnetwork.Interface, clusterName string, asked bool) cardStep {
	if n == nil {
		return cardMake
	}
	if !ours(values(n.Tags), clusterName) {
		return cardAlien
	}
	state := ""
	if p := n.Properties; p != nil {
		if p.VirtualMachine != nil && str(p.VirtualMachine.ID) != "" {
			return cardReady
		}
		if p.ProvisioningState != nil {
			state = strings.ToLower(string(*p.ProvisioningState))
		}
	}
	switch state {
	case "deleting":
		return cardWait
	case "failed":
		return cardMake
	case "succeeded":
		if asked {
			return cardReady
		}
		return cardMake
	}
	if asked {
		return cardWait
	}
	return cardMake
}

// plug makes the interface of a machine and returns once it stands.
func (f *Fleet) plug(ctx context.Context, name string, want armnetwork.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	asked := 0
	for range maxLooks {
		got, err := f.api.nics.Get(ctx, f.cfg.NodeResourceGroup, name, nil)
		seen := &got.Interface
		switch {
		case is404(err):
			seen = nil
		case err != nil:
			return fmt.Errorf("get network interface %s: %w", name, err)
		}
		step := nextOfCard(seen, f.cfg.ClusterName, asked > 0)
		switch {
		case step == cardReady:
			return nil
		case step == cardAlien:
			return cloud.Errorf(cloud.Invalid, "a network interface %s exists in resource group %s and was not made for this cluster: remove or rename it",
				name, f.cfg.NodeResourceGroup)
		case step == cardMake && asked < maxCards:
			if _, err := f.api.nics.BeginCreateOrUpdate(ctx, f.cfg.NodeResourceGroup, name, want, nil); err != nil {
				return &ofCard{fmt.Errorf("put network interface %s: %w", name, err)}
			}
			if asked++; asked == 1 {
				continue // most stand at once
			}
		}
		select {
		case <-ctx.Done():
			return notPlugged(name)
		case <-time.After(betweenLooks):
		}
	}
	return notPlugged(name)
}

func notPlugged(name string) error {
	return cloud.Errorf(cloud.Unknown, "network interface %s is neither there nor gone; the machine was not asked for", name)
}

// ofCard marks Azure's answer to the request for an interface.
type ofCard struct{ err error }

func (e *ofCard) Error() string { return e.err.Error() }
func (e *ofCard) Unwrap() error { return e.err }

// blaming widens a refusal of an interface: it has nothing to do with the size that was ordered, but with the class' subnet, tags
// or the rights for them.
func blaming(err, cause error, t tried) error {
	var c *ofCard
	if e := asError(err); errors.As(cause, &c) && final(e.Code) {
		return &cloud.Error{Code: e.Code, More: cloud.Extent{Scope: wholeClass(t)}, Reason: e.Reason, Err: e.Err}
	}
	return err
}

// final reports whether Azure said no, and will not have acted.
func final(c cloud.Code) bool {
	switch c {
	case cloud.NoCapacity, cloud.Quota, cloud.Refused, cloud.Invalid, cloud.Denied, cloud.NotFound:
		return true
	}
	return false
}

// unplug removes the interface of a machine that was refused. What cannot be removed now is swept later.
func (f *Fleet) unplug(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	held, mine, err := f.inspectStray(ctx, strayNIC, name)
	if err == nil && mine && !held {
		err = f.deleteStray(ctx, strayNIC, name)
	}
	if err != nil && !is404(err) && !kept(err) {
		f.cfg.Log.Error(inWords(err, tried{}), "could not remove the network interface of a machine that was refused; it is swept later", "machine", name)
	}
}

// goneInterface reports whether the machine was refused because its interface is not there (any more): somebody swept it in between.
func goneInterface(err error) bool {
	var r *azcore.ResponseError
	if !errors.As(err, &r) || r.ErrorCode != "NotFound" && r.ErrorCode != "InvalidResourceReference" {
		return false
	}
	return strings.Contains(strings.ToLower(messageOf(r)), "/networkinterfaces/")
}
