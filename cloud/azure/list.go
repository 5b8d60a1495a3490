package azure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// maxAsking bounds the calls that one List has under way beside its pages.
	maxAsking = 8
	// maxBilling bounds the billing extensions that one List asks for; the rest wait for the next.
	maxBilling = 20
	// billingAgain is when a machine that still lacks the extension is asked for it again.
	billingAgain = 10 * time.Minute
	// maxBilled bounds the memory of what was asked for.
	maxBilled = 20_000
)

// List implements cloud.Fleet: the machines of the node resource group that carry our tags. The list is read from
// Compute itself, which shows a machine from the moment its PUT was accepted, not from an index that lags behind.
// Failed machines cost one more call each, to learn why.
func (f *Fleet) List(ctx context.Context) ([]model.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	if err := f.api.reads.hold(readAll); err != nil {
		return nil, err
	}
	var vms []*armcompute.VirtualMachine
	for pager := f.api.vms.NewListPager(f.cfg.NodeResourceGroup, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list machines: %w", inWords(err, tried{}))
		}
		for _, vm := range page.Value {
			if vm != nil && ours(values(vm.Tags), f.cfg.ClusterName) {
				vms = append(vms, vm)
			}
		}
	}
	out := make([]model.Instance, len(vms))
	var unbilled, failed []int
	for i, vm := range vms {
		out[i] = f.instance(vm)
		switch {
		case out[i].State == model.Failed:
			failed = append(failed, i)
		case out[i].State == model.Running && !hasBilling(vm):
			unbilled = append(unbilled, i)
		}
	}
	atMost(maxAsking, failed, func(i int) { out[i] = f.explain(ctx, out[i]) })
	f.bill(ctx, out, unbilled)
	out = slices.DeleteFunc(out, func(i model.Instance) bool { return i.Name == "" })
	slices.SortFunc(out, func(a, b model.Instance) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// IDOf implements cloud.Fleet.
func (f *Fleet) IDOf(claim string) string {
	name, err := machineName(claim)
	if err != nil {
		return ""
	}
	return providerID(f.cfg, name)
}

// Get implements cloud.Fleet: one read with the instance view, in which the power state and the cause of a failure stand. A running
// machine that lacks the billing extension is asked for it, as in List.
func (f *Fleet) Get(ctx context.Context, id string) (model.Instance, error) {
	name, err := nameOf(f.cfg, id)
	if err != nil {
		return model.Instance{}, err
	}
	if err := f.api.reads.hold(readOne); err != nil {
		return model.Instance{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	i, vm, err := f.view(ctx, name)
	switch {
	case err != nil:
		return model.Instance{}, fmt.Errorf("get machine %s: %w", name, inWords(err, tried{}))
	case !ours(i.Tags, f.cfg.ClusterName):
		return model.Instance{}, cloud.Errorf(cloud.NotFound, "machine %s was not bought by this cluster", name)
	case i.State == model.Running && !hasBilling(vm):
		f.bill(ctx, []model.Instance{i}, []int{0})
	}
	return i, nil
}

// view reads one machine with its instance view.
func (f *Fleet) view(ctx context.Context, name string) (model.Instance, *armcompute.VirtualMachine, error) {
	got, err := f.api.vms.Get(ctx, f.cfg.NodeResourceGroup, name,
		&armcompute.VirtualMachinesClientGetOptions{Expand: to.Ptr(armcompute.InstanceViewTypesInstanceView)})
	if err != nil {
		return model.Instance{}, nil, err
	}
	i := f.instance(&got.VirtualMachine)
	switch {
	case i.State == model.Failed:
		i = f.withCause(i, got.Properties)
	case i.State == model.Running && switchedOff(got.Properties):
		i.State = model.Stopped
	}
	return i, &got.VirtualMachine, nil
}

// switchedOff reads the power state. A machine whose hardware was given back, or is being given back, was switched off; one that is
// merely stopped is so only when nothing else is being done to it, since a redeployment passes through that state. Source: "States and
// billing status of Azure Virtual Machines".
func switchedOff(p *armcompute.VirtualMachineProperties) bool {
	if p == nil || p.InstanceView == nil {
		return false
	}
	settled := strings.EqualFold(str(p.ProvisioningState), "succeeded")
	for _, s := range p.InstanceView.Statuses {
		if s == nil {
			continue
		}
		switch strings.ToLower(str(s.Code)) {
		case "powerstate/deallocated", "powerstate/deallocating":
			return true
		case "powerstate/stopped":
			return settled
		}
	}
	return false
}

// atMost calls f for every item, n at a time, and returns when all are done.
func atMost(n int, items []int, f func(int)) {
	turns := make(chan struct{}, n)
	var wg sync.WaitGroup
	for _, i := range items {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			f(i)
		})
	}
	wg.Wait()
}

// instance translates a machine as the list shows it. It is a pure function of its argument and the configuration.
func (f *Fleet) instance(vm *armcompute.VirtualMachine) model.Instance {
	tags := values(vm.Tags)
	name := str(vm.Name)
	i := model.Instance{
		ID: providerID(f.cfg, name), Name: name, Claim: claimOf(name, tags), ClaimUID: tags[TagClaimUID], Pool: tags[TagPool],
		State: model.Pending, Tags: tags,
	}
	i.Offering.CapacityType, i.Offering.Zone = model.OnDemand, regionalZone
	if len(vm.Zones) > 0 {
		i.Offering.Zone = zoneLabel(f.cfg.Location, str(vm.Zones[0]))
	}
	p := vm.Properties
	if p == nil {
		return i
	}
	if p.HardwareProfile != nil {
		i.Offering.Type = str(p.HardwareProfile.VMSize)
	}
	if p.Priority != nil && *p.Priority == armcompute.VirtualMachinePriorityTypesSpot {
		i.Offering.CapacityType = model.Spot
	}
	if p.StorageProfile != nil && p.StorageProfile.ImageReference != nil {
		r := p.StorageProfile.ImageReference
		i.ImageID = cmp.Or(str(r.CommunityGalleryImageID), str(r.ID))
	}
	if p.TimeCreated != nil {
		i.Created = p.TimeCreated.UTC()
	}
	i.State = stateOf(str(p.ProvisioningState))
	return i
}

// stateOf translates a provisioning state. A machine that is being updated is there; unknown words mean not yet.
func stateOf(s string) model.InstanceState {
	switch strings.ToLower(s) {
	case "succeeded", "updating", "migrating":
		return model.Running
	case "failed", "canceled":
		return model.Failed
	case "deleting":
		return model.Stopping
	}
	return model.Pending
}

// explain asks why a machine failed. A machine that is gone by now gets an empty name. When Azure cannot be asked,
// the failure stands with the code Unknown.
func (f *Fleet) explain(ctx context.Context, i model.Instance) model.Instance {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	now, _, err := f.view(ctx, i.Name)
	if is404(err) {
		return model.Instance{}
	}
	if err != nil {
		f.cfg.Log.Error(inWords(err, tried{}), "could not learn why a machine failed", "machine", i.Name)
		i.FailureCode, i.FailureText = string(cloud.Unknown), provisioningFailed
		return i
	}
	return now
}

const provisioningFailed = "the machine's provisioning failed"

// withCause says of a failed machine why, as its instance view tells.
func (f *Fleet) withCause(i model.Instance, p *armcompute.VirtualMachineProperties) model.Instance {
	code, text := failureIn(p)
	if strings.HasPrefix(strings.ToLower(code), "vmextension") {
		// The machine itself is up; one of its extensions is not. That is no reason to throw it away.
		i.State = model.Running
		return i
	}
	s := f.sizeKnown(i.Offering.Type)
	e := classify(code, text, tried{offering: i.Offering, family: s.Family, cpu: s.CPUs * 1000})
	i.FailureCode, i.FailureText, i.FailureReason = string(e.Code), provisioningFailed, code
	if code != "" || text != "" {
		i.FailureText = strings.TrimSpace(code + ": " + oneLine(text))
	}
	return i
}

func (f *Fleet) sizeKnown(name string) SKU {
	list, _, _ := f.skus.last()
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	return SKU{}
}

// failureIn reads "ProvisioningState/failed/<code>" and its message from the instance view.
func failureIn(p *armcompute.VirtualMachineProperties) (code, text string) {
	if p == nil || p.InstanceView == nil {
		return "", ""
	}
	for _, s := range p.InstanceView.Statuses {
		if s == nil {
			continue
		}
		parts := strings.SplitN(str(s.Code), "/", 3)
		if !strings.EqualFold(parts[0], "ProvisioningState") || len(parts) < 2 || !strings.EqualFold(parts[1], "failed") {
			continue
		}
		if len(parts) == 3 {
			code = parts[2]
		}
		return code, str(s.Message)
	}
	return "", ""
}

// Billing extension of AKS: it tells Azure's billing that the machine is an AKS node.
const (
	billingName      = "computeAksLinuxBilling"
	billingPublisher = "Microsoft.AKS"
	billingType      = "Compute.AKS.Linux.Billing"
	billingVersion   = "1.0"
)

// hasBilling reports whether the list shows the extension on the machine, at whatever stage.
func hasBilling(vm *armcompute.VirtualMachine) bool {
	return slices.ContainsFunc(vm.Resources, func(e *armcompute.VirtualMachineExtension) bool {
		if e == nil {
			return false
		}
		id := str(e.ID)
		return strings.EqualFold(id[strings.LastIndexByte(id, '/')+1:], billingName) || strings.EqualFold(str(e.Name), billingName)
	})
}

// bill asks for the billing extension on running machines that lack it: some at each List, each again only after a
// while. Failures are logged and nothing else: no machine waits for its billing.
func (f *Fleet) bill(ctx context.Context, list []model.Instance, unbilled []int) {
	if !f.cfg.BillingExtension {
		return
	}
	var due []int
	now := f.cfg.Now()
	f.mu.Lock()
	if len(f.billed) > maxBilled {
		clear(f.billed)
	}
	for _, i := range unbilled {
		if at, asked := f.billed[list[i].ID]; len(due) < maxBilling && (!asked || !now.Before(at.Add(billingAgain))) {
			f.billed[list[i].ID] = now
			due = append(due, i)
		}
	}
	f.mu.Unlock()
	atMost(maxAsking, due, func(i int) {
		ctx, cancel := context.WithTimeout(ctx, callWithin)
		defer cancel()
		_, err := f.api.extensions.BeginCreateOrUpdate(ctx, f.cfg.NodeResourceGroup, list[i].Name, billingName, f.billingExtension(list[i].Tags), nil)
		if err != nil && !is404(err) {
			f.cfg.Log.Error(inWords(err, tried{}), "could not put the billing extension on a machine", "machine", list[i].Name)
		}
	})
}

func (f *Fleet) billingExtension(tags map[string]string) armcompute.VirtualMachineExtension {
	return armcompute.VirtualMachineExtension{
		Location: to.Ptr(f.cfg.Location),
		Tags:     pointers(tags),
		Properties: &armcompute.VirtualMachineExtensionProperties{
			Publisher: to.Ptr(billingPublisher), Type: to.Ptr(billingType), TypeHandlerVersion: to.Ptr(billingVersion),
			AutoUpgradeMinorVersion: to.Ptr(true),
		},
	}
}
