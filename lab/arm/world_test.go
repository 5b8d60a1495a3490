package arm_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azarm "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	azruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/lab"
	"github.com/karpenter-aks/karpenter/lab/arm"
)

const (
	imageGen2 = "/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2204gen2containerd/versions/202608.12.0"
	admin     = "lab-admin"
	testKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE+nq7TgN4D4A1BOCcIYGb40IvZaR5AgmiNRM3juUFuv lab" // its private half was thrown away
)

// machines is a lab.Host that remembers what is on.
type machines struct {
	mu    sync.Mutex
	on    map[string]lab.Machine
	warns []string
}

func (h *machines) Boot(m lab.Machine) { h.mu.Lock(); defer h.mu.Unlock(); h.on[m.Name] = m }
func (h *machines) Halt(name string)   { h.mu.Lock(); defer h.mu.Unlock(); delete(h.on, name) }
func (h *machines) Warn(name, event string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warns = append(h.warns, name+" "+event)
}

func (h *machines) get(name string) (lab.Machine, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, on := h.on[name]
	return m, on
}

// world is one simulated Azure over TLS and the real SDK in front of it.
type world struct {
	*testing.T
	ctx   context.Context
	cloud *arm.Cloud
	cfg   arm.Config
	srv   *httptest.Server
	host  *machines
	cred  azcore.TokenCredential
	opts  *azarm.ClientOptions
	vms   *armcompute.VirtualMachinesClient
	token string // for plain requests; see bearer
}

func newWorld(t *testing.T, edit func(*arm.Config)) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), host: &machines{on: map[string]lab.Machine{}}}
	cfg := arm.Config{ClientID: "client", AdminToken: admin, Host: w.host, Rights: []arm.Assignment{{Scope: "/", Actions: []string{"*"}}}, Knobs: arm.Knobs{PollAfter: arm.Duration(10 * time.Millisecond), Throttle: arm.Throttle{Budget: 1000}}}
	if edit != nil {
		edit(&cfg)
	}
	var err error
	if w.cloud, err = arm.New(cfg); err != nil {
		t.Fatal(err)
	}
	w.cfg = w.cloud.Config()
	w.srv = httptest.NewTLSServer(w.cloud)
	t.Cleanup(func() { w.srv.Close(); w.cloud.Close() })

	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("service.account.token"), 0o600); err != nil {
		t.Fatal(err)
	}
	where := cloud.Configuration{ActiveDirectoryAuthorityHost: w.srv.URL, Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
		cloud.ResourceManager: {Endpoint: w.srv.URL, Audience: w.srv.URL}}}
	retry := policy.RetryOptions{MaxRetries: -1}
	w.cred, err = azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: policy.ClientOptions{Cloud: where, Transport: w.srv.Client(), Retry: retry},
		ClientID:      "client", TenantID: w.cfg.Tenant, TokenFilePath: token, DisableInstanceDiscovery: true})
	if err != nil {
		t.Fatal(err)
	}
	w.opts = &azarm.ClientOptions{ClientOptions: policy.ClientOptions{Cloud: where, Transport: w.srv.Client(), Retry: retry}, DisableRPRegistration: true}
	if w.vms, err = armcompute.NewVirtualMachinesClient(w.cfg.Subscription, w.cred, w.opts); err != nil {
		t.Fatal(err)
	}
	return w
}

