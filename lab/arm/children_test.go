package arm_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	azruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
	"go.uber.org/goleak"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestInterfacesLiveOnTheirOwn(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{NICReservation: arm.Duration(3 * time.Minute), CreateTime: arm.Duration(time.Second),
		Failures: []arm.Failure{{Count: 1, Code: "AllocationFailed"}}})
	rg := w.cfg.NodeResourceGroup
	nics := must[*armnetwork.InterfacesClient](t)(armnetwork.NewInterfacesClient(w.cfg.Subscription, w.cred, w.opts))
	body := armnetwork.Interface{Location: &w.cfg.Location, Tags: map[string]*string{"a": to.Ptr("b")}, Properties: &armnetwork.InterfacePropertiesFormat{
		IPConfigurations: []*armnetwork.InterfaceIPConfiguration{{Name: to.Ptr("ip"), Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{
			Subnet: &armnetwork.Subnet{ID: &w.cfg.SubnetID}}}}}}
	must[any](t)(nics.BeginCreateOrUpdate(w.ctx, rg, "nic", body, nil))
	got := must[armnetwork.InterfacesClientGetResponse](t)(nics.Get(w.ctx, rg, "NIC", nil))
	if *got.Properties.IPConfigurations[0].Properties.PrivateIPAddress != "10.224.0.4" || *got.Tags["a"] != "b" {
		t.Errorf("interface %+v", got.Interface)
	}
	if _, err := nics.UpdateTags(w.ctx, rg, "nic", armnetwork.TagsObject{Tags: map[string]*string{"c": to.Ptr("d")}}, nil); err != nil {
		t.Fatal(err)
	}
	machine := w.body("vm", "Standard_D2s_v5")
	machine.Properties.NetworkProfile = &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{ID: got.ID,
		Properties: &armcompute.NetworkInterfaceReferenceProperties{DeleteOption: to.Ptr(armcompute.DeleteOptionsDetach)}}}}
	if err := w.begin("vm", machine); err != nil {
		t.Fatal(err)
	}
	_, err := nics.BeginDelete(w.ctx, rg, "nic", nil)
	w.refused(err, http.StatusBadRequest, "NicInUse")
	w.refused(w.begin("other", machine), http.StatusBadRequest, "NicInUse")

	// The machine fails; its interface stays reserved for it, for a while.
	c.pass(time.Second)
	if _, err := w.vms.BeginDelete(w.ctx, rg, "vm", nil); err != nil {
		t.Fatal(err)
	}
	w.wantStates("failed and deleted", "nic networkInterfaces Succeeded")
	for pager := nics.NewListPager(rg, nil); pager.More(); {
		page := must[armnetwork.InterfacesClientListResponse](t)(pager.NextPage(w.ctx))
		if len(page.Value) != 1 || *page.Value[0].Tags["c"] != "d" || page.Value[0].Properties.VirtualMachine != nil {
			t.Errorf("interfaces %+v", page.Value)
		}
	}
	if _, err := nics.BeginDelete(w.ctx, rg, "nic", nil); err != nil {
		t.Fatal(err)
	}
	w.wantStates("all gone", "")
}

func TestReservedInterface(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{NICReservation: arm.Duration(3 * time.Minute), Failures: []arm.Failure{{Count: 1, Code: "AllocationFailed"}}})
	rg := w.cfg.NodeResourceGroup
	nics := must[*armnetwork.InterfacesClient](t)(armnetwork.NewInterfacesClient(w.cfg.Subscription, w.cred, w.opts))
	if err := w.begin("vm", w.body("vm", "Standard_D2s_v5")); err != nil {
		t.Fatal(err)
	}
	c.pass(0)
	_, err := nics.BeginDelete(w.ctx, rg, "vm", nil)
	w.refused(err, http.StatusBadRequest, "NicReservedForAnotherVm")
	c.pass(3 * time.Minute)
	_, err = nics.BeginDelete(w.ctx, rg, "vm", nil)
	w.refused(err, http.StatusBadRequest, "NicInUse")
}

