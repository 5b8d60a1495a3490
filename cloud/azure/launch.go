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

// Launch implements cloud.Fleet: one PUT that must not find a machine of that name. The SDK's answer to a lost reply
// is to ask again; if the first request had been accepted, the second meets the machine, and we return it.
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
	err = f.put(ctx, o, s, name)
	if staleReference(err) {
		// A load balancer's pool was replaced since we looked. Look again, once.
		f.network.soon(f.cfg.Now(), 0)
		err = f.put(ctx, o, s, name)
	}
	f.usages.soon(f.cfg.Now(), usagesSoon)
	if taken(err) {
		return f.existing(ctx, o, name)
	}
	if err != nil {
		t := tried{offering: o.Offering.Key(), family: s.Family, cpu: s.CPUs * 1000}
		return model.Instance{}, fmt.Errorf("launch %s: %w", name, missing(inWords(err, t)))
	}
	image, _ := chooseImage(o.Class.Images, s)
	tags, _ := tagsFor(o, f.cfg) // put has checked them
	return model.Instance{
		ID: providerID(f.cfg, name), Name: name, Claim: o.Claim, ClaimUID: o.ClaimUID, Pool: o.Pool,
		Offering: o.Offering.Key(), ImageID: image, State: model.Pending, Tags: tags,
	}, nil
}

// put sends the request and returns as soon as Azure accepted it.
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
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err = f.api.vms.BeginCreateOrUpdate(ctx, f.cfg.NodeResourceGroup, name, vm,
		&armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: to.Ptr("*")})
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
	return SKU{}, cloud.Errorf(cloud.Invalid, "size %q is not sold to nodes in %s", name, f.cfg.Location)
}

// existing returns the machine that has the order's name already. It must have been bought for the same claim; a
// machine of an older installation, which knows no claims, must belong to the same pool.
func (f *Fleet) existing(ctx context.Context, o cloud.Order, name string) (model.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	got, err := f.api.vms.Get(ctx, f.cfg.NodeResourceGroup, name, nil)
	if err != nil {
		return model.Instance{}, fmt.Errorf("get machine %s, which exists: %w", name, gone(inWords(err, tried{})))
	}
	i := f.instance(&got.VirtualMachine)
	if i.State == model.Failed {
		if i = f.explain(ctx, i); i.Name == "" {
			return i, cloud.Errorf(cloud.Unknown, "launch %s: a failed machine of that name is just going away", name)
		}
	}
	switch {
	case !ours(i.Tags, f.cfg.ClusterName):
	case i.Tags[TagClaim] == "" && i.Pool == o.Pool:
		return i, nil
	case i.Claim == o.Claim && (i.ClaimUID == o.ClaimUID || i.ClaimUID == "" || o.ClaimUID == ""):
		return i, nil
	}
	return model.Instance{}, cloud.Errorf(cloud.Invalid, "launch %s: a machine of that name exists, but it was not bought for this claim (claim %q, uid %q)",
		name, i.Tags[TagClaim], i.ClaimUID)
}

// missing: nothing that we create can be not found, so the order names something that does not exist.
func missing(err error) error {
	var e *cloud.Error
	if errors.As(err, &e) && e.Code == cloud.NotFound {
		return &cloud.Error{Code: cloud.Invalid, Reason: e.Reason, Err: e.Err}
	}
	return err
}

// gone: a machine that met our PUT and is not there a moment later is being deleted; asking again helps.
func gone(err error) error {
	var e *cloud.Error
	if errors.As(err, &e) && e.Code == cloud.NotFound {
		return &cloud.Error{Code: cloud.Unknown, Reason: e.Reason, Err: e.Err}
	}
	return err
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
		if err := f.deleteStray(ctx, kind, name); err != nil && !is404(err) && !reserved(err) {
			return fmt.Errorf("terminate %s: delete its %s: %w", name, kind, inWords(err, tried{}))
		}
	}
	if left {
		return nil
	}
	return cloud.Errorf(cloud.NotFound, "machine %s does not exist", name)
}

// reserved: Azure keeps an interface for a machine whose making failed, for about three minutes.
func reserved(err error) bool {
	var r *azcore.ResponseError
	return errors.As(err, &r) && (r.ErrorCode == "NicReservedForAnotherVm" || r.ErrorCode == "NicInUse" || r.StatusCode == http.StatusConflict)
}

func is404(err error) bool {
	var r *azcore.ResponseError
	return errors.As(err, &r) && r.StatusCode == http.StatusNotFound
}
