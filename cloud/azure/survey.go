package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	armruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"github.com/karpenter-aks/karpenter/internal/doctor"
)

const (
	// surveyWithin bounds all questions of a survey together.
	surveyWithin = 2 * time.Minute
	// surveyPages bounds a list that never ends.
	surveyPages = 50

	identityVersion      = "2023-01-31" // of Microsoft.ManagedIdentity
	authorizationVersion = "2022-04-01" // of Microsoft.Authorization
	managedVersion       = "2025-05-01" // of Microsoft.ContainerService
	routesVersion        = "2025-05-01" // of Microsoft.Network
)

// Survey asks Azure what Facts want to know, as the controller's identity when cfg names a token file, else as whoever the environment, the machine or
// the az tool is. It only reads; what it may not read is named in the answer. cfg may lack what only machines need, such as an ssh key.
func Survey(ctx context.Context, cfg Config) doctor.Azure {
	ctx, cancel := context.WithTimeout(ctx, surveyWithin)
	defer cancel()
	cfg = cfg.withDefaults()
	s := &surveyor{cfg: cfg, out: doctor.Azure{Controller: cfg.FederatedTokenFile != "", Asked: map[string]bool{}}}
	if err := s.connect(ctx); err != nil {
		s.out.Unreached, s.out.Code = firstLine(err), entraCode(err)
		return s.out
	}
	s.identity(ctx)
	s.managed(ctx)
	s.subnet(ctx)
	s.quota(ctx)
	s.sizes(ctx)
	s.galleries(ctx)
	s.machines(ctx)
	s.prices(ctx)
	s.out.Clock = s.dates.clock()
	return s.out
}

// asker is the controller's identity where there is its token, else a person: the environment, then the az tool. A machine's own identity is nobody
// whom a person would want to ask as, and looking for it takes a desk a long time.
func (c Config) asker() (azcore.TokenCredential, error) {
	if c.FederatedTokenFile != "" {
		return c.credential()
	}
	opts := c.clientOptions()
	var chain []azcore.TokenCredential
	e, err := azidentity.NewEnvironmentCredential(&azidentity.EnvironmentCredentialOptions{ClientOptions: opts, DisableInstanceDiscovery: c.Endpoints.AuthorityHost != ""})
	if err == nil {
		chain = append(chain, e)
	}
	cli, err := azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: c.TenantID})
	if err != nil {
		return nil, err
	}
	return azidentity.NewChainedTokenCredential(append(chain, cli), nil)
}

type surveyor struct {
	cfg   Config
	api   clients
	raw   runtime.Pipeline
	dates dates
	out   doctor.Azure
}

func (s *surveyor) connect(ctx context.Context) error {
	if s.cfg.FederatedTokenFile != "" && (s.cfg.TenantID == "" || s.cfg.ClientID == "") {
		return errors.New("workload identity needs a tenant id and a client id")
	}
	cred, err := s.cfg.asker()
	if err != nil {
		return err
	}
	where := s.cfg.cloud().Services[azcloud.ResourceManager]
	scope := strings.TrimSuffix(where.Audience, "/") + "/.default"
	if _, err := cred.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}}); err != nil {
		return err
	}
	if s.api, err = newClients(s.cfg, cred); err != nil {
		return err
	}
	opts := &arm.ClientOptions{ClientOptions: s.cfg.clientOptions(), DisableRPRegistration: true}
	s.raw, err = armruntime.NewPipeline("survey", s.cfg.Version, cred, runtime.PipelineOptions{PerRetry: []policy.Policy{&s.dates}}, opts)
	return err
}

// dates remembers Azure's clock as the first answer told it.
type dates struct {
	mu sync.Mutex // guards at
	at doctor.Clock
}

// Do implements policy.Policy.
func (d *dates) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if err == nil {
		at, bad := http.ParseTime(resp.Header.Get("Date"))
		d.mu.Lock()
		if bad == nil && d.at.At.IsZero() {
			d.at = doctor.Clock{At: at, Here: time.Now()}
		}
		d.mu.Unlock()
	}
	return resp, err
}

