package arm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

func TestMachineLivesAndLeavesNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPut("aks-One", w.body("aks-one", "Standard_D2s_v5"))

	got, err := w.vms.Get(w.ctx, strings.ToUpper(w.cfg.NodeResourceGroup), "AKS-ONE", &armcompute.VirtualMachinesClientGetOptions{Expand: to.Ptr(armcompute.InstanceViewTypesInstanceView)})
	if err != nil {
		t.Fatal(err)
	}
	p := got.Properties
	if *got.Name != "aks-One" || *p.ProvisioningState != "Succeeded" || *p.HardwareProfile.VMSize != "Standard_D2s_v5" || *got.Zones[0] != "1" {
		t.Errorf("machine is %v %v", *got.Name, *p.ProvisioningState)
	}
	if !strings.HasSuffix(*got.ID, "/resourceGroups/"+w.cfg.NodeResourceGroup+"/providers/Microsoft.Compute/virtualMachines/aks-One") {
		t.Errorf("id %s", *got.ID)
	}
	if p.OSProfile.CustomData != nil {
		t.Error("custom data came back")
	}
	if p.NetworkProfile.NetworkInterfaceConfigurations != nil || len(p.NetworkProfile.NetworkInterfaces) != 1 {
		t.Error("the inline interface is not a reference now")
	}
	var codes []string
	for _, s := range p.InstanceView.Statuses {
		codes = append(codes, *s.Code)
	}
	if c := strings.Join(codes, " "); c != "ProvisioningState/succeeded PowerState/running" {
		t.Errorf("statuses %s", c)
	}

	m, on := w.host.get("aks-one")
	wantID := "azure:///subscriptions/" + w.cfg.Subscription + "/resourceGroups/" + strings.ToLower(w.cfg.NodeResourceGroup) + "/providers/Microsoft.Compute/virtualMachines/aks-One"
	if !on || m.ProviderID != wantID || m.CPUs != 2 || m.MemoryMiB != 8192 || m.Zone != "1" || m.Arch != "amd64" || m.OSDiskGB != 128 ||
		string(m.CustomData) != "#!/bin/bash\n" || m.Image != imageGen2 || m.Address != "10.224.0.4" || m.Region != "eastus" {
		t.Errorf("booted %+v", m)
	}
	kinds := map[string]arm.Resource{}
	for _, r := range w.cloud.Resources() {
		kinds[r.Type] = r
	}
	if len(kinds) != 3 || kinds["Microsoft.Network/networkInterfaces"].Owner != *got.ID || kinds["Microsoft.Compute/disks"].Owner != *got.ID {
		t.Errorf("resources %+v", kinds)
	}

	w.delete("aks-one")
	if left := w.cloud.Resources(); len(left) != 0 {
		t.Errorf("left over: %+v", left)
	}
	if _, on := w.host.get("aks-one"); on {
		t.Error("the machine is still on")
	}
	_, err = w.vms.Get(w.ctx, w.cfg.NodeResourceGroup, "aks-one", nil)
	w.refused(err, http.StatusNotFound, "ResourceNotFound")
	w.delete("aks-one") // a DELETE of nothing is fine
}

func TestFailureAfterAcceptStaysUntilDeleted(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) { c.Knobs.Capacity = []arm.Capacity{{Size: "Standard_D2s_v5", Zone: "1"}} })
	w.refused(w.put("vm", w.body("vm", "Standard_D2s_v5")), 0, "ZonalAllocationFailed")

	view, err := w.vms.InstanceView(w.ctx, w.cfg.NodeResourceGroup, "vm", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := view.Statuses[0]
	if *s.Code != "ProvisioningState/failed/ZonalAllocationFailed" || !strings.Contains(*s.Message, "sufficient capacity") || len(view.Statuses) != 1 {
		t.Errorf("status %s: %s", *s.Code, *s.Message)
	}
	if n := len(w.cloud.Resources()); n != 2 {
		t.Errorf("%d resources, want machine and interface", n)
	}
	if _, on := w.host.get("vm"); on {
		t.Error("a failed machine booted")
	}
	// The zone is free again: a second PUT of the same machine tries once more.
	w.turn(func(k *arm.Knobs) { k.Capacity = nil })
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))
	if _, on := w.host.get("vm"); !on {
		t.Error("the second try did not boot")
	}
	w.delete("vm")
	if left := w.cloud.Resources(); len(left) != 0 {
		t.Errorf("left over: %+v", left)
	}
}

func TestPutOnWhatExists(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))

	_, err := w.vms.BeginCreateOrUpdate(w.ctx, w.cfg.NodeResourceGroup, "vm", w.body("vm", "Standard_D2s_v5"), &armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: to.Ptr("*")})
	w.refused(err, http.StatusPreconditionFailed, "PreconditionFailed")

	before := len(w.cloud.Resources())
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))
	if after := len(w.cloud.Resources()); after != before {
		t.Errorf("a repeated PUT made %d resources of %d", after, before)
	}
	for name, change := range map[string]func(*armcompute.VirtualMachine){
		"zones":                      func(v *armcompute.VirtualMachine) { v.Zones = []*string{to.Ptr("2")} },
		"priority":                   func(v *armcompute.VirtualMachine) { *v = spot(*v) },
		"osProfile.customData":       func(v *armcompute.VirtualMachine) { v.Properties.OSProfile.CustomData = to.Ptr("AAAA") },
		"osProfile.computerName":     func(v *armcompute.VirtualMachine) { v.Properties.OSProfile.ComputerName = to.Ptr("other") },
		"storageProfile.osDisk.name": func(v *armcompute.VirtualMachine) { v.Properties.StorageProfile.OSDisk.Name = to.Ptr("other") },
	} {
		vm := w.body("vm", "Standard_D2s_v5")
		change(&vm)
		r := w.refused(w.put("vm", vm), http.StatusConflict, "PropertyChangeNotAllowed")
		if !strings.Contains(r.Error(), name) {
			t.Errorf("%s: %v", name, r)
		}
	}
	vm := w.body("vm", "Standard_D2s_v5")
	vm.Location = to.Ptr("westus3")
	w.refused(w.put("vm", vm), http.StatusConflict, "InvalidResourceLocation")
}
