package azure

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// nodeNetwork is what machines must know of the cluster's network resources in the node resource group.
type nodeNetwork struct {
	securityGroup, securityGroupID string   // "" when there is none
	routeTable                     string   // "" when there is none
	backendPools                   []string // ids, sorted
	vnetGUID                       string   // "" unless it was asked for
}

// build turns an order into the virtual machine to ask Azure for: machine, disk and first-boot script in one request, and the
// interface too unless it is made on its own. It is a pure function of its arguments; errors are cloud.Invalid, or
// cloud.Refused when another size may do.
func build(o cloud.Order, s SKU, cfg Config, n nodeNetwork) (armcompute.VirtualMachine, error) {
	var none armcompute.VirtualMachine
	name, err := machineName(o.Claim)
	if err != nil {
		return none, err
	}
	tags, err := tagsFor(o, cfg)
	if err != nil {
		return none, err
	}
	image, ok := chooseImage(o.Class.Images, s)
	if !ok {
		e := cloud.Errorf(cloud.Refused, "no image of %s boots on size %s", o.Class.Ref, s.Name)
		e.More.Scope = sizeForClass(triedFor(o, s))
		return none, e
	}
	data, err := customData(o, s, cfg, n)
	if err != nil {
		return none, err
	}
	vm := armcompute.VirtualMachine{
		Location: to.Ptr(cfg.Location),
		Tags:     pointers(tags),
		Identity: identities(cfg.NodeIdentities),
		Zones:    zones(o.Offering, cfg.Location),
		Properties: &armcompute.VirtualMachineProperties{
			HardwareProfile: &armcompute.HardwareProfile{VMSize: to.Ptr(armcompute.VirtualMachineSizeTypes(s.Name))},
			StorageProfile:  storage(o.Class.Azure, s, cfg, name, image),
			OSProfile:       osProfile(cfg, name, data),
			NetworkProfile:  cardOf(o, s, cfg, n).profile(cfg, name, pointers(tags)),
			SecurityProfile: security(o.Class.Azure),
			Priority:        to.Ptr(armcompute.VirtualMachinePriorityTypesRegular),
		},
	}
	if o.Offering.CapacityType == model.Spot {
		vm.Properties.Priority = to.Ptr(armcompute.VirtualMachinePriorityTypesSpot)
		vm.Properties.EvictionPolicy = to.Ptr(armcompute.VirtualMachineEvictionPolicyTypesDelete)
		vm.Properties.BillingProfile = &armcompute.BillingProfile{MaxPrice: to.Ptr(-1.0)} // never evicted for its price
	}
	if o.Labels[LabelUltraSSD] == "true" {
		vm.Properties.AdditionalCapabilities = &armcompute.AdditionalCapabilities{UltraSSDEnabled: to.Ptr(true)}
	}
	return vm, nil
}

func zones(o model.Offering, location string) []*string {
	if z := zoneNumber(location, o.Zone); z != "" {
		return []*string{to.Ptr(z)}
	}
	return nil
}

func identities(ids []string) *armcompute.VirtualMachineIdentity {
	if len(ids) == 0 {
		return nil
	}
	out := map[string]*armcompute.UserAssignedIdentitiesValue{}
	for _, id := range ids {
		out[id] = &armcompute.UserAssignedIdentitiesValue{}
	}
	return &armcompute.VirtualMachineIdentity{
		Type: to.Ptr(armcompute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: out,
	}
}

func storage(class *model.AzureClass, s SKU, cfg Config, name, image string) *armcompute.StorageProfile {
	disk := &armcompute.OSDisk{
		Name:         to.Ptr(name),
		CreateOption: to.Ptr(armcompute.DiskCreateOptionTypesFromImage),
		DeleteOption: to.Ptr(armcompute.DiskDeleteOptionTypesDelete),
		DiskSizeGB:   to.Ptr(diskGB(class)),
	}
	if p, ok := ephemeralFor(s.rooms(), diskGB(class)); ok {
		disk.DiffDiskSettings = &armcompute.DiffDiskSettings{
			Option: to.Ptr(armcompute.DiffDiskOptionsLocal), Placement: to.Ptr(p),
		}
		disk.Caching = to.Ptr(armcompute.CachingTypesReadOnly) // the only one that ephemeral disks take
	}
	if cfg.DiskEncryptionSetID != "" {
		disk.ManagedDisk = &armcompute.ManagedDiskParameters{
			DiskEncryptionSet: &armcompute.DiskEncryptionSetParameters{ID: to.Ptr(cfg.DiskEncryptionSetID)},
		}
	}
	ref := &armcompute.ImageReference{ID: to.Ptr(image)}
	if isCommunityImage(image) {
		ref = &armcompute.ImageReference{CommunityGalleryImageID: to.Ptr(image)}
	}
	return &armcompute.StorageProfile{OSDisk: disk, ImageReference: ref}
}

func osProfile(cfg Config, name, data string) *armcompute.OSProfile {
	return &armcompute.OSProfile{
		ComputerName:  to.Ptr(name),
		AdminUsername: to.Ptr(cfg.AdminUsername),
		CustomData:    to.Ptr(data),
		LinuxConfiguration: &armcompute.LinuxConfiguration{
			DisablePasswordAuthentication: to.Ptr(true),
			SSH: &armcompute.SSHConfiguration{PublicKeys: []*armcompute.SSHPublicKey{{
				KeyData: to.Ptr(cfg.SSHPublicKey), Path: to.Ptr("/home/" + cfg.AdminUsername + "/.ssh/authorized_keys"),
			}}},
		},
	}
}

func security(class *model.AzureClass) *armcompute.SecurityProfile {
	p := &armcompute.SecurityProfile{}
	if class.EncryptionAtHost {
		p.EncryptionAtHost = to.Ptr(true)
	}
	if trustedLaunch(class) {
		p.SecurityType = to.Ptr(armcompute.SecurityTypesTrustedLaunch)
		p.UefiSettings = &armcompute.UefiSettings{VTpmEnabled: to.Ptr(class.VTPM), SecureBootEnabled: to.Ptr(class.SecureBoot)}
	}
	if p.EncryptionAtHost == nil && p.SecurityType == nil {
		return nil
	}
	return p
}
