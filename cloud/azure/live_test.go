package azure_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/model"
)

const testSize = "Standard_D2s_v5"

// order asks for one D2s_v5 in the first zone.
func (s *site) order(t *testing.T, claim string) cloud.Order {
	t.Helper()
	c, err := s.fleet.Offerings(t.Context(), s.class)
	if err != nil {
		t.Fatal(err)
	}
	typ, ok := c.Type(testSize)
	if !ok {
		t.Fatalf("no %s among %d sizes", testSize, len(c.Types))
	}
	i := slices.IndexFunc(typ.Offerings, func(o model.Offering) bool { return o.Zone == "eastus-1" && o.CapacityType == model.OnDemand })
	return cloud.Order{
		Claim: claim, ClaimUID: "uid-" + claim, Pool: "default", Class: s.class, Type: typ, Offering: typ.Offerings[i],
		Token: "abcdef.0123456789abcdef", Cluster: model.Cluster{Endpoint: "https://lab.example", CA: []byte("PEM"), Version: testVersion},
	}
}

func (s *site) launch(t *testing.T, o cloud.Order) model.Instance {
	t.Helper()
	i, err := s.fleet.Launch(t.Context(), o)
	if err != nil {
		t.Fatalf("launch %s: %v", o.Claim, err)
	}
	return i
}

func (s *site) list(t *testing.T) []model.Instance {
	t.Helper()
	l, err := s.fleet.List(t.Context())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return l
}

// count counts requests of a method whose path contains the text.
func (s *site) count(method, text string) int {
	n := 0
	for _, r := range s.cloud.Requests() {
		if r.Method == method && strings.Contains(strings.ToLower(r.Path), strings.ToLower(text)) {
			n++
		}
	}
	return n
}

func TestOneLaunchIsOnePut(t *testing.T) {
	s := newSite(t, arm.Knobs{CreateTime: arm.Duration(time.Minute)})
	s.launch(t, s.order(t, "one"))
	puts := s.count(http.MethodPut, "/")
	if puts != 1 || s.count(http.MethodGet, "/operations/") != 0 {
		t.Errorf("%d PUTs and %d polls, want one PUT and no poll", puts, s.count(http.MethodGet, "/operations/"))
	}
	l := s.list(t)
	if len(l) != 1 || l[0].State != model.Pending || l[0].Claim != "one" || l[0].ImageID == "" {
		t.Fatalf("listed %+v", l)
	}
}

func TestManyLaunchesOfOneClaimMakeOneMachine(t *testing.T) {
	s := newSite(t, arm.Knobs{CreateTime: arm.Duration(time.Minute)})
	o := s.order(t, "one")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if i, err := s.fleet.Launch(t.Context(), o); err != nil || i.Name != "aks-one" {
				t.Errorf("launch: %+v, %v", i, err)
			}
		})
	}
	wg.Wait()
	if l := s.list(t); len(l) != 1 {
		t.Errorf("%d machines, want 1", len(l))
	}
}

// lossy loses the answers to the first PUTs: the cloud has acted, and we do not know.
type lossy struct {
	http.RoundTripper
	lose atomic.Int32
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodPut && l.lose.Add(-1) >= 0 {
		resp.Body.Close()
		return nil, errors.New("connection reset by peer")
	}
	return resp, err
}

func TestAnAnswerThatIsLostDoesNotBuyTwice(t *testing.T) {
	var l *lossy
	s := newSiteOver(t, arm.Knobs{CreateTime: arm.Duration(time.Minute)}, func(r http.RoundTripper) http.RoundTripper {
		l = &lossy{RoundTripper: r}
		return l
	})
	o := s.order(t, "one")
	l.lose.Store(1)
	if i := s.launch(t, o); i.Claim != "one" || i.ClaimUID != "uid-one" || i.Offering != o.Offering.Key() {
		t.Errorf("got %+v", i)
	}
	if got := s.list(t); len(got) != 1 {
		t.Errorf("%d machines, want 1", len(got))
	}
}

func TestANameThatIsTakenByAnotherClaimIsInvalid(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	o := s.order(t, "one")
	s.launch(t, o)
	o.ClaimUID = "another"
	if _, err := s.fleet.Launch(t.Context(), o); cloud.CodeOf(err) != cloud.Invalid {
		t.Errorf("launch for another claim of the name: %v, want %s", err, cloud.Invalid)
	}
}