func (d *dates) clock() doctor.Clock {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// entra finds the code of Entra's refusals.
var entra = regexp.MustCompile(`AADSTS\d+`)

func entraCode(err error) string { return entra.FindString(err.Error()) }

// firstLine is the line of an error that says what happened: SDKs print requests and rulers around it.
func firstLine(err error) string {
	var r *azcore.ResponseError
	if errors.As(err, &r) {
		return fmt.Sprintf("%d %s: %s", r.StatusCode, r.ErrorCode, oneLine(messageOf(r)))
	}
	text := err.Error()
	if i := entra.FindStringIndex(text); i != nil {
		text = text[i[0]:]
		for _, end := range []string{"\n", `\r\n`, `\n`, " Trace ID", `", "`, `","`} {
			text, _, _ = strings.Cut(text, end)
		}
		_, text, _ = strings.Cut(text, ": ")
		return oneLine(strings.Trim(text, `" `))
	}
	return oneLine(text)
}

// failed notes that something could not be read: the controller is denied, a person does not see it.
func (s *surveyor) failed(what string, err error) {
	var r *azcore.ResponseError
	denied := errors.As(err, &r) && r.StatusCode == http.StatusForbidden
	if denied && s.out.Controller {
		s.out.Denied = append(s.out.Denied, what+": "+firstLine(err))
		return
	}
	s.out.Hidden = append(s.out.Hidden, what+": "+firstLine(err))
}

// list reads all pages of a list, decoded into entries of T.
func list[T any](ctx context.Context, s *surveyor, path, version string, query url.Values) ([]T, error) {
	where := s.cfg.cloud().Services[azcloud.ResourceManager].Endpoint
	if query == nil {
		query = url.Values{}
	}
	query.Set("api-version", version)
	next := runtime.JoinPaths(where, path) + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
	var out []T
	for range surveyPages {
		var page struct {
			Value    []T    `json:"value"`
			NextLink string `json:"nextLink"`
		}
		if err := s.get(ctx, next, &page); err != nil {
			return nil, err
		}
		out = append(out, page.Value...)
		if next = page.NextLink; next == "" {
			return out, nil
		}
	}
	return out, nil
}

func (s *surveyor) get(ctx context.Context, address string, into any) error {
	req, err := runtime.NewRequest(ctx, http.MethodGet, address)
	if err != nil {
		return err
	}
	resp, err := s.raw.Do(req)
	if err != nil {
		return err
	}
	if !runtime.HasStatusCode(resp, http.StatusOK) {
		return runtime.NewResponseError(resp)
	}
	return runtime.UnmarshalAsJSON(resp, into)
}

type identityDoc struct {
	ID         string
	Properties struct{ ClientID, PrincipalID string }
}

// identity finds the controller's identity, whom it trusts and what it may do. The controller's own identity may not read that, which is as it
// should be, so it does not ask.
func (s *surveyor) identity(ctx context.Context) {
	sub := "/subscriptions/" + s.cfg.SubscriptionID
	if s.out.Controller || s.cfg.ClientID == "" {
		return
	}
	all, err := list[identityDoc](ctx, s, sub+"/providers/Microsoft.ManagedIdentity/userAssignedIdentities", identityVersion, nil)
	if err != nil {
		s.failed("the subscription's identities", err)
		return
	}
	for _, i := range all {
		if strings.EqualFold(i.Properties.ClientID, s.cfg.ClientID) {
			parts := strings.Split(i.ID, "/")
			s.out.Identity = parts[len(parts)-1]
			if len(parts) > 4 {
				s.out.Group = parts[4]
			}
			s.federations(ctx, i.ID)
			s.grants(ctx, sub, i.Properties.PrincipalID)
			return
		}
	}
	s.out.Hidden = append(s.out.Hidden, "no identity of the subscription has client id "+s.cfg.ClientID)
}

func (s *surveyor) federations(ctx context.Context, id string) {
	type doc struct {
		Name       string
		Properties struct {
			Issuer, Subject string
			Audiences       []string
		}
	}
	all, err := list[doc](ctx, s, id+"/federatedIdentityCredentials", identityVersion, nil)
	if err != nil {
		s.failed("the identity's federated credentials", err)
		return
	}
	s.out.Credentials = []doctor.Credential{}
	for _, c := range all {
		p := c.Properties
		s.out.Credentials = append(s.out.Credentials, doctor.Credential{Name: c.Name, Issuer: p.Issuer, Subject: p.Subject, Audiences: p.Audiences})
	}
}

func (s *surveyor) grants(ctx context.Context, sub, principal string) {
	type assignment struct {
		Properties struct{ Scope, RoleDefinitionID string }
	}
	all, err := list[assignment](ctx, s, sub+"/providers/Microsoft.Authorization/roleAssignments", authorizationVersion,
		url.Values{"$filter": {"assignedTo('" + principal + "')"}})
	if err != nil {
		s.failed("the identity's roles", err)
		return
	}
	s.out.Grants = []doctor.Grant{}
	for _, a := range all {
		var role struct {
			Properties struct {
				RoleName    string
				Permissions []struct{ Actions, NotActions []string }
			}
		}
		where := s.cfg.cloud().Services[azcloud.ResourceManager].Endpoint
		id := a.Properties.RoleDefinitionID
		if err := s.get(ctx, runtime.JoinPaths(where, id)+"?api-version="+authorizationVersion, &role); err != nil {
			s.failed("role "+id, err)
			continue
		}
		for _, p := range role.Properties.Permissions {
			s.out.Grants = append(s.out.Grants, doctor.Grant{Role: role.Properties.RoleName, Scope: a.Properties.Scope, Actions: p.Actions, NotActions: p.NotActions})
		}
	}
}

// managed reads the cluster as AKS has it. The controller may not, and is not told its group.
func (s *surveyor) managed(ctx context.Context) {
	if s.out.Controller || s.cfg.ClusterResourceGroup == "" {
		return
	}
	where := s.cfg.cloud().Services[azcloud.ResourceManager].Endpoint
	path := runtime.JoinPaths(where, "subscriptions", s.cfg.SubscriptionID, "resourceGroups", s.cfg.ClusterResourceGroup,
		"providers/Microsoft.ContainerService/managedClusters", s.cfg.ClusterName)
	var doc struct {
		Properties struct {
			NodeProvisioningProfile struct{ Mode string }
			FQDN, PrivateFQDN       string
			NetworkProfile          struct{ OutboundType string }
			APIServerAccessProfile  struct {
				AuthorizedIPRanges   []string
				EnablePrivateCluster bool
			}
			AgentPoolProfiles []struct {
				Name, VnetSubnetID string
				EnableAutoScaling  bool
			}
		}
	}
	if err := s.get(ctx, path+"?api-version="+managedVersion, &doc); err != nil {
		s.failed("the managed cluster", err)
		return
	}
	s.out.Asked["aks"] = true
	p := doc.Properties
	s.out.Managed = doctor.Managed{Provisioning: strings.EqualFold(p.NodeProvisioningProfile.Mode, "Auto"), Ranges: p.APIServerAccessProfile.AuthorizedIPRanges,
		Private: p.APIServerAccessProfile.EnablePrivateCluster, Outbound: p.NetworkProfile.OutboundType}
	for _, name := range []string{p.FQDN, p.PrivateFQDN} {
		if name != "" {
			s.out.Managed.Names = append(s.out.Managed.Names, name)
		}
	}
	for _, x := range p.AgentPoolProfiles {
		if x.VnetSubnetID != "" {
			s.out.Managed.Subnets = append(s.out.Managed.Subnets, x.VnetSubnetID)
		}
		if x.EnableAutoScaling {
			s.out.Managed.Autoscaled = append(s.out.Managed.Autoscaled, x.Name)
		}
	}
}

func (s *surveyor) subnet(ctx context.Context) {
	at, ok := parseSubnetID(s.cfg.SubnetID)
	if !ok {
		return
	}
	got, err := s.api.subnets.Get(ctx, at.ResourceGroup, at.Vnet, at.Name, nil)
	var r *azcore.ResponseError
	if errors.As(err, &r) && r.StatusCode == http.StatusNotFound {
		s.out.Asked["subnet"], s.out.Subnet.Missing = true, true
		return
	}
	if err != nil {
		s.failed("the subnet", err)
		return
	}
	s.out.Asked["subnet"] = true
	p := got.Properties
	if p == nil {
		return
	}
	out := &s.out.Subnet
	if p.AddressPrefix != nil {
		out.Prefixes = append(out.Prefixes, *p.AddressPrefix)
	}
	for _, x := range p.AddressPrefixes {
		out.Prefixes = append(out.Prefixes, str(x))
	}
	out.Used = len(p.IPConfigurations)
	for _, d := range p.Delegations {
		if d != nil && d.Properties != nil {
			out.Delegated = str(d.Properties.ServiceName)
		}
	}
	if p.RouteTable != nil {
		out.RouteTable = str(p.RouteTable.ID)
		s.routes(ctx, out)
	}
	if p.NatGateway != nil {
		out.NATGateway = str(p.NatGateway.ID)
	}
	out.Sealed = p.DefaultOutboundAccess != nil && !*p.DefaultOutboundAccess
	if p.NetworkSecurityGroup != nil {
		s.rules(ctx, str(p.NetworkSecurityGroup.ID))
	}
}

// routes reads the subnet's route table. The controller needs no right to, so that a refusal is no fault.
func (s *surveyor) routes(ctx context.Context, out *doctor.Subnet) {
	var doc struct {
		Properties struct {
			DisableBgpRoutePropagation bool
			Routes                     []struct {
				Name       string
				Properties struct{ AddressPrefix, NextHopType, NextHopIPAddress string }
			}
		}
	}
	where := s.cfg.cloud().Services[azcloud.ResourceManager].Endpoint
	if err := s.get(ctx, runtime.JoinPaths(where, out.RouteTable)+"?api-version="+routesVersion, &doc); err != nil {
		s.out.Hidden = append(s.out.Hidden, "the subnet's route table: "+firstLine(err))
		return
	}
	out.Routes, out.Announced = []doctor.Route{}, !doc.Properties.DisableBgpRoutePropagation
	for _, r := range doc.Properties.Routes {
		p := r.Properties
		out.Routes = append(out.Routes, doctor.Route{Name: r.Name, Prefix: p.AddressPrefix, Hop: p.NextHopType, Address: p.NextHopIPAddress})
	}
}

// rules reads a security group. The controller needs no right to, so that a refusal is no fault.
func (s *surveyor) rules(ctx context.Context, id string) {
	parts := strings.Split(id, "/")
	if len(parts) != 9 {
		return
	}
	got, err := s.api.groups.Get(ctx, parts[4], parts[8], nil)
	if err != nil {
		s.out.Hidden = append(s.out.Hidden, "the subnet's security group: "+firstLine(err))
		return
	}
	if got.Properties == nil {
		return
	}
	for _, r := range got.Properties.SecurityRules {
		if rule, outbound := readRule(r); outbound {
			s.out.Subnet.Rules = append(s.out.Subnet.Rules, rule)
		}
	}
}

func readRule(r *armnetwork.SecurityRule) (doctor.Rule, bool) {
	if r == nil || r.Properties == nil || r.Properties.Direction == nil || *r.Properties.Direction != armnetwork.SecurityRuleDirectionOutbound {
		return doctor.Rule{}, false
	}
	p := r.Properties
	out := doctor.Rule{Name: str(r.Name), Deny: p.Access != nil && *p.Access == armnetwork.SecurityRuleAccessDeny}
	if p.Priority != nil {
		out.Priority = int(*p.Priority)
	}
	if p.Protocol != nil {
		out.Protocol = string(*p.Protocol)
	}
	for _, x := range append(p.DestinationPortRanges, p.DestinationPortRange) {
		if x != nil {
			out.Ports = append(out.Ports, *x)
		}
	}
	for _, x := range append(p.DestinationAddressPrefixes, p.DestinationAddressPrefix) {
		if x != nil {
			out.Destinations = append(out.Destinations, *x)
		}
	}
	return out, true
}

func (s *surveyor) quota(ctx context.Context) {
	var all []*armcompute.Usage
	for pager := s.api.usages.NewListPager(s.cfg.Location, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			s.failed("quota", err)
			return
		}
		all = append(all, page.Value...)
	}
	s.out.Asked["quota"] = true
	for _, u := range all {
		if u == nil || u.Name == nil || u.CurrentValue == nil || u.Limit == nil {
			continue
		}
		s.out.Usages = append(s.out.Usages, doctor.Usage{Name: str(u.Name.Value), Words: str(u.Name.LocalizedValue), Used: int(*u.CurrentValue), Limit: int(*u.Limit)})
	}
}