// body is a PUT body as a node autoscaler sends it, one call with everything inline.
func (w *world) body(name, size string) armcompute.VirtualMachine {
	lb := "/subscriptions/" + w.cfg.Subscription + "/resourceGroups/" + w.cfg.NodeResourceGroup + "/providers/Microsoft.Network/loadBalancers/kubernetes/backendAddressPools/kubernetes"
	tags := map[string]*string{"karpenter.sh_nodepool": to.Ptr("default")}
	return armcompute.VirtualMachine{
		Location: to.Ptr(w.cfg.Location), Tags: tags, Zones: []*string{to.Ptr("1")},
		Identity: &armcompute.VirtualMachineIdentity{Type: to.Ptr(armcompute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: map[string]*armcompute.UserAssignedIdentitiesValue{
			w.cfg.Identities[0]: {}}},
		Properties: &armcompute.VirtualMachineProperties{
			HardwareProfile: &armcompute.HardwareProfile{VMSize: to.Ptr(armcompute.VirtualMachineSizeTypes(size))},
			Priority:        to.Ptr(armcompute.VirtualMachinePriorityTypesRegular),
			StorageProfile: &armcompute.StorageProfile{
				ImageReference: &armcompute.ImageReference{CommunityGalleryImageID: to.Ptr(imageGen2)},
				OSDisk: &armcompute.OSDisk{Name: to.Ptr(name), CreateOption: to.Ptr(armcompute.DiskCreateOptionTypesFromImage),
					DeleteOption: to.Ptr(armcompute.DiskDeleteOptionTypesDelete), DiskSizeGB: to.Ptr[int32](128)},
			},
			OSProfile: &armcompute.OSProfile{ComputerName: to.Ptr(name), AdminUsername: to.Ptr("azureuser"), CustomData: to.Ptr(base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n"))),
				LinuxConfiguration: &armcompute.LinuxConfiguration{DisablePasswordAuthentication: to.Ptr(true), SSH: &armcompute.SSHConfiguration{
					PublicKeys: []*armcompute.SSHPublicKey{{KeyData: to.Ptr(testKey), Path: to.Ptr("/home/azureuser/.ssh/authorized_keys")}}}}},
			NetworkProfile: &armcompute.NetworkProfile{NetworkAPIVersion: to.Ptr(armcompute.NetworkAPIVersionTwoThousandTwentyTwo1101),
				NetworkInterfaceConfigurations: []*armcompute.VirtualMachineNetworkInterfaceConfiguration{{Name: to.Ptr(name), Tags: tags,
					Properties: &armcompute.VirtualMachineNetworkInterfaceConfigurationProperties{Primary: to.Ptr(true), DeleteOption: to.Ptr(armcompute.DeleteOptionsDelete),
						IPConfigurations: []*armcompute.VirtualMachineNetworkInterfaceIPConfiguration{{Name: to.Ptr(name), Properties: &armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties{
							Primary: to.Ptr(true), Subnet: &armcompute.SubResource{ID: to.Ptr(w.cfg.SubnetID)}, LoadBalancerBackendAddressPools: []*armcompute.SubResource{{ID: to.Ptr(lb)}}}}}}}}},
		},
	}
}

// bodyJSON is body as the SDK writes it.
func (w *world) bodyJSON(name, size string) string {
	b, err := w.body(name, size).MarshalJSON()
	if err != nil {
		panic(err) // plain fields: cannot fail
	}
	return string(b)
}

func decode(t *testing.T, b []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(b, &v); len(b) > 0 && err != nil {
		t.Errorf("%v in %s", err, b)
	}
	return v
}

// tokenOf gets a token without the SDK.
func tokenOf(t testing.TB, c *arm.Cloud) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {"any"}, "scope": {"x"}, "client_assertion": {"jwt"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
	rec := httptest.NewRecorder()
	c.ServeHTTP(rec, httptest.NewRequest("POST", "/"+c.Config().Tenant+"/oauth2/v2.0/token", strings.NewReader(form.Encode())))
	var got struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || got.Token == "" {
		t.Fatalf("%v %s", err, rec.Body)
	}
	return got.Token
}

func spot(vm armcompute.VirtualMachine) armcompute.VirtualMachine {
	vm.Properties.Priority = to.Ptr(armcompute.VirtualMachinePriorityTypesSpot)
	vm.Properties.EvictionPolicy = to.Ptr(armcompute.VirtualMachineEvictionPolicyTypesDelete)
	vm.Properties.BillingProfile = &armcompute.BillingProfile{MaxPrice: to.Ptr[float64](-1)}
	return vm
}

// put creates and waits; the error is the SDK's, from the PUT or from the operation.
func (w *world) put(name string, vm armcompute.VirtualMachine) error {
	p, err := w.vms.BeginCreateOrUpdate(w.ctx, w.cfg.NodeResourceGroup, name, vm, nil)
	if err != nil {
		return err
	}
	_, err = p.PollUntilDone(w.ctx, &azruntime.PollUntilDoneOptions{Frequency: time.Second})
	return err
}

func (w *world) mustPut(name string, vm armcompute.VirtualMachine) {
	w.Helper()
	if err := w.put(name, vm); err != nil {
		w.Fatal(err)
	}
}

func (w *world) delete(name string) {
	w.Helper()
	p, err := w.vms.BeginDelete(w.ctx, w.cfg.NodeResourceGroup, name, &armcompute.VirtualMachinesClientBeginDeleteOptions{ForceDeletion: to.Ptr(true)})
	if err == nil {
		_, err = p.PollUntilDone(w.ctx, &azruntime.PollUntilDoneOptions{Frequency: time.Second})
	}
	if err != nil {
		w.Errorf("delete %s: %v", name, err) // also called from other goroutines, which may not end the test
	}
}

func (w *world) turn(edit func(*arm.Knobs)) {
	w.Helper()
	k := w.cloud.Knobs()
	edit(&k)
	if err := w.cloud.SetKnobs(k); err != nil {
		w.Fatal(err)
	}
}

// refused checks that err is a refusal with this status and code. Status 0 stands for an asynchronous failure.
func (w *world) refused(err error, status int, code string) *azcore.ResponseError {
	w.Helper()
	var r *azcore.ResponseError
	if !errors.As(err, &r) {
		w.Fatalf("want %s, have %v", code, err)
	}
	if r.ErrorCode != code || status != 0 && r.StatusCode != status || status == 0 && r.StatusCode != http.StatusOK {
		w.Fatalf("want %d %s, have %d %s: %v", status, code, r.StatusCode, r.ErrorCode, err)
	}
	return r
}