func TestAClaimWithoutPoolIsListed(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	o := s.order(t, "alone")
	o.Pool = ""
	s.launch(t, o)
	if l := s.list(t); len(l) != 1 || l[0].Claim != "alone" || l[0].Pool != "" {
		t.Errorf("listed %+v", l)
	}
}

// retag replaces a machine's tags.
func (s *site) retag(t *testing.T, name string, tags map[string]*string) {
	t.Helper()
	_, err := s.fleet.VMs().BeginUpdate(t.Context(), s.cloud.Config().NodeResourceGroup, name, armcompute.VirtualMachineUpdate{Tags: tags}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func TestMachinesOfAnOlderInstallationAreAdopted(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	o := s.order(t, "default-x1y2z")
	i := s.launch(t, o)
	s.retag(t, i.Name, map[string]*string{azure.TagPool: to.Ptr("default"), azure.TagCluster: to.Ptr(s.cloud.Config().ClusterName)})
	l := s.list(t)
	if len(l) != 1 || l[0].Claim != "default-x1y2z" || l[0].Pool != "default" || l[0].ClaimUID != "" || l[0].Offering != o.Offering.Key() {
		t.Fatalf("listed %+v", l)
	}
	if again := s.launch(t, o); again.ID != i.ID {
		t.Errorf("launch gave %s, want the machine that is there", again.ID)
	}
	// Another cluster's machine, and one that AKS' machine API made, are none of ours.
	for _, tags := range []map[string]*string{
		{azure.TagPool: to.Ptr("default"), azure.TagCluster: to.Ptr("other")},
		{azure.TagPool: to.Ptr("default"), "karpenter.azure.com_aksmachine_nodeclaim": to.Ptr("x")},
		{"name": to.Ptr("somebody's")},
	} {
		s.retag(t, i.Name, tags)
		if l := s.list(t); len(l) != 0 {
			t.Errorf("with tags %v: listed %+v", tags, l)
		}
		if err := s.fleet.Terminate(t.Context(), i.ID); cloud.CodeOf(err) != cloud.Invalid {
			t.Errorf("terminate somebody else's machine: %v, want %s", err, cloud.Invalid)
		}
	}
}

func TestABrokenExtensionIsNoReasonToThrowAMachineAway(t *testing.T) {
	s := newSite(t, arm.Knobs{Failures: []arm.Failure{
		{Count: 1, Code: "VMExtensionProvisioningError", Message: "VM has reported a failure when processing extension."},
		{Count: 1, Code: "OSProvisioningTimedOut", Message: "OS Provisioning did not finish in the allotted time."},
	}})
	s.launch(t, s.order(t, "a"))
	s.launch(t, s.order(t, "b"))
	s.settle(t, func() bool {
		l := s.list(t)
		return len(l) == 2 && l[0].State != model.Pending && l[1].State != model.Pending
	})
	l := s.list(t)
	if l[0].State != model.Running || l[0].FailureCode != "" {
		t.Errorf("extension broken: %s %s", l[0].State, l[0].FailureCode)
	}
	if l[1].State != model.Failed || l[1].FailureCode != string(cloud.Refused) || !strings.Contains(l[1].FailureText, "OSProvisioningTimedOut") {
		t.Errorf("machine broken: %s %s %q", l[1].State, l[1].FailureCode, l[1].FailureText)
	}
}

func TestTheBillingExtensionIsAskedForOnce(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	s.launch(t, s.order(t, "one"))
	s.clock.pass(time.Second)
	for range 3 {
		s.list(t)
	}
	if n := s.count(http.MethodPut, "/extensions/computeAksLinuxBilling"); n != 1 {
		t.Errorf("asked for the extension %d times, want once", n)
	}
}

func TestQuotaIsRefusedWithItsFamily(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	o := s.order(t, "one")
	s.turn(t, func(k *arm.Knobs) { k.Quota = map[string]int{o.Type.Family: 0} })
	_, err := s.fleet.Launch(t.Context(), o)
	var e *cloud.Error
	if !errors.As(err, &e) || e.Code != cloud.Quota || e.More.Scope.Family != o.Type.Family || e.More.Scope.MinCPU != 2000 || e.More.Scope.For != time.Hour {
		t.Fatalf("launch without quota: %v, scope %+v", err, e)
	}
	if len(s.left()) != 0 {
		t.Errorf("left %v", s.left())
	}
	// The catalogue learns of it a minute later, by itself, and forgets once there is quota again.
	before, _ := s.fleet.Offerings(t.Context(), s.class)
	s.clock.pass(2 * time.Minute)
	if err := s.fleet.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, _ := s.fleet.Offerings(t.Context(), s.class)
	typ, _ := after.Type(testSize)
	for _, x := range typ.Offerings {
		if x.Available != (x.CapacityType == model.Spot) {
			t.Errorf("%s: available %v (%s)", x.Key(), x.Available, x.Unavailable)
		}
	}
	if after.Epoch <= before.Epoch {
		t.Errorf("epoch %d after %d: the catalogue changed", after.Epoch, before.Epoch)
	}
	same, _ := s.fleet.Offerings(t.Context(), s.class)
	if same.Epoch != after.Epoch {
		t.Errorf("epoch %d after %d: nothing changed", same.Epoch, after.Epoch)
	}
}

func TestWhatIsKnownOutlivesAnOutage(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	o := s.order(t, "one")
	s.turn(t, func(k *arm.Knobs) { k.Unreachable = []arm.Window{{Drop: true}} })
	s.clock.pass(20 * time.Minute) // quota is stale, the token still good
	if err := s.fleet.Refresh(t.Context()); err == nil {
		t.Error("refreshed from a cloud that does not answer")
	}
	if c, err := s.fleet.Offerings(t.Context(), s.class); err != nil || len(c.Types) == 0 {
		t.Errorf("offerings during an outage: %d types, %v", len(c.Types), err)
	}
	if _, err := s.fleet.Launch(t.Context(), o); cloud.CodeOf(err) != cloud.Unknown {
		t.Errorf("launch during an outage: %v, want %s", err, cloud.Unknown)
	}
	s.turn(t, func(k *arm.Knobs) { k.Unreachable = nil })
	s.launch(t, o)
}

// stray leaves an interface behind, as installations did that made interfaces first.
func (s *site) stray(t *testing.T, name string, tags map[string]*string) {
	t.Helper()
	c := s.cloud.Config()
	_, err := s.fleet.NICs().BeginCreateOrUpdate(t.Context(), c.NodeResourceGroup, name, armnetwork.Interface{
		Location: to.Ptr(c.Location), Tags: tags,
		Properties: &armnetwork.InterfacePropertiesFormat{IPConfigurations: []*armnetwork.InterfaceIPConfiguration{{
			Name: to.Ptr(name), Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{Subnet: &armnetwork.Subnet{ID: to.Ptr(c.SubnetID)}},
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func TestStraysAreFoundAndRemoved(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	mine := map[string]*string{azure.TagPool: to.Ptr("default"), azure.TagCluster: to.Ptr(s.cloud.Config().ClusterName)}
	s.launch(t, s.order(t, "living"))
	s.stray(t, "aks-orphan", mine)
	s.stray(t, "aks-foreign", map[string]*string{azure.TagPool: to.Ptr("default"), azure.TagCluster: to.Ptr("other")})
	s.stray(t, "somebodys", map[string]*string{})
	got, err := s.fleet.Strays(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nic := func(name string) cloud.Stray {
		c := s.cloud.Config()
		return cloud.Stray{Kind: "nic", ID: fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/networkInterfaces/%s",
			c.Subscription, c.NodeResourceGroup, name)}
	}
	want := nic("aks-orphan")
	if len(got) != 1 || got[0] != want {
		t.Fatalf("strays %+v, want %+v", got, want)
	}
	if err := s.fleet.RemoveStray(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := s.fleet.RemoveStray(t.Context(), want); cloud.CodeOf(err) != cloud.NotFound {
		t.Errorf("remove it again: %v, want %s", err, cloud.NotFound)
	}
	for what, bad := range map[string]cloud.Stray{
		"an interface that a machine holds":  nic("aks-living"),
		"another cluster's interface":        nic("aks-foreign"),
		"somebody's interface":               nic("somebodys"),
		"something that is not an interface": {Kind: "disk", ID: want.ID},
		"nothing":                            {},
	} {
		if err := s.fleet.RemoveStray(t.Context(), bad); cloud.CodeOf(err) != cloud.Invalid {
			t.Errorf("remove %s: %v, want %s", what, err, cloud.Invalid)
		}
	}
}

func TestTerminateCleansUpWhatAnOlderInstallationLeft(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	i := s.launch(t, s.order(t, "one"))
	if err := s.fleet.Terminate(t.Context(), i.ID); err != nil {
		t.Fatal(err)
	}
	s.settle(t, func() bool { return len(s.list(t)) == 0 })
	s.stray(t, i.Name, map[string]*string{azure.TagPool: to.Ptr("default")})
	if err := s.fleet.Terminate(t.Context(), i.ID); err != nil {
		t.Errorf("terminate with an interface left: %v, want it asked for", err)
	}
	s.settle(t, func() bool { return len(s.left()) == 0 })
	if err := s.fleet.Terminate(t.Context(), i.ID); cloud.CodeOf(err) != cloud.NotFound {
		t.Errorf("terminate with nothing left: %v, want %s", err, cloud.NotFound)
	}
	for _, bad := range []string{"", "azure:///subscriptions/x/resourceGroups/y/providers/Microsoft.Compute/virtualMachines/z"} {
		if err := s.fleet.Terminate(t.Context(), bad); cloud.CodeOf(err) != cloud.Invalid {
			t.Errorf("terminate %q: %v, want %s", bad, err, cloud.Invalid)
		}
	}
}

func TestInspectSaysWhatIsWrong(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	own := s.cloud.Config().SubnetID
	for _, c := range []struct {
		change func(*model.AzureClass)
		want   string
	}{
		{func(*model.AzureClass) {}, "all true"},
		{func(a *model.AzureClass) { a.VnetSubnetID = "nonsense" }, "SubnetsReady SubnetIDInvalid"},
		{func(a *model.AzureClass) { a.VnetSubnetID = own + "2" }, "SubnetsReady SubnetIDInvalid"}, // AKS manages the network
		{func(a *model.AzureClass) { a.VnetSubnetID = strings.Replace(own, "aks-vnet-", "other-", 1) }, "SubnetsReady SubnetIDInvalid"},
		{func(a *model.AzureClass) { a.VnetSubnetID = strings.ToUpper(own) }, "all true"},
		{func(a *model.AzureClass) { a.FIPSMode = "FIPS" }, "ImagesReady SIGRequiredForFIPS"},
		{func(a *model.AzureClass) { a.Ignored = []string{"linuxOSConfig"} }, "all true"},
	} {
		class := s.class
		spec := *s.class.Azure
		c.change(&spec)
		class.Azure = &spec
		r, err := s.fleet.Inspect(t.Context(), class, testVersion)
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		got := "all true"
		for _, x := range r.Conditions {
			if x.Status != model.True {
				got = fmt.Sprintf("%s %s", x.Type, x.Reason)
			}
			if x.Type == model.ValidationSucceeded && len(spec.Ignored) > 0 && !strings.Contains(x.Message, "linuxOSConfig") {
				t.Errorf("validation does not name the field: %q", x.Message)
			}
		}
		if got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestNewListsEverythingThatIsMissing(t *testing.T) {
	_, err := azure.New(azure.Config{MemoryOverheadPercent: 2}, nil)
	if err == nil {
		t.Fatal("an empty configuration was taken")
	}
	for _, want := range []string{"subscription id", "location", "node resource group", "cluster name", "ssh public key", "vnet subnet id", "memory overhead"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name the %s", err, want)
		}
	}
}

// The keys by which machines are known are given by people as well: the machine is still found and let go.
func TestAMachineIsOursWhateverTagsPeopleGive(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	tags := map[string]string{"a/b": "slash", "a_b": "plain"}
	for _, k := range []string{azure.TagPool, azure.TagCluster, azure.TagClaim, azure.TagClaimUID, "karpenter.azure.com_aksmachine_nodeclaim"} {
		tags[k], tags[strings.ToUpper(k)], tags[strings.ReplaceAll(k, "_", "/")] = "x", "y", "z"
	}
	o := s.order(t, "one")
	class := *o.Class.Azure
	class.Tags = tags
	o.Class.Azure = &class
	i := s.launch(t, o)
	if l := s.list(t); len(l) != 1 || l[0].Claim != "one" || l[0].ClaimUID != "uid-one" || l[0].Pool != "default" {
		t.Fatalf("listed %+v", l)
	}
	if err := s.fleet.Terminate(t.Context(), i.ID); err != nil {
		t.Fatal(err)
	}
	s.settle(t, func() bool { return len(s.list(t)) == 0 && len(s.left()) == 0 })
}
