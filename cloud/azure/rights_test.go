package azure_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/model"
)

// The roles under deploy/azure hold what the driver needs and no more: with all of them nothing is refused, and without any
// one of their actions something is.
func TestRolesAreExactlyWhatIsNeeded(t *testing.T) {
	all := useWithRights(t, nil)
	if n := deniedFor(all); len(n) != 0 {
		t.Fatalf("requests were refused with the roles as they are, for want of %q", n)
	}
	for i, role := range all.Rights() {
		for _, action := range role.Actions {
			if slices.ContainsFunc(all.Rights()[:i], func(a arm.Assignment) bool { return slices.Contains(a.Actions, action) }) {
				continue // the same role at another scope
			}
			t.Run(strings.ReplaceAll(action, "/", " "), func(t *testing.T) {
				var less []arm.Assignment
				for _, a := range all.Rights() {
					keep := slices.DeleteFunc(slices.Clone(a.Actions), func(x string) bool { return x == action })
					less = append(less, arm.Assignment{Scope: a.Scope, Actions: keep})
				}
				named := deniedFor(useWithRights(t, less))
				if len(named) == 0 {
					t.Errorf("nothing was refused without %s: the driver does not need it", action)
				}
				for _, n := range named {
					if n != action {
						t.Errorf("without %s, something was refused for want of %s", action, n)
					}
				}
			})
		}
	}
}

// deniedFor are the actions for want of which something was refused.
func deniedFor(c *arm.Cloud) []string {
	var out []string
	for _, r := range c.Requests() {
		if r.Status == http.StatusForbidden {
			out = append(out, r.Denied)
		}
	}
	return out
}

// useWithRights does everything that the driver can do, once, on a cluster with a network, a disk encryption set and
// identities of its own. Errors are what the callers count.
func useWithRights(t *testing.T, rights []arm.Assignment) *arm.Cloud {
	t.Helper()
	const sub = "/subscriptions/5c0ffee0-0000-4000-8000-000000000001/resourceGroups/"
	clock := newClock()
	sim, err := arm.New(arm.Config{
		SubnetID:           sub + "net/providers/Microsoft.Network/virtualNetworks/corp/subnets/nodes",
		DiskEncryptionSets: []string{sub + "keys/providers/Microsoft.Compute/diskEncryptionSets/ours"},
		Rights:             rights, Now: clock.Now, After: clock.After,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(sim)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("assertion"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := sim.Config()
	fleet, err := azure.New(azure.Config{
		SubscriptionID: c.Subscription, TenantID: c.Tenant, ClientID: "client", FederatedTokenFile: token, Location: c.Location,
		NodeResourceGroup: c.NodeResourceGroup, ClusterName: c.ClusterName, SubnetID: c.SubnetID,
		NodeIdentities: c.Identities, DiskEncryptionSetID: c.DiskEncryptionSets[0],
		Network:      azure.Network{Plugin: "azure", Mode: "overlay", Dataplane: "cilium"},
		SSHPublicKey: testKey, MemoryOverheadPercent: 0.075, BillingExtension: true,
		Endpoints: azure.Endpoints{ResourceManager: srv.URL, AuthorityHost: srv.URL + "/", Audience: srv.URL, RetailPrices: srv.URL},
		Transport: srv.Client(), Version: "test", Now: clock.Now,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fleet.Close(); srv.Close(); sim.Close() })
	s := &site{fleet: fleet, cloud: sim, clock: clock, class: model.Class{
		Ref:   model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"},
		Azure: &model.AzureClass{ImageFamily: "Ubuntu", OSDiskSizeGB: 128, VnetSubnetID: c.SubnetID},
	}}
	if r, err := fleet.Inspect(t.Context(), s.class, testVersion); err == nil {
		s.class.Images, s.class.KubernetesVersion = r.Images, r.KubernetesVersion
	}
	s.useEverything(t)
	return sim
}

// useEverything launches, lists, terminates, and sweeps an interface and a disk that were left behind.
func (s *site) useEverything(t *testing.T) {
	t.Helper()
	if _, err := s.fleet.Offerings(t.Context(), s.class); err != nil {
		return // nothing can be bought
	}
	_ = s.fleet.Refresh(t.Context())
	o := s.order(t, "one")
	i, err := s.fleet.Launch(t.Context(), o)
	if err != nil {
		return
	}
	s.clock.pass(time.Second)
	_, _ = s.fleet.List(t.Context())
	s.leaveDisk(t, i.Name)
	_ = s.fleet.Terminate(t.Context(), i.ID)
	s.clock.pass(time.Second)
	group := s.cloud.Config().NodeResourceGroup
	_, _ = s.fleet.NICs().BeginCreateOrUpdate(t.Context(), group, i.Name, armnetwork.Interface{
		Location: to.Ptr(s.cloud.Config().Location), Tags: map[string]*string{azure.TagPool: to.Ptr("default")},
		Properties: &armnetwork.InterfacePropertiesFormat{IPConfigurations: []*armnetwork.InterfaceIPConfiguration{{
			Name: to.Ptr("one"), Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{Subnet: &armnetwork.Subnet{ID: to.Ptr(s.cloud.Config().SubnetID)}},
		}}},
	}, nil)
	_ = s.fleet.Terminate(t.Context(), i.ID) // sweeps
	_, _ = s.fleet.Strays(t.Context())
}

// leaveDisk makes Azure keep the disk of a machine when the machine goes.
func (s *site) leaveDisk(t *testing.T, name string) {
	t.Helper()
	group := s.cloud.Config().NodeResourceGroup
	vm, err := s.fleet.VMs().Get(t.Context(), group, name, nil)
	if err != nil {
		return
	}
	vm.Properties.StorageProfile.OSDisk.DeleteOption = to.Ptr(armcompute.DiskDeleteOptionTypesDetach)
	_, _ = s.fleet.VMs().BeginCreateOrUpdate(t.Context(), group, name, vm.VirtualMachine, nil)
}
