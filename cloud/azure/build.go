package azure

import (
	"slices"
	"strconv"

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

// build turns an order into the virtual machine to ask Azure for: machine, interface, disk and first-boot script in
// one request. It is a pure function of its arguments; errors are cloud.Invalid.
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
		return none, cloud.Errorf(cloud.Invalid, "no image of %s boots on size %s", o.Class.Ref, s.Name)
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
			NetworkProfile:  network(o, s, cfg, n, name),
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

// network is the interface, inline: it is made with the machine and goes with it.
func network(o cloud.Order, s SKU, cfg Config, n nodeNetwork, name string) *armcompute.NetworkProfile {
	subnet := &armcompute.SubResource{ID: to.Ptr(subnetOf(o.Class.Azure, cfg))}
	ips := []*armcompute.VirtualMachineNetworkInterfaceIPConfiguration{{
		Name: to.Ptr(name),
		Properties: &armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties{
			Primary: to.Ptr(true), Subnet: subnet, PrivateIPAddressVersion: to.Ptr(armcompute.IPVersionsIPv4),
			LoadBalancerBackendAddressPools: references(n.backendPools),
		},
	}}
	if nodeSubnetIPs(cfg.Network) {
		// Pods take their addresses from the node's subnet: one for each pod beyond the host's own.
		for i := int64(1); i < maxPodsOf(o.Class.Azure, cfg.Network); i++ {
			ips = append(ips, &armcompute.VirtualMachineNetworkInterfaceIPConfiguration{
				Name: to.Ptr("ipconfig" + strconv.FormatInt(i, 10)),
				Properties: &armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties{
					Primary: to.Ptr(false), Subnet: subnet, PrivateIPAddressVersion: to.Ptr(armcompute.IPVersionsIPv4),
				},
			})
		}
	}
	nic := &armcompute.VirtualMachineNetworkInterfaceConfigurationProperties{
		Primary:                     to.Ptr(true),
		DeleteOption:                to.Ptr(armcompute.DeleteOptionsDelete),
		EnableAcceleratedNetworking: to.Ptr(s.AcceleratedNet),
		EnableIPForwarding:          to.Ptr(false),
		IPConfigurations:            ips,
	}
	if !managedVnet(cfg) && n.securityGroupID != "" {
		nic.NetworkSecurityGroup = &armcompute.SubResource{ID: to.Ptr(n.securityGroupID)}
	}
	tags, _ := tagsFor(o, cfg) // build has checked them
	return &armcompute.NetworkProfile{
		NetworkAPIVersion: to.Ptr(armcompute.NetworkAPIVersionTwoThousandTwentyTwo1101),
		NetworkInterfaceConfigurations: []*armcompute.VirtualMachineNetworkInterfaceConfiguration{{
			Name: to.Ptr(name), Properties: nic, Tags: pointers(tags),
		}},
	}
}

// nodeSubnetIPs reports whether pods get addresses of the node's own subnet (Azure CNI without overlay).
func nodeSubnetIPs(n Network) bool { return n.Plugin == pluginAzure && n.Mode == "" }

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

func references(ids []string) []*armcompute.SubResource {
	var out []*armcompute.SubResource
	for _, id := range slices.Sorted(slices.Values(ids)) {
		out = append(out, &armcompute.SubResource{ID: to.Ptr(id)})
	}
	return out
}
