package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// Launch implements cloud.Fleet: one PUT that must not find a machine of that name, be it that Azure looks (If-None-Match), be it that we
// did (GetFirst). The SDK's answer to a lost reply is to ask again; if the first request had been accepted, the second meets the machine,
// and we return it.
func (f *Fleet) Launch(ctx context.Context, o cloud.Order) (model.Instance, error) {
	if o.Class.Azure == nil {
		return model.Instance{}, cloud.Errorf(cloud.Invalid, "%s is not a class of Azure machines", o.Class.Ref)
	}
	name, err := machineName(o.Claim)
	if err != nil {
		return model.Instance{}, err
	}
	s, err := f.sku(ctx, o.Offering.Type)
	if err != nil {
		return model.Instance{}, fmt.Errorf("launch %s: %w", name, err)
	}
	if f.cfg.MachineCreate == GetFirst {
		if i, there, err := f.look(ctx, o, name); there || err != nil {
			return i, err
		}
	}
	err = f.put(ctx, o, s, name)
	if staleReference(err) || goneInterface(err) {
		// A load balancer's pool was replaced, or the interface taken away, since we looked. Look again, once.
		f.network.soon(f.cfg.Now(), 0)
		err = f.put(ctx, o, s, name)
	}
	f.usages.soon(f.cfg.Now(), usagesSoon)
	t := triedFor(o, s)
	if taken(err) {
		i, there, why := f.existing(ctx, o, name)
		if there || why != nil {
			return i, why
		}
	}
	if err != nil {
		why := blaming(missing(inWords(err, t)), err, t)
		if f.cfg.NetworkInterfaces == InterfacesSeparate && final(asError(why).Code) {
			f.unplug(ctx, name)
		}
		return model.Instance{}, fmt.Errorf("launch %s: %w", name, why)
	}
	image, _ := chooseImage(o.Class.Images, s)
	tags, _ := tagsFor(o, f.cfg) // put has checked them
	return model.Instance{
		ID: providerID(f.cfg, name), Name: name, Claim: o.Claim, ClaimUID: o.ClaimUID, Pool: o.Pool,
		Offering: o.Offering.Key(), ImageID: image, State: model.Pending, Tags: tags,
	}, nil
}

