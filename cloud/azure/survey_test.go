package azure_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/internal/doctor"
	"github.com/karpenter-aks/karpenter/lab/arm"
)

// surveyed is what a survey sees of a simulated Azure, as a person, whom the environment logs in.
func surveyed(t *testing.T, edit func(*arm.Config, *azure.Config)) doctor.Azure {
	t.Helper()
	lab := arm.Config{ClientID: "client", Person: "person", AdminToken: "secret",
		Federations: []arm.Federation{{Name: "f", Issuer: "https://i", Subject: "s", Audiences: []string{"a"}}}}
	cfg := azure.Config{ClientID: "client", Version: "test"}
	edit(&lab, &cfg)
	sim, err := arm.New(lab)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(sim)
	t.Cleanup(func() { srv.Close(); sim.Close() })
	c := sim.Config()
	for name, value := range map[string]string{"AZURE_TENANT_ID": c.Tenant, "AZURE_CLIENT_ID": "person", "AZURE_CLIENT_SECRET": "secret"} {
		t.Setenv(name, value)
	}
	cfg.SubscriptionID, cfg.TenantID, cfg.Location, cfg.NodeResourceGroup = c.Subscription, c.Tenant, c.Location, c.NodeResourceGroup
	if cfg.SubnetID == "" {
		cfg.SubnetID = c.SubnetID
	}
	cfg.Endpoints = azure.Endpoints{ResourceManager: srv.URL, AuthorityHost: srv.URL + "/", Audience: srv.URL, RetailPrices: srv.URL}
	cfg.Transport = srv.Client()
	return azure.Survey(t.Context(), cfg)
}

func TestSurveySeesWhatIsThere(t *testing.T) {
	a := surveyed(t, func(_ *arm.Config, c *azure.Config) { c.ClusterName, c.ClusterResourceGroup = "lab", "lab" })
	if a.Unreached != "" || a.Code != "" || len(a.Hidden) > 0 || len(a.Denied) > 0 {
		t.Fatalf("unreached %q, code %q, hidden %q, denied %q", a.Unreached, a.Code, a.Hidden, a.Denied)
	}
	if !a.Asked["aks"] || a.Managed.Provisioning || len(a.Managed.Autoscaled) > 0 {
		t.Errorf("asked %v, the managed cluster is %+v", a.Asked, a.Managed)
	}
	if a.Identity != "karpentermsi" || a.Group != "lab" || len(a.Credentials) != 1 || a.Credentials[0].Subject != "s" {
		t.Errorf("identity %s in %s trusts %+v", a.Identity, a.Group, a.Credentials)
	}
	if !slices.ContainsFunc(a.Grants, func(g doctor.Grant) bool {
		return strings.Contains(g.Scope, "MC_lab") && slices.Contains(g.Actions, "Microsoft.Compute/virtualMachines/write")
	}) {
		t.Errorf("grants %+v", a.Grants)
	}
	if !slices.Equal(a.Subnet.Prefixes, []string{"10.224.0.0/16"}) || a.Sizes == 0 || a.Prices == 0 || len(a.Usages) == 0 || a.Clock.At.IsZero() {
		t.Errorf("subnet %+v, %d sizes, %d prices, %d usages, clock %v", a.Subnet, a.Sizes, a.Prices, len(a.Usages), a.Clock)
	}
	for _, g := range a.Galleries {
		if g.Versions == 0 {
			t.Errorf("gallery %+v", g)
		}
	}
}

// How machines get out, and what the API server is called, is read where somebody decided about it.
func TestSurveySeesTheWaysOfACluster(t *testing.T) {
	hub := "/subscriptions/s/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/hub/subnets/system"
	named := func(_ *arm.Config, c *azure.Config) { c.ClusterName, c.ClusterResourceGroup = "lab", "lab" }
	a := surveyed(t, func(l *arm.Config, c *azure.Config) {
		named(l, c)
		l.Ways = arm.Ways{Private: true, Ranges: []string{"20.1.2.3/32"}, Outbound: "userDefinedRouting", PoolSubnet: hub,
			Routes: []arm.Route{{Name: "out", Prefix: "0.0.0.0/0", Hop: "VirtualAppliance", Address: "10.9.0.4"}}, NAT: true, Sealed: true}
	})
	m, s := a.Managed, a.Subnet
	if !m.Private || len(m.Names) != 2 || !strings.Contains(m.Names[1], ".privatelink.") || m.Outbound != "userDefinedRouting" ||
		!slices.Equal(m.Ranges, []string{"20.1.2.3/32"}) || !slices.Equal(m.Subnets, []string{hub}) {
		t.Errorf("the cluster: %+v", m)
	}
	if !strings.HasSuffix(s.RouteTable, "/routeTables/egress") || !strings.HasSuffix(s.NATGateway, "/natGateways/egress") || !s.Sealed || s.Announced ||
		!slices.Equal(s.Routes, []doctor.Route{{Name: "out", Prefix: "0.0.0.0/0", Hop: "VirtualAppliance", Address: "10.9.0.4"}}) {
		t.Errorf("the subnet: %+v", s)
	}
	if len(a.Hidden) > 0 {
		t.Errorf("hidden %q", a.Hidden)
	}
	a = surveyed(t, named)
	m, s = a.Managed, a.Subnet
	if m.Private || len(m.Names) != 1 || m.Outbound != "loadBalancer" || len(m.Ranges)+len(m.Subnets) > 0 || s.RouteTable+s.NATGateway != "" || s.Routes != nil || s.Sealed {
		t.Errorf("unless told otherwise: %+v, %+v", m, s)
	}
}

func TestSurveyNamesWhatIsHidden(t *testing.T) {
	a := surveyed(t, func(_ *arm.Config, c *azure.Config) {
		c.ClientID = "somebody"
		c.SubnetID = "/subscriptions/5c0ffee0-0000-4000-8000-000000000001/resourceGroups/MC_lab_lab_eastus/providers/Microsoft.Network/virtualNetworks/none/subnets/none"
	})
	if !a.Subnet.Missing || a.Credentials != nil || !slices.Contains(a.Hidden, "no identity of the subscription has client id somebody") {
		t.Errorf("subnet %+v, credentials %v, hidden %q", a.Subnet, a.Credentials, a.Hidden)
	}
}

func TestSurveySaysWhyNobodyIsTaken(t *testing.T) {
	a := surveyed(t, func(l *arm.Config, _ *azure.Config) { l.AdminToken = "another" })
	if a.Code != "AADSTS700016" || !strings.HasPrefix(a.Unreached, "Application with identifier 'person' was not found") {
		t.Errorf("code %q, %q", a.Code, a.Unreached)
	}
}