func TestNetworkAroundTheCluster(t *testing.T) {
	w := newWorld(t, nil)
	rg, sub := w.cfg.NodeResourceGroup, w.cfg.Subscription
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))
	parts := strings.Split(w.cfg.SubnetID, "/")

	vnets := must[*armnetwork.VirtualNetworksClient](t)(armnetwork.NewVirtualNetworksClient(sub, w.cred, w.opts))
	v := must[armnetwork.VirtualNetworksClientGetResponse](t)(vnets.Get(w.ctx, parts[4], parts[8], nil))
	if *v.Properties.ResourceGUID != w.cfg.VNetGUID {
		t.Errorf("guid %s", *v.Properties.ResourceGUID)
	}
	subnets := must[*armnetwork.SubnetsClient](t)(armnetwork.NewSubnetsClient(sub, w.cred, w.opts))
	s := must[armnetwork.SubnetsClientGetResponse](t)(subnets.Get(w.ctx, parts[4], parts[8], parts[10], nil))
	if *s.ID != w.cfg.SubnetID || *s.Properties.AddressPrefix != "10.224.0.0/16" || len(s.Properties.IPConfigurations) != 1 {
		t.Errorf("subnet %+v", s.Properties)
	}
	_, err := subnets.Get(w.ctx, parts[4], parts[8], "other", nil)
	w.refused(err, http.StatusNotFound, "ResourceNotFound")

	lbs := must[*armnetwork.LoadBalancersClient](t)(armnetwork.NewLoadBalancersClient(sub, w.cred, w.opts))
	page := must[armnetwork.LoadBalancersClientListResponse](t)(lbs.NewListPager(rg, nil).NextPage(w.ctx))
	members := map[string]int{}
	for _, p := range page.Value[0].Properties.BackendAddressPools {
		members[*p.Name] = len(p.Properties.BackendIPConfigurations)
	}
	if *page.Value[0].Name != "kubernetes" || members["kubernetes"] != 1 || len(members) != 2 {
		t.Errorf("load balancer pools %v", members)
	}
	nsgs := must[*armnetwork.SecurityGroupsClient](t)(armnetwork.NewSecurityGroupsClient(sub, w.cred, w.opts))
	groups := must[armnetwork.SecurityGroupsClientListResponse](t)(nsgs.NewListPager(rg, nil).NextPage(w.ctx))
	if n := *groups.Value[0].Name; len(n) != len("aks-agentpool-12345678-nsg") {
		t.Errorf("security group %s", n)
	}
	resp, c := w.do("GET", "/subscriptions/"+sub+"/resourceGroups/"+w.cfg.ClusterResourceGroup+"/providers/Microsoft.ContainerService/managedClusters/"+w.cfg.ClusterName+"?api-version=2025-05-01", w.bearer(), "")
	if p, _ := c["properties"].(map[string]any); resp.StatusCode != 200 || p["nodeResourceGroup"] != rg {
		t.Errorf("cluster: %d %v", resp.StatusCode, c)
	}
}

func TestExtensionsGoWithTheirMachine(t *testing.T) {
	w := newWorld(t, nil)
	rg := w.cfg.NodeResourceGroup
	ext := must[*armcompute.VirtualMachineExtensionsClient](t)(armcompute.NewVirtualMachineExtensionsClient(w.cfg.Subscription, w.cred, w.opts))
	body := armcompute.VirtualMachineExtension{Location: &w.cfg.Location, Properties: &armcompute.VirtualMachineExtensionProperties{
		Publisher: to.Ptr("Microsoft.AKS"), Type: to.Ptr("Compute.AKS.Linux.Billing"), TypeHandlerVersion: to.Ptr("1.0"), ProtectedSettings: map[string]any{"secret": "x"}}}
	_, err := ext.BeginCreateOrUpdate(w.ctx, rg, "vm", "billing", body, nil)
	w.refused(err, http.StatusNotFound, "ParentResourceNotFound")
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))
	p := must[*azruntime.Poller[armcompute.VirtualMachineExtensionsClientCreateOrUpdateResponse]](t)(ext.BeginCreateOrUpdate(w.ctx, rg, "vm", "billing", body, nil))
	got := must[armcompute.VirtualMachineExtensionsClientCreateOrUpdateResponse](t)(p.PollUntilDone(w.ctx, &azruntime.PollUntilDoneOptions{Frequency: time.Second}))
	if *got.Properties.ProvisioningState != "Succeeded" || got.Properties.ProtectedSettings != nil {
		t.Errorf("extension %+v", got.Properties)
	}
	list := must[armcompute.VirtualMachineExtensionsClientListResponse](t)(ext.List(w.ctx, rg, "vm", nil))
	vm := must[armcompute.VirtualMachinesClientGetResponse](t)(w.vms.Get(w.ctx, rg, "vm", nil))
	if len(list.Value) != 1 || len(vm.Resources) != 1 {
		t.Errorf("%d extensions listed, %d in the machine", len(list.Value), len(vm.Resources))
	}
	body.Properties.Publisher = nil
	_, err = ext.BeginCreateOrUpdate(w.ctx, rg, "vm", "bad", body, nil)
	w.refused(err, http.StatusBadRequest, "InvalidParameter")
	w.delete("vm")
	w.wantStates("deleted", "")
}

