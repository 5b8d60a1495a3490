package azure

import (
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
)

// VMs lets tests make machines that the driver would not make.
func (f *Fleet) VMs() *armcompute.VirtualMachinesClient { return f.api.vms }

// NICs lets tests leave interfaces behind as older installations did.
func (f *Fleet) NICs() *armnetwork.InterfacesClient { return f.api.nics }
