package arm_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strconv"
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
	none := func(typ string) *string {
		return to.Ptr("/subscriptions/" + w.cfg.Subscription + "/resourceGroups/" + w.cfg.NodeResourceGroup + "/providers/" + typ + "/none")
	}
	sec := func(v *vm, kind armcompute.SecurityTypes) {
		v.Properties.SecurityProfile = &armcompute.SecurityProfile{SecurityType: &kind}
	}
	account := func(v *vm, kind armcompute.StorageAccountTypes) {
		v.Properties.StorageProfile.OSDisk.ManagedDisk = &armcompute.ManagedDiskParameters{StorageAccountType: &kind}
	}
	ultra := func(v *vm) {
		v.Properties.AdditionalCapabilities = &armcompute.AdditionalCapabilities{UltraSSDEnabled: to.Ptr(true)}
	}
	admin := func(v *vm, name string) {
		v.Properties.OSProfile.AdminUsername = &name
		v.Properties.OSProfile.LinuxConfiguration.SSH.PublicKeys[0].Path = to.Ptr("/home/" + name + "/.ssh/authorized_keys")
	}
	key := func(v *vm, data string) { v.Properties.OSProfile.LinuxConfiguration.SSH.PublicKeys[0].KeyData = &data }
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
		"subnet": {400, "InvalidResourceReference", func(v *vm) {
			nic(v).IPConfigurations[0].Properties.Subnet.ID = none("Microsoft.Network/virtualNetworks/x/subnets")
		}},
		"subnet id": {400, "LinkedInvalidPropertyId", func(v *vm) { nic(v).IPConfigurations[0].Properties.Subnet.ID = to.Ptr("/none") }},
		"pool": {400, "InvalidResourceReference", func(v *vm) {
			nic(v).IPConfigurations[0].Properties.LoadBalancerBackendAddressPools[0].ID = none("Microsoft.Network/loadBalancers/kubernetes/backendAddressPools")
		}},
		"group": {400, "InvalidResourceReference", func(v *vm) {
			nic(v).NetworkSecurityGroup = &armcompute.SubResource{ID: none("Microsoft.Network/networkSecurityGroups")}
		}},
		"no addresses": {400, "NetworkInterfaceMustHaveAtLeastOneIpConfiguration", func(v *vm) {
			nic(v).IPConfigurations = []*armcompute.VirtualMachineNetworkInterfaceIPConfiguration{}
		}},
		"addresses null": {400, "InvalidParameter", func(v *vm) { nic(v).IPConfigurations = nil }},
		"address names": {400, "InvalidRequestFormat", func(v *vm) {
			nic(v).IPConfigurations = append(nic(v).IPConfigurations, nic(v).IPConfigurations[0])
		}},
		"address name": {400, "InvalidResourceName", func(v *vm) { nic(v).IPConfigurations[0].Name = to.Ptr("a b") }},
		"interface name": {400, "InvalidResourceName", func(v *vm) {
			v.Properties.NetworkProfile.NetworkInterfaceConfigurations[0].Name = to.Ptr("a b")
		}},
		"subnet full": {400, "SubnetIsFull", func(v *vm) {
			more := *nic(v).IPConfigurations[0]
			more.Name = to.Ptr("more")
			nic(v).IPConfigurations = append(nic(v).IPConfigurations, &more)
		}},
		"tag name":               {400, "InvalidTagNameCharacters", func(v *vm) { v.Tags = map[string]*string{"karpenter.sh/nodepool": to.Ptr("x")} }},
		"tag names of Microsoft": {400, "ReservedTagName", func(v *vm) { v.Tags = map[string]*string{"AzureOwner": to.Ptr("x")} }},
		"tag names in two cases": {400, "InvalidRequestContent", func(v *vm) { v.Tags = map[string]*string{"Team": to.Ptr("x"), "team": to.Ptr("y")} }},
		"tag name too long":      {400, "InvalidTagNameLength", func(v *vm) { v.Tags = map[string]*string{strings.Repeat("x", 513): to.Ptr("x")} }},
		"tag name empty":         {400, "InvalidTagNameLength", func(v *vm) { v.Tags = map[string]*string{" ": to.Ptr("x")} }},
		"51 tags": {400, "InvalidTagsTooMany", func(v *vm) {
			for i := range 51 {
				v.Tags["t"+strconv.Itoa(i)] = to.Ptr("x")
			}
		}},
		"identity that is none": {400, "FailedIdentityOperation", func(v *vm) {
			v.Identity.UserAssignedIdentities = map[string]*armcompute.UserAssignedIdentitiesValue{*none("Microsoft.ManagedIdentity/userAssignedIdentities"): {}}
		}},
		"identity of the wrong type": {400, "InvalidParameter", func(v *vm) { v.Identity.Type = to.Ptr(armcompute.ResourceIdentityTypeSystemAssigned) }},
		"identity without any":       {400, "InvalidParameter", func(v *vm) { v.Identity.UserAssignedIdentities = nil }},
		"disk encryption set": {404, "NotFound", func(v *vm) {
			disk(v).ManagedDisk = &armcompute.ManagedDiskParameters{DiskEncryptionSet: &armcompute.DiskEncryptionSetParameters{ID: none("Microsoft.Compute/diskEncryptionSets")}}
		}},
		"capacity group": {404, "NotFound", func(v *vm) {
			v.Properties.CapacityReservation = &armcompute.CapacityReservationProfile{CapacityReservationGroup: &armcompute.SubResource{ID: none("Microsoft.Compute/capacityReservationGroups")}}
		}},
		"availability set in a zone": {400, "BadRequest", func(v *vm) {
			v.Properties.AvailabilitySet = &armcompute.SubResource{ID: none("Microsoft.Compute/availabilitySets")}
		}},
		"availability set that is none": {404, "NotFound", func(v *vm) {
			v.Zones = nil
			v.Properties.AvailabilitySet = &armcompute.SubResource{ID: none("Microsoft.Compute/availabilitySets")}
		}},
		"scale set": {404, "NotFound", func(v *vm) {
			v.Properties.VirtualMachineScaleSet = &armcompute.SubResource{ID: none("Microsoft.Compute/virtualMachineScaleSets")}
		}},
		"ultra disks outside zones":    {400, "InvalidParameter", func(v *vm) { ultra(v); v.Zones = nil }},
		"ultra disks of the size":      {400, "InvalidParameter", func(v *vm) { ultra(v); size(v, "Standard_B2ms") }},
		"image without trusted launch": {400, "BadRequest", func(v *vm) { sec(v, armcompute.SecurityTypesTrustedLaunch) }},
		"size without confidentiality": {400, "BadRequest", func(v *vm) { sec(v, armcompute.SecurityTypesConfidentialVM) }},
		"firmware without type": {400, "BadRequest", func(v *vm) {
			v.Properties.SecurityProfile = &armcompute.SecurityProfile{UefiSettings: &armcompute.UefiSettings{SecureBootEnabled: to.Ptr(true)}}
		}},
		"premium disk on a plain size": {400, "InvalidParameter", func(v *vm) { size(v, "Standard_D2_v5"); account(v, armcompute.StorageAccountTypesPremiumLRS) }},
		"operating system on ultra":    {400, "InvalidParameter", func(v *vm) { account(v, armcompute.StorageAccountTypesUltraSSDLRS) }},
		"storage nobody knows":         {400, "InvalidParameter", func(v *vm) { account(v, "Gold_LRS") }},
		"disk name":                    {400, "InvalidParameter", func(v *vm) { disk(v).Name = to.Ptr("a b") }},
		"disk too large":               {400, "InvalidParameter", func(v *vm) { disk(v).DiskSizeGB = to.Ptr[int32](4096) }},
		"caching nobody knows":         {400, "InvalidParameter", func(v *vm) { disk(v).Caching = to.Ptr(armcompute.CachingTypes("Sometimes")) }},
		"max price of a regular machine": {400, "InvalidParameter", func(v *vm) {
			v.Properties.BillingProfile = &armcompute.BillingProfile{MaxPrice: to.Ptr(-1.0)}
		}},
		"max price below the price": {409, "OperationNotAllowed", func(v *vm) { *v = spot(*v); v.Properties.BillingProfile.MaxPrice = to.Ptr(0.000001) }},
		"admin name with a space":   {400, "InvalidParameter", func(v *vm) { admin(v, "jane doe") }},
		"admin name too long":       {400, "InvalidParameter", func(v *vm) { admin(v, strings.Repeat("x", 65)) }},
		"key cut short":             {400, "InvalidParameter", func(v *vm) { key(v, testKey[:len(testKey)-20]) }},
		"key of another kind":       {400, "InvalidParameter", func(v *vm) { key(v, strings.Replace(testKey, "ed25519", "dss", 1)) }},
		"key under another name":    {400, "InvalidParameter", func(v *vm) { key(v, strings.Replace(testKey, "ssh-ed25519", "ssh-rsa", 1)) }},
		"key of 1024 bits":          {400, "InvalidParameter", func(v *vm) { key(v, rsaKey(1024)) }},
		"two keys in one":           {400, "InvalidParameter", func(v *vm) { key(v, testKey+"\n"+testKey) }},
		"tag value":                 {400, "InvalidTagValueLength", func(v *vm) { v.Tags = map[string]*string{"a": to.Ptr(strings.Repeat("x", 257))} }},
		"interface tag": {400, "InvalidTagNameCharacters", func(v *vm) {
			v.Properties.NetworkProfile.NetworkInterfaceConfigurations[0].Tags = map[string]*string{"a?": to.Ptr("x")}
		}},
		"other interface": {404, "NotFound", func(v *vm) {
			v.Properties.NetworkProfile = &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{ID: none("Microsoft.Network/networkInterfaces")}}}
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
	for _, name := range []string{"a b", strings.Repeat("x", 65), "vm-"} {
		w.refused(w.begin(name, w.body("vm", "Standard_D2s_v5")), http.StatusBadRequest, "InvalidParameter")
	}
	w.refused(w.begin("-vm", w.body("vm", "Standard_D2s_v5")), http.StatusBadRequest, "InvalidParameter")
}