func (s *surveyor) sizes(ctx context.Context) {
	f := &Fleet{cfg: s.cfg, api: s.api}
	all, err := f.askSKUs(ctx)
	var r *azcore.ResponseError
	if errors.As(err, &r) {
		s.failed("sizes", err)
		return
	}
	s.out.Asked["sizes"], s.out.Sizes = true, len(all)
}

// galleries looks for versions of one image of each gallery that node images come from.
func (s *surveyor) galleries(ctx context.Context) {
	s.out.Asked["gallery"] = true
	for _, d := range []definition{{gallery: galleryUbuntu, name: "2404gen2containerd"}, {gallery: galleryAzureLinux, name: "V3gen2"}} {
		g := doctor.Gallery{Name: d.gallery, Image: d.name}
		page, err := s.api.gallery.NewListPager(s.cfg.Location, d.gallery, d.name, nil).NextPage(ctx)
		if err != nil {
			g.Why = firstLine(err)
		}
		g.Versions = len(page.Value)
		s.out.Galleries = append(s.out.Galleries, g)
	}
}

// machines lists what the controller lists after each start.
func (s *surveyor) machines(ctx context.Context) {
	if _, err := s.api.vms.NewListPager(s.cfg.NodeResourceGroup, nil).NextPage(ctx); err != nil {
		s.failed("machines of "+s.cfg.NodeResourceGroup, err)
	}
	f := &Fleet{cfg: s.cfg, api: s.api}
	if _, err := f.askNetwork(ctx); err != nil {
		s.failed("the cluster's load balancers and security group", err)
	}
}

func (s *surveyor) prices(ctx context.Context) {
	s.out.Asked["prices"] = true
	f := &Fleet{cfg: s.cfg, api: s.api}
	book, err := f.askPrices(ctx)
	if err != nil {
		s.out.NoPrices = firstLine(err)
		return
	}
	s.out.Prices = len(book.onDemand)
}
