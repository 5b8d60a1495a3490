package azure

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"github.com/karpenter-aks/karpenter/cloud"
)

// card is a machine's network interface, however Azure is asked for it.
type card struct {
	subnet      string
	pools       []string // ids of load balancers' pools that the first address joins, sorted
	podIPs      int64    // addresses beside the first, for pods
	accelerated bool
	group       string // id of the security group; "" = none of its own
}

func cardOf(o cloud.Order, s SKU, cfg Config, n nodeNetwork) card {
	c := card{subnet: subnetOf(o.Class.Azure, cfg), pools: slices.Sorted(slices.Values(n.backendPools)), accelerated: s.AcceleratedNet}
	if nodeSubnetIPs(cfg.Network) {
		// Pods take their addresses from the node's subnet: one for each pod beyond the host's own.
		c.podIPs = max(0, maxPodsOf(o.Class.Azure, cfg.Network)-1)
	}
	if !managedVnet(cfg) {
		c.group = n.securityGroupID
	}
	return c
}

// nodeSubnetIPs reports whether pods get addresses of the node's own subnet (Azure CNI without overlay).
func nodeSubnetIPs(n Network) bool { return n.Plugin == pluginAzure && n.Mode == "" }

// podIP is the name of the n-th address for pods.
func podIP(n int64) string { return "ipconfig" + strconv.FormatInt(n, 10) }

// profile is what the machine's request says about its interface: all of it, or where it is. Either way it goes with the machine.
func (c card) profile(cfg Config, name string, tags map[string]*string) *armcompute.NetworkProfile {
	if cfg.NetworkInterfaces == InterfacesSeparate {
		return &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{
			ID: to.Ptr(interfaceID(cfg, name)),
			Properties: &armcompute.NetworkInterfaceReferenceProperties{
				Primary: to.Ptr(true), DeleteOption: to.Ptr(armcompute.DeleteOptionsDelete),
			},
		}}}
	}
	subnet := &armcompute.SubResource{ID: to.Ptr(c.subnet)}
	first := &armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties{
		Primary: to.Ptr(true), Subnet: subnet, PrivateIPAddressVersion: to.Ptr(armcompute.IPVersionsIPv4),
	}
	for _, id := range c.pools {
		first.LoadBalancerBackendAddressPools = append(first.LoadBalancerBackendAddressPools, &armcompute.SubResource{ID: to.Ptr(id)})
	}
	ips := []*armcompute.VirtualMachineNetworkInterfaceIPConfiguration{{Name: to.Ptr(name), Properties: first}}
	for i := range c.podIPs {
		ips = append(ips, &armcompute.VirtualMachineNetworkInterfaceIPConfiguration{
			Name: to.Ptr(podIP(i + 1)),
			Properties: &armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties{
				Primary: to.Ptr(false), Subnet: subnet, PrivateIPAddressVersion: to.Ptr(armcompute.IPVersionsIPv4),
			},
		})
	}
	nic := &armcompute.VirtualMachineNetworkInterfaceConfigurationProperties{
		Primary:                     to.Ptr(true),
		DeleteOption:                to.Ptr(armcompute.DeleteOptionsDelete),
		EnableAcceleratedNetworking: to.Ptr(c.accelerated),
		EnableIPForwarding:          to.Ptr(false),
		IPConfigurations:            ips,
	}
	if c.group != "" {
		nic.NetworkSecurityGroup = &armcompute.SubResource{ID: to.Ptr(c.group)}
	}
	return &armcompute.NetworkProfile{
		NetworkAPIVersion: to.Ptr(armcompute.NetworkAPIVersionTwoThousandTwentyTwo1101),
		NetworkInterfaceConfigurations: []*armcompute.VirtualMachineNetworkInterfaceConfiguration{{
			Name: to.Ptr(name), Properties: nic, Tags: tags,
		}},
	}
}

// alone is the interface as a resource of its own.
func (c card) alone(cfg Config, name string, tags map[string]*string) armnetwork.Interface {
	subnet := &armnetwork.Subnet{ID: to.Ptr(c.subnet)}
	first := &armnetwork.InterfaceIPConfigurationPropertiesFormat{
		Primary: to.Ptr(true), Subnet: subnet, PrivateIPAddressVersion: to.Ptr(armnetwork.IPVersionIPv4),
		PrivateIPAllocationMethod: to.Ptr(armnetwork.IPAllocationMethodDynamic),
	}
	for _, id := range c.pools {
		first.LoadBalancerBackendAddressPools = append(first.LoadBalancerBackendAddressPools, &armnetwork.BackendAddressPool{ID: to.Ptr(id)})
	}
	ips := []*armnetwork.InterfaceIPConfiguration{{Name: to.Ptr(name), Properties: first}}
	for i := range c.podIPs {
		ips = append(ips, &armnetwork.InterfaceIPConfiguration{
			Name: to.Ptr(podIP(i + 1)),
			Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{
				Primary: to.Ptr(false), Subnet: subnet, PrivateIPAddressVersion: to.Ptr(armnetwork.IPVersionIPv4),
				PrivateIPAllocationMethod: to.Ptr(armnetwork.IPAllocationMethodDynamic),
			},
		})
	}
	p := &armnetwork.InterfacePropertiesFormat{
		EnableAcceleratedNetworking: to.Ptr(c.accelerated), EnableIPForwarding: to.Ptr(false), IPConfigurations: ips,
	}
	if c.group != "" {
		p.NetworkSecurityGroup = &armnetwork.SecurityGroup{ID: to.Ptr(c.group)}
	}
	return armnetwork.Interface{Location: to.Ptr(cfg.Location), Tags: tags, Properties: p}
}

// interfaceID is the ARM id of a machine's interface.
func interfaceID(cfg Config, name string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/networkInterfaces/%s", cfg.SubscriptionID, cfg.NodeResourceGroup, name)
}
