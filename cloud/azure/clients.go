package azure

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"
)

// How patient one call is. Callers have their own backoff; what lasts longer than this is told to them.
const (
	retries       = 2 // after the first try
	retryDelay    = 300 * time.Millisecond
	maxRetryDelay = 2 * time.Second // a longer Retry-After ends the call, which then counts as throttled
	tryWithin     = 30 * time.Second
	callWithin    = 60 * time.Second
	listWithin    = 2 * time.Minute // lists have pages
	// tokenLife caps how long a token is used, so that changed roles are noticed without a restart.
	tokenLife = 2 * time.Hour
)

type clients struct {
	vms        *armcompute.VirtualMachinesClient
	extensions *armcompute.VirtualMachineExtensionsClient
	skus       *armcompute.ResourceSKUsClient
	usages     *armcompute.UsageClient
	gallery    *armcompute.CommunityGalleryImageVersionsClient
	disks      *armcompute.DisksClient
	nics       *armnetwork.InterfacesClient
	subnets    *armnetwork.SubnetsClient
	balancers  *armnetwork.LoadBalancersClient
	groups     *armnetwork.SecurityGroupsClient
	vnets      *armnetwork.VirtualNetworksClient
	graph      *armresourcegraph.Client
	prices     *http.Client
	reads      *budget
}

func (c Config) cloud() azcloud.Configuration {
	out := azcloud.AzurePublic
	e := c.Endpoints
	if e.AuthorityHost == "" && e.ResourceManager == "" {
		return out
	}
	rm := out.Services[azcloud.ResourceManager]
	if e.ResourceManager != "" {
		rm = azcloud.ServiceConfiguration{Endpoint: e.ResourceManager, Audience: e.ResourceManager}
	}
	if e.Audience != "" {
		rm.Audience = e.Audience
	}
	if e.AuthorityHost != "" {
		out.ActiveDirectoryAuthorityHost = e.AuthorityHost
	}
	out.Services = map[azcloud.ServiceName]azcloud.ServiceConfiguration{azcloud.ResourceManager: rm}
	return out
}

func (c Config) clientOptions() policy.ClientOptions {
	id := "karpenter-aks/" + c.Version
	o := policy.ClientOptions{
		Cloud:     c.cloud(),
		Telemetry: policy.TelemetryOptions{ApplicationID: id[:min(len(id), maxAppID)]},
		Retry:     policy.RetryOptions{MaxRetries: retries, RetryDelay: retryDelay, MaxRetryDelay: maxRetryDelay, TryTimeout: tryWithin},
	}
	o.PerRetryPolicies = []policy.Policy{ownBody{}}
	if c.Transport != nil {
		o.Transport = c.Transport
	}
	return o
}

// credential is workload identity when there is a token file; else the environment, the machine's identity and the
// command line tool, in this order.
func (c Config) credential() (azcore.TokenCredential, error) {
	opts := c.clientOptions()
	blind := c.Endpoints.AuthorityHost != ""
	if c.FederatedTokenFile != "" {
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: opts, ClientID: c.ClientID, TenantID: c.TenantID, TokenFilePath: c.FederatedTokenFile,
			DisableInstanceDiscovery: blind,
		})
	}
	var chain []azcore.TokenCredential
	if e, err := azidentity.NewEnvironmentCredential(&azidentity.EnvironmentCredentialOptions{ClientOptions: opts, DisableInstanceDiscovery: blind}); err == nil {
		chain = append(chain, e)
	}
	managed := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: opts}
	if c.ClientID != "" {
		managed.ID = azidentity.ClientID(c.ClientID)
	}
	m, err := azidentity.NewManagedIdentityCredential(managed)
	if err != nil {
		return nil, err
	}
	cli, err := azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: c.TenantID})
	if err != nil {
		return nil, err
	}
	return azidentity.NewChainedTokenCredential(append(chain, m, cli), nil)
}

// shortLived makes tokens look older than they are.
type shortLived struct {
	azcore.TokenCredential
	now func() time.Time
}

// GetToken implements azcore.TokenCredential.
func (s shortLived) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	t, err := s.TokenCredential.GetToken(ctx, o)
	if latest := s.now().Add(tokenLife); err == nil && t.ExpiresOn.After(latest) {
		t.ExpiresOn, t.RefreshOn = latest, time.Time{}
	}
	return t, err
}

func newClients(c Config, cred azcore.TokenCredential) (clients, error) {
	opts := &arm.ClientOptions{ClientOptions: c.clientOptions(), DisableRPRegistration: true}
	reads := newBudget(c.Now)
	opts.PerRetryPolicies = append(opts.PerRetryPolicies, reads)
	cred = shortLived{cred, c.Now}
	compute, err := armcompute.NewClientFactory(c.SubscriptionID, cred, opts)
	if err != nil {
		return clients{}, fmt.Errorf("azure compute client: %w", err)
	}
	network, err := armnetwork.NewClientFactory(c.SubscriptionID, cred, opts)
	if err != nil {
		return clients{}, fmt.Errorf("azure network client: %w", err)
	}
	graph, err := armresourcegraph.NewClient(cred, opts)
	if err != nil {
		return clients{}, fmt.Errorf("azure resource graph client: %w", err)
	}
	prices := c.Transport
	if prices == nil {
		prices = http.DefaultClient
	}
	return clients{
		vms: compute.NewVirtualMachinesClient(), extensions: compute.NewVirtualMachineExtensionsClient(),
		skus: compute.NewResourceSKUsClient(), usages: compute.NewUsageClient(),
		gallery: compute.NewCommunityGalleryImageVersionsClient(), disks: compute.NewDisksClient(),
		nics: network.NewInterfacesClient(), subnets: network.NewSubnetsClient(),
		balancers: network.NewLoadBalancersClient(), groups: network.NewSecurityGroupsClient(),
		vnets: network.NewVirtualNetworksClient(),
		graph: graph, prices: prices, reads: reads,
	}, nil
}