func TestDetachedThingsStay(t *testing.T) {
	w := newWorld(t, nil)
	body := w.body("vm", "Standard_D2s_v5")
	body.Properties.StorageProfile.OSDisk.DeleteOption = to.Ptr(armcompute.DiskDeleteOptionTypesDetach)
	body.Properties.NetworkProfile.NetworkInterfaceConfigurations[0].Properties.DeleteOption = nil
	w.mustPut("vm", body)
	disks := "/subscriptions/" + w.cfg.Subscription + "/resourceGroups/" + w.cfg.NodeResourceGroup + "/providers/Microsoft.Compute/disks"
	token := w.bearer()
	if resp, v := w.do("DELETE", disks+"/vm?api-version=2025-01-02", token, ""); resp.StatusCode != http.StatusConflict {
		t.Errorf("an attached disk: %d %v", resp.StatusCode, v)
	}
	w.delete("vm")
	w.wantStates("detached", "vm disks Succeeded\nvm networkInterfaces Succeeded")
	if _, v := w.do("GET", disks+"?api-version=2025-01-02", token, ""); !strings.Contains(fmt.Sprint(v), "Unattached") {
		t.Errorf("disks: %v", v)
	}
	if resp, _ := w.do("DELETE", disks+"/vm?api-version=2025-01-02", token, ""); resp.StatusCode != http.StatusAccepted {
		t.Errorf("a free disk: %d", resp.StatusCode)
	}
	w.wantStates("disk deleted", "vm networkInterfaces Succeeded")
}