// put sends the request and returns as soon as Azure accepted it. An interface of its own is made before.
func (f *Fleet) put(ctx context.Context, o cloud.Order, s SKU, name string) error {
	n, err := f.network.get(ctx, f.cfg.Now, f.askNetwork)
	if err != nil {
		return err
	}
	cfg := f.cfg
	if cfg.VnetGUID == "" {
		cfg.VnetGUID = n.vnetGUID
	}
	vm, err := build(o, s, cfg, n)
	if err != nil {
		return err
	}
	if cfg.NetworkInterfaces == InterfacesSeparate {
		if err := f.plug(ctx, name, cardOf(o, s, cfg, n).alone(cfg, name, vm.Tags)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	var opts armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions
	if cfg.MachineCreate != GetFirst {
		opts.IfNoneMatch = to.Ptr("*")
	}
	_, err = f.api.vms.BeginCreateOrUpdate(ctx, f.cfg.NodeResourceGroup, name, vm, &opts)
	return err
}

// sku looks a size up in what is known, asking Azure only when nothing is.
func (f *Fleet) sku(ctx context.Context, name string) (SKU, error) {
	list, ok, _ := f.skus.last()
	if !ok {
		var err error
		if list, err = f.skus.get(ctx, f.cfg.Now, f.askSKUs); err != nil {
			return SKU{}, inWords(err, tried{})
		}
	}
	for _, s := range list {
		if s.Name == name {
			return s, nil
		}
	}
	e := cloud.Errorf(cloud.Refused, "size %q is not sold to nodes in %s", name, f.cfg.Location)
	e.More.Scope = cloud.Scope{Type: name}
	return SKU{}, e
}

// existing returns the machine that has the order's name already, and whether there is one: Azure uses the same codes for other refusals.
func (f *Fleet) existing(ctx context.Context, o cloud.Order, name string) (model.Instance, bool, error) {
	i, there, err := f.look(ctx, o, name)
	if e := asError(err); err != nil && !there && e.Code != cloud.Throttled {
		return i, false, &cloud.Error{Code: cloud.Unknown, Reason: e.Reason, Err: err} // it may be ours
	}
	return i, there, err
}

// look returns the machine that has the order's name, and whether there is one. It must have been bought for the same claim; a machine of
// an older installation, which knows no claims, must belong to the same pool.
func (f *Fleet) look(ctx context.Context, o cloud.Order, name string) (model.Instance, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	i, _, err := f.view(ctx, name)
	if is404(err) {
		return model.Instance{}, false, nil
	}
	if err != nil {
		return model.Instance{}, false, fmt.Errorf("look for machine %s: %w", name, inWords(err, tried{}))
	}
	switch {
	case !ours(i.Tags, f.cfg.ClusterName):
	case i.Tags[TagClaim] == "" && i.Pool == o.Pool:
		return i, true, nil
	case i.Claim == o.Claim && (i.ClaimUID == o.ClaimUID || i.ClaimUID == "" || o.ClaimUID == ""):
		return i, true, nil
	}
	return model.Instance{}, true, cloud.Errorf(cloud.Invalid, "launch %s: a machine of that name exists, but it was not bought for this claim (claim %q, uid %q)",
		name, i.Tags[TagClaim], i.ClaimUID)
}

// missing: nothing that we create can be not found, so the order names something that does not exist.
func missing(err error) error {
	if e := asError(err); e.Code == cloud.NotFound {
		return &cloud.Error{Code: cloud.Invalid, More: cloud.Extent{Scope: e.More.Scope}, Reason: e.Reason, Err: e.Err}
	}
	return err
}

// asError returns the cloud's error in err; one without a code when there is none.
func asError(err error) *cloud.Error {
	var e *cloud.Error
	if errors.As(err, &e) {
		return e
	}
	return &cloud.Error{Err: err}
}

// taken reports whether Azure refused because there is a machine of that name.
func taken(err error) bool {
	var r *azcore.ResponseError
	if !errors.As(err, &r) {
		return false
	}
	if r.StatusCode == http.StatusPreconditionFailed {
		return true
	}
	if r.StatusCode != http.StatusConflict {
		return false
	}
	if strings.Contains(strings.ToLower(messageOf(r)), "marked for deletion") {
		return true
	}
	switch r.ErrorCode {
	// What Azure says when a machine of the name exists, is being made or changed, or is on its way out.
	case "Conflict", "ResourceExists", "PropertyChangeNotAllowed", "OperationInProgress", "AnotherOperationInProgress",
		"ConflictingUserInput", "VMBeingDeleted", "AttachDiskWhileBeingDetached":
		return true
	}
	return false
}

// staleReference reports whether the request named something of the network that is no longer there.
func staleReference(err error) bool {
	var r *azcore.ResponseError
	return errors.As(err, &r) && r.ErrorCode == "InvalidResourceReference" &&
		strings.Contains(strings.ToLower(messageOf(r)), "/backendaddresspools/")
}

// Terminate implements cloud.Fleet. The machine's interface and disk go with it; once the machine is gone, it makes sure
// of that before it answers NotFound.
func (f *Fleet) Terminate(ctx context.Context, id string) error {
	name, err := nameOf(f.cfg, id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	got, err := f.api.vms.Get(ctx, f.cfg.NodeResourceGroup, name, nil)
	if is404(err) {
		return f.sweep(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("terminate %s: %w", name, inWords(err, tried{}))
	}
	i := f.instance(&got.VirtualMachine)
	if !ours(i.Tags, f.cfg.ClusterName) {
		return cloud.Errorf(cloud.Invalid, "terminate %s: the machine was not bought by this cluster", name)
	}
	if i.State == model.Stopping {
		return nil
	}
	_, err = f.api.vms.BeginDelete(ctx, f.cfg.NodeResourceGroup, name,
		&armcompute.VirtualMachinesClientBeginDeleteOptions{ForceDeletion: to.Ptr(true)})
	f.usages.soon(f.cfg.Now(), usagesSoon)
	if is404(err) {
		return nil // gone in between; the next call makes sure of the rest
	}
	if err != nil {
		return fmt.Errorf("terminate %s: %w", name, inWords(err, tried{}))
	}
	return nil
}

// sweep removes what may be left under a machine's name once the machine is gone. NotFound means nothing is.
func (f *Fleet) sweep(ctx context.Context, name string) error {
	left := false
	for _, kind := range []string{strayNIC, strayDisk} {
		held, mine, err := f.inspectStray(ctx, kind, name)
		switch {
		case is404(err):
			continue
		case err != nil:
			return fmt.Errorf("terminate %s: look for its %s: %w", name, kind, inWords(err, tried{}))
		case !mine || held:
			continue // somebody else's, under a name that we would have used
		}
		left = true
		if err := f.deleteStray(ctx, kind, name); err != nil && !is404(err) && !kept(err) {
			return fmt.Errorf("terminate %s: delete its %s: %w", name, kind, inWords(err, tried{}))
		}
	}
	if left {
		return nil
	}
	return cloud.Errorf(cloud.NotFound, "machine %s does not exist", name)
}

// kept: Azure keeps an interface for a machine whose making failed, for about three minutes.
func kept(err error) bool {
	var r *azcore.ResponseError
	return errors.As(err, &r) && (r.ErrorCode == "NicReservedForAnotherVm" || r.ErrorCode == "NicInUse" || r.StatusCode == http.StatusConflict)
}

func is404(err error) bool {
	var r *azcore.ResponseError
	return errors.As(err, &r) && r.StatusCode == http.StatusNotFound
}
