package arm_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

type vm = armcompute.VirtualMachine

// Every body that Azure refuses is refused with Azure's code, at once, and leaves nothing behind.
func TestBadMachinesAreRefused(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) { c.Knobs.SubnetAddresses = 1 })
	w.mustPut("first", w.body("first", "Standard_D2s_v5"))
	w.delete("first")
	nic := func(v *vm) *armcompute.VirtualMachineNetworkInterfaceConfigurationProperties {
		return v.Properties.NetworkProfile.NetworkInterfaceConfigurations[0].Properties
	}
	disk := func(v *vm) *armcompute.OSDisk { return v.Properties.StorageProfile.OSDisk }
	size := func(v *vm, s string) {
		v.Properties.HardwareProfile.VMSize = to.Ptr(armcompute.VirtualMachineSizeTypes(s))
	}
	image := func(v *vm, def, version string) {
		v.Properties.StorageProfile.ImageReference.CommunityGalleryImageID = to.Ptr("/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/" + def + "/versions/" + version)
	}
	local := func(v *vm, place armcompute.DiffDiskPlacement) {
		disk(v).DiffDiskSettings = &armcompute.DiffDiskSettings{Option: to.Ptr(armcompute.DiffDiskOptionsLocal), Placement: &place}
		disk(v).Caching = to.Ptr(armcompute.CachingTypesReadOnly)
	}
	for name, c := range map[string]struct {
		status int
		code   string
		change func(*vm)
	}{
		"no location":         {400, "LocationRequired", func(v *vm) { v.Location = nil }},
		"other location":      {400, "LocationNotAvailableForResourceType", func(v *vm) { v.Location = to.Ptr("westus3") }},
		"unknown size":        {400, "InvalidParameter", func(v *vm) { size(v, "Standard_Z1") }},
		"size not in region":  {409, "SkuNotAvailable", func(v *vm) { size(v, "Standard_DC2es_v5") }},
		"size not in zone":    {409, "SkuNotAvailable", func(v *vm) { size(v, "Standard_D2as_v7"); v.Zones = []*string{to.Ptr("2")} }},
		"size denied in zone": {409, "SkuNotAvailable", func(v *vm) { size(v, "Standard_FX4mds"); v.Zones = []*string{to.Ptr("3")} }},
		"zone 4":              {400, "InvalidAvailabilityZone", func(v *vm) { v.Zones = []*string{to.Ptr("4")} }},
		"two zones":           {400, "InvalidZones", func(v *vm) { v.Zones = []*string{to.Ptr("1"), to.Ptr("2")} }},
		"spot policy alone": {400, "InvalidParameter", func(v *vm) {
			v.Properties.EvictionPolicy = to.Ptr(armcompute.VirtualMachineEvictionPolicyTypesDelete)
		}},
		"spot policy unknown": {400, "InvalidParameter", func(v *vm) {
			*v = spot(*v)
			v.Properties.EvictionPolicy = to.Ptr(armcompute.VirtualMachineEvictionPolicyTypes("Keep"))
		}},
		"spot max price zero":  {400, "InvalidParameter", func(v *vm) { *v = spot(*v); v.Properties.BillingProfile.MaxPrice = to.Ptr(0.0) }},
		"no spot for the size": {400, "OperationNotAllowed", func(v *vm) { *v = spot(*v); size(v, "Standard_B2s") }},
		"priority unknown":     {400, "InvalidParameter", func(v *vm) { v.Properties.Priority = to.Ptr(armcompute.VirtualMachinePriorityTypes("Cheap")) }},
		"no os profile":        {400, "InvalidParameter", func(v *vm) { v.Properties.OSProfile = nil }},
		"computer name too long": {400, "InvalidParameter", func(v *vm) {
			v.Properties.OSProfile.ComputerName = to.Ptr(strings.Repeat("x", 65))
		}},
		"computer name":     {400, "InvalidParameter", func(v *vm) { v.Properties.OSProfile.ComputerName = to.Ptr("a_b") }},
		"admin name":        {400, "InvalidParameter", func(v *vm) { v.Properties.OSProfile.AdminUsername = to.Ptr("root") }},
		"no key":            {400, "InvalidParameter", func(v *vm) { v.Properties.OSProfile.LinuxConfiguration.SSH = nil }},
		"key path":          {400, "InvalidParameter", func(v *vm) { v.Properties.OSProfile.LinuxConfiguration.SSH.PublicKeys[0].Path = to.Ptr("/root") }},
		"key data":          {400, "InvalidParameter", func(v *vm) { v.Properties.OSProfile.LinuxConfiguration.SSH.PublicKeys[0].KeyData = to.Ptr("x") }},
		"custom data plain": {400, "InvalidParameter", func(v *vm) { v.Properties.OSProfile.CustomData = to.Ptr("#!/bin/sh") }},
		"custom data too big": {400, "InvalidParameter", func(v *vm) {
			v.Properties.OSProfile.CustomData = to.Ptr(base64.StdEncoding.EncodeToString(make([]byte, 65536)))
		}},
		"no such version": {404, "GalleryImageNotFound", func(v *vm) { image(v, "2204gen2containerd", "1.0.0") }},
		"no such image":   {404, "GalleryImageNotFound", func(v *vm) { image(v, "9904", "202608.12.0") }},
		"no image":        {400, "InvalidParameter", func(v *vm) { v.Properties.StorageProfile.ImageReference = nil }},
		"generation":      {400, "BadRequest", func(v *vm) { image(v, "2204containerd", "202608.12.0"); size(v, "Standard_D2s_v6") }},
		"architecture":    {400, "BadRequest", func(v *vm) { size(v, "Standard_D2ps_v5") }},
		"trusted launch": {400, "BadRequest", func(v *vm) {
			size(v, "Standard_D2ps_v5")
			image(v, "2204gen2arm64containerd", "202608.12.0")
			v.Properties.SecurityProfile = &armcompute.SecurityProfile{SecurityType: to.Ptr(armcompute.SecurityTypesTrustedLaunch)}
		}},
		"encryption at host": {400, "InvalidParameter", func(v *vm) {
			size(v, "Standard_D2_v5")
			v.Properties.SecurityProfile = &armcompute.SecurityProfile{EncryptionAtHost: to.Ptr(true)}
		}},
		"disk too small":      {400, "InvalidParameter", func(v *vm) { disk(v).DiskSizeGB = to.Ptr[int32](10) }},
		"no such placement":   {400, "InvalidParameter", func(v *vm) { local(v, armcompute.DiffDiskPlacementCacheDisk) }},
		"placement too small": {400, "InvalidParameter", func(v *vm) { size(v, "Standard_D2ds_v5"); local(v, armcompute.DiffDiskPlacementResourceDisk) }},
		"ephemeral caching": {400, "InvalidParameter", func(v *vm) {
			size(v, "Standard_D8ds_v5")
			local(v, armcompute.DiffDiskPlacementCacheDisk)
			disk(v).Caching = to.Ptr(armcompute.CachingTypesReadWrite)
		}},
		"no network":  {400, "InvalidParameter", func(v *vm) { v.Properties.NetworkProfile = nil }},
		"no api":      {400, "InvalidParameter", func(v *vm) { v.Properties.NetworkProfile.NetworkAPIVersion = nil }},
		"accelerated": {400, "VMSizeIsNotPermittedToEnableAcceleratedNetworking", func(v *vm) { size(v, "Standard_B2ms"); nic(v).EnableAcceleratedNetworking = to.Ptr(true) }},
		"subnet":      {400, "InvalidResourceReference", func(v *vm) { nic(v).IPConfigurations[0].Properties.Subnet.ID = to.Ptr("/none") }},
		"pool": {400, "InvalidResourceReference", func(v *vm) {
			nic(v).IPConfigurations[0].Properties.LoadBalancerBackendAddressPools[0].ID = to.Ptr("/none")
		}},
		"group":        {400, "InvalidResourceReference", func(v *vm) { nic(v).NetworkSecurityGroup = &armcompute.SubResource{ID: to.Ptr("/none")} }},
		"no addresses": {400, "NetworkInterfaceMustHaveAtLeastOneIpConfiguration", func(v *vm) { nic(v).IPConfigurations = nil }},
		"subnet full":  {400, "SubnetIsFull", func(v *vm) { nic(v).IPConfigurations = append(nic(v).IPConfigurations, nic(v).IPConfigurations[0]) }},
		"tag name":     {400, "InvalidTagNameCharacters", func(v *vm) { v.Tags = map[string]*string{"karpenter.sh/nodepool": to.Ptr("x")} }},
		"tag value":    {400, "InvalidTagValueLength", func(v *vm) { v.Tags = map[string]*string{"a": to.Ptr(strings.Repeat("x", 257))} }},
		"interface tag": {400, "InvalidTagNameCharacters", func(v *vm) {
			v.Properties.NetworkProfile.NetworkInterfaceConfigurations[0].Tags = map[string]*string{"a?": to.Ptr("x")}
		}},
		"other interface": {404, "NotFound", func(v *vm) {
			v.Properties.NetworkProfile = &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{ID: to.Ptr("/none")}}}
		}},
	} {
		body := w.body("vm", "Standard_D2s_v5")
		c.change(&body)
		t.Run(name, func(t *testing.T) {
			sub := *w
			sub.T = t
			sub.refused(sub.begin("vm", body), c.status, c.code)
		})
	}
	if left := w.cloud.Resources(); len(left) != 0 {
		t.Errorf("left over: %+v", left)
	}
	w.refused(w.begin("-vm", w.body("vm", "Standard_D2s_v5")), http.StatusBadRequest, "InvalidParameter")
}

func TestRegionWithoutZones(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) { c.Location = "westcentralus" })
	w.refused(w.begin("vm", w.body("vm", "Standard_D2s_v5")), http.StatusBadRequest, "LocationNotSupportAvailabilityZones")
	body := w.body("vm", "Standard_D2s_v5")
	body.Zones = nil
	w.mustPut("vm", body)
	if m, on := w.host.get("vm"); !on || m.Zone != "" || m.Region != "westcentralus" {
		t.Errorf("booted %+v", m)
	}
}

func TestEphemeralDiskIsNoResource(t *testing.T) {
	w := newWorld(t, nil)
	body := w.body("vm", "Standard_D8ds_v5")
	d := body.Properties.StorageProfile.OSDisk
	d.DiffDiskSettings = &armcompute.DiffDiskSettings{Option: to.Ptr(armcompute.DiffDiskOptionsLocal), Placement: to.Ptr(armcompute.DiffDiskPlacementCacheDisk)}
	d.Caching, d.DeleteOption = to.Ptr(armcompute.CachingTypesReadOnly), nil
	w.mustPut("vm", body)
	w.wantStates("running", "vm virtualMachines Succeeded running\nvm networkInterfaces Succeeded")
}