func TestTagsAndIdentitiesArePatched(t *testing.T) {
	id := "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/more"
	w := newWorld(t, func(c *arm.Config) { c.Identities = []string{strings.Replace(id, "more", "first", 1), id} })
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))
	p, err := w.vms.BeginUpdate(w.ctx, w.cfg.NodeResourceGroup, "vm", armcompute.VirtualMachineUpdate{Tags: map[string]*string{"new": to.Ptr("1")},
		Identity: &armcompute.VirtualMachineIdentity{UserAssignedIdentities: map[string]*armcompute.UserAssignedIdentitiesValue{id: {}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := must[armcompute.VirtualMachinesClientUpdateResponse](t)(p.PollUntilDone(w.ctx, nil))
	if len(got.Tags) != 1 || len(got.Identity.UserAssignedIdentities) != 2 || got.Identity.UserAssignedIdentities[id].ClientID == nil {
		t.Errorf("tags %v identities %v", got.Tags, got.Identity.UserAssignedIdentities)
	}
}

// Many clients at once: every machine gets its own address, and in the end nothing is left, not even a goroutine.
func TestManyAtOnce(t *testing.T) {
	before := goleak.IgnoreCurrent()
	const n = 40
	w := newWorld(t, func(c *arm.Config) {
		c.Knobs.CreateTime, c.Knobs.DeleteTime = arm.Duration(5*time.Millisecond), arm.Duration(5*time.Millisecond)
	})
	each := func(do func(name string)) {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { do(fmt.Sprintf("vm%02d", i)) })
		}
		wg.Wait()
	}
	each(func(name string) {
		if err := w.put(name, w.body(name, "Standard_D2s_v5")); err != nil {
			t.Error(err)
		}
	})
	addresses := map[string]bool{}
	for _, m := range w.host.on {
		addresses[m.Address] = true
	}
	if len(addresses) != n {
		t.Errorf("%d machines share %d addresses", len(w.host.on), len(addresses))
	}
	count := 0
	for pager := w.vms.NewListPager(w.cfg.NodeResourceGroup, &armcompute.VirtualMachinesClientListOptions{Expand: to.Ptr(armcompute.ExpandTypeForListVMsInstanceView)}); pager.More(); {
		page := must[armcompute.VirtualMachinesClientListResponse](t)(pager.NextPage(w.ctx))
		for _, m := range page.Value {
			if len(m.Properties.InstanceView.Statuses) == 2 {
				count++
			}
		}
	}
	if count != n {
		t.Errorf("%d machines are listed as running", count)
	}
	each(func(name string) { w.delete(name) })
	w.wantStates("deleted", "")
	w.srv.Close()
	w.srv.Client().CloseIdleConnections()
	w.cloud.Close()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func TestOtherSubnets(t *testing.T) {
	other := "/subscriptions/5c0ffee0-0000-4000-8000-000000000001/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/own/subnets/nodes"
	w := newWorld(t, func(c *arm.Config) { c.Subnets = map[string]string{other: "192.168.7.0/29"} })
	put := func(name string) error {
		body := w.body(name, "Standard_D2s_v5")
		body.Properties.NetworkProfile.NetworkInterfaceConfigurations[0].Properties.IPConfigurations[0].Properties.Subnet.ID = to.Ptr(strings.ToUpper(other))
		return w.put(name, body)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := put(name); err != nil {
			t.Fatal(err)
		}
	}
	w.refused(put("d"), http.StatusBadRequest, "SubnetIsFull")
	w.delete("a")
	if err := put("d"); err != nil {
		t.Error(err)
	}
	if m, _ := w.host.get("d"); m.Address != "192.168.7.4" {
		t.Errorf("the address that was given back is not used again: %s", m.Address)
	}
	w.mustPut("e", w.body("e", "Standard_D2s_v5"))
	subnets := must[*armnetwork.SubnetsClient](t)(armnetwork.NewSubnetsClient(w.cfg.Subscription, w.cred, w.opts))
	if s := must[armnetwork.SubnetsClientGetResponse](t)(subnets.Get(w.ctx, "net", "own", "nodes", nil)); len(s.Properties.IPConfigurations) != 3 {
		t.Errorf("%d addresses used", len(s.Properties.IPConfigurations))
	}
	_, err := arm.New(arm.Config{Subnets: map[string]string{other: "fd00::/64"}})
	if err == nil || !strings.Contains(err.Error(), "fd00::/64") {
		t.Errorf("bad prefix: %v", err)
	}
}

func TestListsComeInPages(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) { c.Knobs.PageSize = 2 })
	for i := range 5 {
		name := fmt.Sprintf("vm%d", i)
		w.mustPut(name, w.body(name, "Standard_D2s_v5"))
	}
	var names []string
	pages := 0
	for pager := w.vms.NewListAllPager(nil); pager.More(); pages++ {
		page := must[armcompute.VirtualMachinesClientListAllResponse](t)(pager.NextPage(w.ctx))
		for _, m := range page.Value {
			names = append(names, *m.Name)
		}
		w.delete("vm1") // gone after the first page; nothing else may be missed
	}
	if strings.Join(names, " ") != "vm0 vm1 vm2 vm3 vm4" || pages != 3 {
		t.Errorf("%v in %d pages", names, pages)
	}
}

