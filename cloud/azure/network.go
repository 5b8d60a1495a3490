package azure

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
)

// Names that AKS gives to a cluster's load balancers and to their pools for outbound and inbound traffic.
const (
	balancerPublic   = "kubernetes"
	balancerInternal = "kubernetes-internal"
	poolOutbound     = "aksOutboundBackendPool"
	poolInbound      = "kubernetes"
)

// askNetwork reads the cluster's load balancers and its security group from the node resource group, and the GUID of
// the cluster's network if it is needed and nobody told us.
func (f *Fleet) askNetwork(ctx context.Context) (nodeNetwork, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	var balancers []*armnetwork.LoadBalancer
	for pager := f.api.balancers.NewListPager(f.cfg.NodeResourceGroup, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nodeNetwork{}, fmt.Errorf("list load balancers: %w", inWords(err, tried{}))
		}
		balancers = append(balancers, page.Value...)
	}
	var groups []*armnetwork.SecurityGroup
	for pager := f.api.groups.NewListPager(f.cfg.NodeResourceGroup, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nodeNetwork{}, fmt.Errorf("list network security groups: %w", inWords(err, tried{}))
		}
		groups = append(groups, page.Value...)
	}
	n := readNetwork(balancers, groups)
	if f.cfg.VnetGUID == "" && f.cfg.Network.Mode == modeOverlay {
		// Nodes of an overlay network must carry it in a label; without it their pods get no network.
		id, _ := parseSubnetID(f.cfg.SubnetID)
		v, err := f.api.vnets.Get(ctx, id.ResourceGroup, id.Vnet, nil)
		if err != nil {
			return nodeNetwork{}, fmt.Errorf("get virtual network %s for its GUID, which is not configured: %w", id.Vnet, inWords(err, tried{}))
		}
		if v.Properties != nil {
			n.vnetGUID = str(v.Properties.ResourceGUID)
		}
	}
	return n, nil
}

// readNetwork picks what AKS made for the cluster, by AKS' own names. The eight digits in the security group's name
// are the cluster's number; its route table carries them too.
func readNetwork(balancers []*armnetwork.LoadBalancer, groups []*armnetwork.SecurityGroup) nodeNetwork {
	var n nodeNetwork
	for _, lb := range balancers {
		if lb == nil || lb.Properties == nil || !strings.EqualFold(str(lb.Name), balancerPublic) && !strings.EqualFold(str(lb.Name), balancerInternal) {
			continue
		}
		for _, p := range lb.Properties.BackendAddressPools {
			if p != nil && p.ID != nil && joinable(p) {
				n.backendPools = append(n.backendPools, *p.ID)
			}
		}
	}
	slices.Sort(n.backendPools)
	named := regexp.MustCompile(`^aks-agentpool-(\d{8})-nsg$`)
	groups = slices.SortedFunc(slices.Values(groups), func(a, b *armnetwork.SecurityGroup) int {
		return cmp.Compare(str(a.Name), str(b.Name))
	})
	for _, g := range groups {
		if m := named.FindStringSubmatch(str(g.Name)); m != nil {
			n.securityGroup, n.securityGroupID = str(g.Name), str(g.ID)
			n.routeTable = "aks-agentpool-" + m[1] + "-routetable"
			break
		}
	}
	return n
}

// joinable reports whether machines join the pool with their interface: AKS' two IPv4 pools, unless members are
// listed by address there.
func joinable(p *armnetwork.BackendAddressPool) bool {
	if !strings.EqualFold(str(p.Name), poolOutbound) && !strings.EqualFold(str(p.Name), poolInbound) {
		return false
	}
	if p.Properties == nil {
		return true
	}
	return !slices.ContainsFunc(p.Properties.LoadBalancerBackendAddresses, func(a *armnetwork.LoadBalancerBackendAddress) bool {
		return a != nil && a.Properties != nil && str(a.Properties.IPAddress) != "" && a.Properties.NetworkInterfaceIPConfiguration == nil
	})
}