// rsaKey is a public key whose modulus has so many bits. Nobody has its private half, and there may be none.
func rsaKey(bits int) string {
	modulus := bytes.Repeat([]byte{0xc5}, bits/8)
	var blob []byte
	for _, part := range [][]byte{[]byte("ssh-rsa"), {1, 0, 1}, append([]byte{0}, modulus...)} {
		blob = append(binary.BigEndian.AppendUint32(blob, uint32(len(part))), part...)
	}
	return "ssh-rsa " + base64.StdEncoding.EncodeToString(blob) + " lab"
}

// What is asked for well exists, so that the refusals above mean something.
func TestWhatExistsIsTaken(t *testing.T) {
	const below = "/subscriptions/5c0ffee0-0000-4000-8000-000000000001/resourceGroups/keys/providers/Microsoft.Compute/"
	w := newWorld(t, func(c *arm.Config) {
		c.DiskEncryptionSets = []string{below + "diskEncryptionSets/ours"}
		c.CapacityReservationGroups = []string{below + "capacityReservationGroups/ours"}
	})
	for name, change := range map[string]func(*vm){
		"set": func(v *vm) {
			v.Properties.StorageProfile.OSDisk.ManagedDisk = &armcompute.ManagedDiskParameters{DiskEncryptionSet: &armcompute.DiskEncryptionSetParameters{ID: &w.cfg.DiskEncryptionSets[0]}}
		},
		"reserved": func(v *vm) {
			v.Properties.CapacityReservation = &armcompute.CapacityReservationProfile{CapacityReservationGroup: &armcompute.SubResource{ID: &w.cfg.CapacityReservationGroups[0]}}
		},
		"trusted": func(v *vm) {
			v.Properties.StorageProfile.ImageReference.CommunityGalleryImageID = to.Ptr(strings.Replace(imageGen2, "2204gen2containerd", "2204gen2TLcontainerd", 1))
			v.Properties.SecurityProfile = &armcompute.SecurityProfile{SecurityType: to.Ptr(armcompute.SecurityTypesTrustedLaunch), UefiSettings: &armcompute.UefiSettings{VTpmEnabled: to.Ptr(true)}}
		},
		"ultra": func(v *vm) {
			v.Properties.AdditionalCapabilities = &armcompute.AdditionalCapabilities{UltraSSDEnabled: to.Ptr(true)}
		},
		"rsa": func(v *vm) {
			v.Properties.OSProfile.LinuxConfiguration.SSH.PublicKeys[0].KeyData = to.Ptr(rsaKey(2048))
		},
		"standard": func(v *vm) {
			v.Properties.StorageProfile.OSDisk.ManagedDisk = &armcompute.ManagedDiskParameters{StorageAccountType: to.Ptr(armcompute.StorageAccountTypesStandardSSDLRS)}
		},
	} {
		body := w.body(name, "Standard_D2s_v5")
		change(&body)
		if err := w.put(name, body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
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