// Members that this Azure does nothing with come back as they were sent; numbers too, and no spelling but its own.
func TestMembersWithoutEffectAreKept(t *testing.T) {
	w := newWorld(t, nil)
	b := must[[]byte](t)(w.body("vm", "Standard_D2s_v5").MarshalJSON())
	text := strings.Replace(string(b), `"properties":{`, `"properties":{"ApplicationProfile":{"galleryApplications":[{"order":1234567890,"PackageReferenceId":"/x"}]},`, 1)
	path := "/subscriptions/" + w.cfg.Subscription + "/resourceGroups/" + w.cfg.NodeResourceGroup + "/providers/Microsoft.Compute/virtualMachines/vm?api-version=2025-04-01"
	token := w.bearer()
	resp, v := w.do("PUT", path, token, text)
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Azure-AsyncOperation") == "" || resp.Header.Get("Retry-After") != "1" ||
		!strings.HasPrefix(resp.Header.Get("X-Ms-Ratelimit-Remaining-Resource"), "Microsoft.Compute/PutVM") {
		t.Fatalf("%d %v %v", resp.StatusCode, resp.Header, v)
	}
	resp, err := w.srv.Client().Do(must[*http.Request](t)(func() (*http.Request, error) {
		r, err := http.NewRequestWithContext(w.ctx, "GET", w.srv.URL+path, nil)
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return r, err
	}()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := must[[]byte](t)(io.ReadAll(resp.Body))
	if !strings.Contains(string(got), `"applicationProfile":{"galleryApplications":[{"order":1234567890,"packageReferenceId":"/x"}]}`) {
		t.Errorf("GET has lost it: %s", got)
	}
}

func TestSwitchingOffAndOn(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))
	off := must[*azruntime.Poller[armcompute.VirtualMachinesClientDeallocateResponse]](t)(w.vms.BeginDeallocate(w.ctx, w.cfg.NodeResourceGroup, "vm", nil))
	must[armcompute.VirtualMachinesClientDeallocateResponse](t)(off.PollUntilDone(w.ctx, &azruntime.PollUntilDoneOptions{Frequency: time.Second}))
	if _, on := w.host.get("vm"); on {
		t.Error("a deallocated machine is on")
	}
	on := must[*azruntime.Poller[armcompute.VirtualMachinesClientStartResponse]](t)(w.vms.BeginStart(w.ctx, w.cfg.NodeResourceGroup, "vm", nil))
	must[armcompute.VirtualMachinesClientStartResponse](t)(on.PollUntilDone(w.ctx, &azruntime.PollUntilDoneOptions{Frequency: time.Second}))
	if _, on := w.host.get("vm"); !on {
		t.Error("a started machine is off")
	}
}

// A free interface can be made anew; one on its way in or out can be used by nobody.
func TestAFreeInterfaceIsMadeAnew(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{ChildTime: arm.Duration(time.Minute)})
	rg := w.cfg.NodeResourceGroup
	opts := *w.opts
	opts.Retry.MaxRetries = -1
	nics := must[*armnetwork.InterfacesClient](t)(armnetwork.NewInterfacesClient(w.cfg.Subscription, w.cred, &opts))
	put := func(accelerated bool) error {
		_, err := nics.BeginCreateOrUpdate(w.ctx, rg, "nic", armnetwork.Interface{Location: &w.cfg.Location, Properties: &armnetwork.InterfacePropertiesFormat{
			EnableAcceleratedNetworking: &accelerated,
			IPConfigurations: []*armnetwork.InterfaceIPConfiguration{{Name: to.Ptr("ip"), Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{
				Subnet: &armnetwork.Subnet{ID: &w.cfg.SubnetID}}}}}}, nil)
		return err
	}
	for _, accelerated := range []bool{false, true} {
		if err := put(accelerated); err != nil {
			t.Fatal(err)
		}
		got := must[armnetwork.InterfacesClientGetResponse](t)(nics.Get(w.ctx, rg, "nic", nil))
		if *got.Properties.EnableAcceleratedNetworking != accelerated || *got.Properties.ProvisioningState != armnetwork.ProvisioningStateUpdating {
			t.Errorf("interface %+v", got.Properties)
		}
	}
	machine := w.body("vm", "Standard_D2s_v5")
	machine.Properties.NetworkProfile = &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{
		ID: to.Ptr("/subscriptions/" + w.cfg.Subscription + "/resourceGroups/" + rg + "/providers/Microsoft.Network/networkInterfaces/nic")}}}
	vms := must[*armcompute.VirtualMachinesClient](t)(armcompute.NewVirtualMachinesClient(w.cfg.Subscription, w.cred, &opts))
	begin := func() error {
		_, err := vms.BeginCreateOrUpdate(w.ctx, rg, "vm", machine, nil)
		return err
	}
	w.refused(begin(), http.StatusTooManyRequests, "RetryableError")
	c.pass(time.Minute)
	if _, err := nics.BeginDelete(w.ctx, rg, "nic", nil); err != nil {
		t.Fatal(err)
	}
	w.refused(put(true), http.StatusTooManyRequests, "RetryableError")
	c.pass(time.Minute)
	if err := put(true); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Minute)
	if err := begin(); err != nil {
		t.Fatal(err)
	}
}
